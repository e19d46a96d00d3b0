package doctor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/review"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/modules/host"
	"weft/switches"
)

// assessed is the rack with what the catalogue knows.
func assessed(t *testing.T, s *Site) *Site {
	t.Helper()
	known, err := catalogue.Load()
	if err != nil {
		t.Fatal(err)
	}
	s.Hardware = known
	for _, sw := range s.Switches {
		sw.Reading.Facts.Model, sw.Reading.Facts.Version = "Nexus9000 C93180YC-FX", "10.3(4a)"
	}
	for _, h := range s.Hosts {
		h.System, h.Origins = "Linux 6.14.2 x86_64", ofLinux
	}
	return s
}

// Where the facts of three systems come from.
var (
	ofLinux   = host.Origins{System: "uname", Model: "DMI", Lanes: "/sys", RDMA: "/sys", Drives: "/sys/class/nvme", Enable: "the module %s", Serves: true}
	ofESXi    = host.Origins{System: "esxcli system version get", Model: "esxcli hardware platform get", RDMA: "esxcli rdma device list", Enable: "an RDMA device (a module parameter)"}
	ofWindows = host.Origins{System: "Win32_OperatingSystem", Model: "Win32_ComputerSystemProduct", RDMA: "Get-NetAdapterRdma", Enable: "a driver with NetworkDirect"}
)

// subject is what is said of a device.
func subject(t *testing.T, a *Assessment, device string) Subject {
	t.Helper()
	i := slices.IndexFunc(a.Subjects, func(x Subject) bool { return x.Device == device })
	if i < 0 {
		t.Fatalf("nothing is said of %s", device)
	}
	return a.Subjects[i]
}

// answer is the worst that is said of one thing.
func (x Subject) answer(what string) Answer {
	var out Answer
	for _, a := range x.Answers {
		if a.What == what && (out.What == "" || a.State == Needs) {
			out = a
		}
	}
	return out
}

// Each thing that is assessed can be ready, need something or be unknown, and says by
// which source.
func TestAssess(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(*Site)
		device, what string
		state        Fitness
		text         string
	}{
		"system":             {nil, "st2", "system", Ready, "6.14.2"},
		"no system":          {machine(func(h *Host) { h.System, h.Facts.Kernel = "", "" }), "st2", "system", Unknown, "does not report"},
		"slot":               {nil, "st2", "pcie", Ready, "the port 100G"},
		"narrow slot":        {nic(func(n *host.NICHealth) { n.PCIe = host.Lanes{Speed: 8, Width: 8} }), "st2", "pcie", Needs, "a slot with more lanes: PCIe 8 GT/s x8 carries 63 Gbit/s, and its link 100G"},
		"narrow card":        {nic(func(n *host.NICHealth) { n.PCIe = host.Lanes{Speed: 8, Width: 8}; n.PCIeMax = n.PCIe }), "st2", "pcie", Needs, "a card with more lanes"},
		"no lanes":           {nic(func(n *host.NICHealth) { n.PCIe = host.Lanes{} }), "st2", "pcie", Unknown, "does not report its lanes"},
		"no speed":           {nic(func(n *host.NICHealth) { n.Speed, n.ID = 0, "1234:5678" }), "st2", "pcie", Unknown, "the speed of its port is unknown"},
		"speed of the card":  {nic(func(n *host.NICHealth) { n.Speed, n.PCIe = 0, host.Lanes{Speed: 8, Width: 8} }), "st2", "pcie", Needs, "the fastest card of its family"},
		"rdma":               {nil, "st2", "rdma", Ready, "ConnectX-7 supports rocev2, infiniband and uses rocev2"},
		"no module":          {nic(func(n *host.NICHealth) { n.RDMA = nil }), "st2", "rdma", Needs, "the module mlx5_ib"},
		"software":           {nic(func(n *host.NICHealth) { n.RDMA[0].Device = "rxe0" }), "st2", "rdma", Needs, "rxe0 is software"},
		"unknown card":       {nic(func(n *host.NICHealth) { n.ID, n.RDMA = "1234:5678", nil }), "st2", "rdma", Unknown, "1234:5678 is not in the catalogue"},
		"card that shows it": {nic(func(n *host.NICHealth) { n.ID = "1234:5678" }), "st2", "rdma", Ready, "uses rocev2; it is not in the catalogue"},
		"no card": {machine(func(h *Host) {
			h.NICs = []host.NICHealth{{NICFacts: host.NICFacts{ID: "8086:1521", Interface: "eno1"}}}
		}), "st2", "rdma", Needs, "an RDMA NIC: none of its 1 ports"},
		"drives":             {nil, "st2", "drives", Ready, "2 × PM"},
		"no drives":          {machine(func(h *Host) { h.Controllers = nil }), "st2", "drives", Ready, "it can be an initiator"},
		"switch":             {nil, "leaf-0", "model", Ready, "n9k-c93180yc-fx"},
		"unknown switch":     {onSwitch(func(sw *Switch) { sw.Reading.Facts.Model = "Nexus9000 C99999" }), "leaf-0", "model", Unknown, "not in the catalogue"},
		"other switch":       {onSwitch(func(sw *Switch) { sw.Reading.Facts.Model = "Nexus7000 C7010" }), "leaf-0", "model", Needs, "another model"},
		"nameless switch":    {onSwitch(func(sw *Switch) { sw.Reading.Facts.Model = "" }), "leaf-0", "model", Unknown, "does not report its model"},
		"pfc":                {nil, "leaf-0", "pfc", Ready, "it is operational on 3 ports"},
		"pfc that stands":    {onSwitch(func(sw *Switch) { sw.Reading.Running["Ethernet1/1"] = switches.Running{} }), "leaf-0", "pfc", Needs, "does not run"},
		"pfc to come":        {onSwitch(bareLeaf), "leaf-0", "pfc", Ready, "it supports PFC for priorities 1-7; nothing is configured yet"},
		"pfc of who knows":   {onSwitch(func(sw *Switch) { bareLeaf(sw); sw.Reading.Facts.Model = "Nexus9000 C99999" }), "leaf-0", "pfc", Unknown, "support of this model is unknown"},
		"pfc of nobody":      {onSwitch(func(sw *Switch) { bareLeaf(sw); sw.OS = "other" }), "leaf-0", "pfc", Unknown, "is unknown"},
		"ecn":                {nil, "leaf-0", "ecn", Ready, "1 of its 2 classes have ECN"},
		"ecn to come":        {onSwitch(bareLeaf), "leaf-0", "ecn", Ready, "it supports ECN"},
		"ecn of who knows":   {onSwitch(func(sw *Switch) { bareLeaf(sw); sw.Reading.Facts.Model = "" }), "leaf-0", "ecn", Unknown, "support of this model is unknown"},
		"array that is used": {outside("nqn.x:a"), "target.array", "nvme-of", Ready, "st1 is connected to it by NVMe over rdma"},
		"array that is lost": {func(s *Site) { outside("nqn.x:a")(s); s.Hosts[1].Controllers[0].State = "connecting" }, "target.array", "nvme-of", Needs, "restored: it is connecting"},
		"array":              {outside("nqn.x:b"), "target.array", "nvme-of", Unknown, "no server is connected to it"},
		"array for tcp":      {nil, "dell-powerstore", "nvme-of", Needs, "a fabric over TCP"},
		"array for roce":     {nil, "huawei-dorado", "nvme-of", Ready, "supports NVMe over rocev2"},
		"array of nobody":    {nil, "acme", "nvme-of", Unknown, "not in the catalogue"},
		"esxi":               {nil, "esx1", "system", Unknown, "VMware ESXi: described, not yet managed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := assessed(t, rack())
			if c.change != nil {
				c.change(s)
			}
			out := Assess(s, []Unread{{"esx1", "server", "VMware ESXi", "described, not yet managed on esxi"}}, []string{"dell-powerstore", "huawei-dorado", "acme"})
			x := subject(t, out, c.device)
			got := x.answer(c.what)
			if got.State != c.state || !strings.Contains(got.Text, c.text) {
				t.Errorf("it is %s: %s", got.State, got.Text)
			}
			if got.Source == "" {
				t.Error("nobody says so")
			}
			if c.state == Needs && x.State != Needs || c.state == Unknown && x.State == Ready {
				t.Errorf("the device is %s", x.State)
			}
		})
	}
}

// as has a machine be of another system, and its first NIC be what that reports.
func as(of host.Origins, change func(*host.NICHealth)) func(*Site) {
	return machine(func(h *Host) {
		h.Origins, h.Bare, h.Controllers = of, true, nil
		for i := range h.NICs {
			h.NICs[i].ID, h.NICs[i].Model, h.NICs[i].PCIe, h.NICs[i].RDMA = "", "Mellanox NIC", host.Lanes{}, nil
			change(&h.NICs[i])
		}
	})
}

func vmrdma(state string) func(*host.NICHealth) {
	return func(n *host.NICHealth) { n.RDMA = []host.RDMAPort{{Device: "vmrdma0", Port: 1, State: state}} }
}

func netDirect(technology string, on bool) func(*host.NICHealth) {
	return func(n *host.NICHealth) {
		n.ID, n.Direct = "15b3:1021", &host.Direct{Technology: technology}
		if on {
			n.RDMA = []host.RDMAPort{{Device: "Ethernet 2", Port: 1, State: "ACTIVE"}}
		}
	}
}

// Each system is judged by its own facts, and each answer names where these come from.
func TestAssessSystems(t *testing.T) {
	for name, c := range map[string]struct {
		change       func(*Site)
		what         string
		state        Fitness
		text, source string
		flavours     string
	}{
		"ESXi with an RDMA device":         {as(ofESXi, vmrdma("ACTIVE")), "rdma", Ready, "Mellanox NIC has RDMA (vmrdma0 (ACTIVE)); the system does not report its protocol", "esxcli rdma device list", "[] unsure"},
		"ESXi with one that is down":       {as(ofESXi, vmrdma("DOWN")), "rdma", Unknown, "vmrdma0 (DOWN)", "esxcli rdma device list", "[] unsure"},
		"ESXi without one":                 {as(ofESXi, func(*host.NICHealth) {}), "rdma", Unknown, "Mellanox NIC is not in the catalogue and has no RDMA device", "esxcli rdma device list", "[] unsure"},
		"ESXi, a card of the catalogue":    {as(ofESXi, func(n *host.NICHealth) { n.ID = "15b3:1021" }), "rdma", Needs, "an RDMA device (a module parameter): NVIDIA ConnectX-7 supports", "esxcli rdma device list", "[rocev2 infiniband]"},
		"lanes of ESXi":                    {as(ofESXi, vmrdma("ACTIVE")), "pcie", Unknown, "weft does not read PCIe lanes on this system", "esxcli system version get", "[] unsure"},
		"drives of ESXi":                   {as(ofESXi, vmrdma("ACTIVE")), "drives", Ready, "it can be an initiator", "esxcli system version get", "[] unsure"},
		"model of ESXi":                    {as(ofESXi, vmrdma("ACTIVE")), "catalogue", Unknown, "not in the catalogue", "esxcli hardware platform get", "[] unsure"},
		"Windows without a technology":     {as(ofWindows, netDirect("", true)), "rdma", Ready, "the system does not report the protocol of Ethernet 2 (ACTIVE)", "Get-NetAdapterRdma", "[rocev2 infiniband]"},
		"Windows that does RoCE v2":        {as(ofWindows, netDirect("4", true)), "rdma", Ready, "and uses rocev2", "Get-NetAdapterRdma", "[rocev2 infiniband]"},
		"Windows that does iWARP":          {as(ofWindows, netDirect("1", true)), "rdma", Ready, "and uses iwarp", "Get-NetAdapterRdma", "[rocev2 infiniband iwarp]"},
		"Windows without an RDMA driver":   {as(ofWindows, netDirect("", false)), "rdma", Needs, "a driver with NetworkDirect: NVIDIA ConnectX-7", "Get-NetAdapterRdma", "[rocev2 infiniband]"},
		"Windows, an unknown card with it": {as(ofWindows, func(n *host.NICHealth) { netDirect("4", true)(n); n.ID = "1:2" }), "rdma", Ready, "1:2 uses rocev2", "Get-NetAdapterRdma", "[rocev2]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := assessed(t, rack())
			c.change(s)
			x := subject(t, Assess(s, nil, nil), "st2")
			got := x.answer(c.what)
			if got.State != c.state || !strings.Contains(got.Text, c.text) || !strings.Contains(got.Source, c.source) {
				t.Errorf("%s: %s (%s)", got.State, got.Text, got.Source)
			}
			if flavours := fmt.Sprint(x.Flavours) + map[bool]string{true: " unsure"}[x.Unsure]; flavours != c.flavours {
				t.Errorf("it can do %s, want %s", flavours, c.flavours)
			}
			for _, a := range x.Answers {
				for _, alien := range []string{"uname", "DMI", "/sys", "mlx5_ib"} {
					if strings.Contains(a.Source+a.Text, alien) {
						t.Errorf("%s is not of its system: %s (%s)", alien, a.Text, a.Source)
					}
				}
			}
		})
	}
}

// A port beside those that the files declare is listed, and decides nothing.
func TestAssessBeside(t *testing.T) {
	s := assessed(t, filed())
	h := s.Hosts[0]
	h.NICs = append(h.NICs, host.NICHealth{NICFacts: host.NICFacts{ID: "15b3:1021", Interface: "eno1", PCI: "0000:01:00.0"}})
	x := subject(t, Assess(s, nil, nil), h.Name)
	if got := x.answer("rdma"); got.State != Needs || !got.Aside || got.Part != "eno1" || x.State != Ready {
		t.Errorf("%s: %+v", x.State, got)
	}
}

// A pair has a target that can be one: never a declared initiator, nor a machine of a system
// on which weft runs no target; and an array where the files connect to one.
func TestAssessRoles(t *testing.T) {
	initiates := func(s *Site, of ...int) {
		for _, n := range of {
			s.Model.Initiators = append(s.Model.Initiators, &inventory.Initiator{Server: s.Hosts[n].Server})
		}
	}
	slot := func(h *Host) {
		for i := range h.NICs {
			h.NICs[i].PCIe = host.Lanes{Speed: 8, Width: 8}
		}
	}
	for name, c := range map[string]struct {
		site         func() *Site
		change       func(*Site)
		target, init string // target "": there is no pair, and init is why
	}{
		"a target that needs something": {filed, func(s *Site) { s.Model.Targets = s.Model.Targets[:1]; initiates(s, 1, 2); slot(s.Hosts[0]) }, "st1", "st2"},
		"its initiators are on ESXi": {filed, func(s *Site) {
			s.Model.Targets = s.Model.Targets[:2]
			initiates(s, 2)
			as(ofESXi, vmrdma("ACTIVE"))(&Site{Hosts: s.Hosts[1:]})
		}, "st1", "st3"},
		"an initiator that is no target comes first": {filed, func(s *Site) {
			s.Model.Targets = s.Model.Targets[:2]
			initiates(s, 0, 1, 2)
			as(ofESXi, vmrdma("ACTIVE"))(&Site{Hosts: s.Hosts[1:]})
		}, "st1", "st3"},
		"only initiators are known": {filed, func(s *Site) { s.Model.Targets = s.Model.Targets[:1]; initiates(s, 1, 2); s.Hosts = s.Hosts[1:] }, "", "no target among the declared ones supports rocev2"},
		"no initiator is known":     {filed, func(s *Site) { s.Model.Targets = s.Model.Targets[:1]; initiates(s, 1); s.Hosts = s.Hosts[:1] }, "", "no other server"},
		"an array": {filed, func(s *Site) {
			s.Model.Targets = []*inventory.Target{{Block: inventory.Block{Addr: "target.array"}, Engine: "external", Transport: []string{"rdma"}}}
			initiates(s, 0)
		}, "target.array", "st1"},
		"ESXi without files": {rack, func(s *Site) {
			for _, h := range s.Hosts[:2] {
				h.Origins = ofESXi
			}
		}, "st3", "st1"},
		"nobody does RDMA": {rack, func(s *Site) {
			for _, h := range s.Hosts {
				h.NICs = nil
			}
		}, "", "no device is known to support RDMA"},
	} {
		t.Run(name, func(t *testing.T) {
			s := assessed(t, c.site())
			c.change(s)
			out := Assess(s, nil, nil)
			switch {
			case c.target == "" && (out.Pair != nil || !strings.Contains(out.NoPair, c.init)):
				t.Errorf("%+v, %s", out.Pair, out.NoPair)
			case c.target != "" && (out.Pair == nil || out.Pair.Target != c.target || out.Pair.Initiator != c.init):
				t.Errorf("%+v, %s", out.Pair, out.NoPair)
			}
		})
	}
}

// bareLeaf is a switch on which nothing is configured.
func bareLeaf(sw *Switch) {
	sw.Reading.Classes = nil
	for i := range sw.Reading.Ports {
		sw.Reading.Ports[i].PFC = false
	}
}

// outside declares an array with a subsystem.
func outside(nqn string) func(*Site) {
	return func(s *Site) {
		s.Model = &inventory.Model{Targets: []*inventory.Target{{Block: inventory.Block{Addr: "target.array"}, Engine: "external", Transport: []string{"rdma"},
			Subsystems: []*inventory.Subsystem{{NQN: nqn}}}}}
	}
}

// The flavour is one that all ends are known to share, and the pair the fitter one.
func TestAssessChoice(t *testing.T) {
	s := assessed(t, filed())
	all := Assess(s, nil, nil)
	if all.Choice != "rocev2" || all.Fit() != Ready || all.Pair == nil || all.Pair.Flavour != "rocev2" || len(all.Pair.Over) != 2 || len(all.Pair.Needs) != 0 {
		t.Errorf("%+v %+v", all, all.Pair)
	}
	for name, c := range map[string]struct {
		change func(*Site)
		unread []Unread
		choice string
		why    string
	}{
		"one cannot": {machine(func(h *Host) {
			for i := range h.NICs {
				h.NICs[i].ID, h.NICs[i].RDMA[0].Protocol = "1425:640d", "iwarp"
			}
		}), nil, "", "(not st2)"},
		"of one it is not known": {nil, []Unread{{"esx1", "server", "VMware ESXi", "later"}}, "", "unknown: esx1"},
		"all do infiniband": {func(s *Site) {
			for _, h := range s.Hosts {
				for i := range h.NICs {
					h.NICs[i].ID, h.NICs[i].RDMA[0].Protocol = "1:2", "infiniband"
				}
			}
		}, nil, "infiniband", "declares rocev2, which not all of them support"},
	} {
		t.Run(name, func(t *testing.T) {
			s := assessed(t, filed())
			if c.change != nil {
				c.change(s)
			}
			out := Assess(s, c.unread, nil)
			if out.Choice != c.choice || !strings.Contains(out.Why, c.why) {
				t.Errorf("%q: %s", out.Choice, out.Why)
			}
		})
	}
	s = assessed(t, filed())
	s.Model.Targets = s.Model.Targets[2:] // st3 only
	s.Hosts[0].NICs[0].PCIe = host.Lanes{Speed: 8, Width: 8}
	if p := Assess(s, nil, nil).Pair; p == nil || p.Target != "st3" || p.Initiator != "st2" {
		t.Errorf("%+v", p)
	}
	s.Hosts = s.Hosts[:1]
	if out := Assess(s, nil, nil); out.Pair != nil || out.NoPair == "" {
		t.Errorf("%+v", out.Pair)
	}
}

func TestAssessShow(t *testing.T) {
	out := Assess(assessed(t, filed()), []Unread{{"esx|1", "server", "VMware ESXi", "<later>"}}, nil)
	var text, mark, doc, page bytes.Buffer
	out.Text(&text)
	out.Markdown(&mark)
	if err := out.HTML(&page); err != nil {
		t.Fatal(err)
	}
	if err := out.JSON(&doc); err != nil || !json.Valid(doc.Bytes()) {
		t.Fatal(err)
	}
	for name, b := range map[string]*bytes.Buffer{"text": &text, "markdown": &mark, "json": &doc, "html": &page} {
		for _, want := range []string{"VMware ESXi", "ConnectX-7", "rocev2", "st1"} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, b)
			}
		}
	}
	for _, want := range []string{`esx\|1`, "&lt;later>"} {
		if !strings.Contains(mark.String(), want) {
			t.Errorf("it lacks %q:\n%s", want, mark.String())
		}
	}
	for _, want := range []string{"<title>weft doctor --assess: ", "&lt;later&gt;", `<td class="unknown">unknown</td><td>system</td>`, "RDMA for all: none"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("the page lacks %q:\n%s", want, page.String())
		}
	}
}

// A log has what is needed and what is not known, at the line of the files where there is
// one, and never what is ready.
func TestAssessSARIF(t *testing.T) {
	s := assessed(t, filed())
	s.Hosts[1].NICs[0].RDMA = nil
	s.Model.Targets = append(s.Model.Targets, &inventory.Target{Block: inventory.Block{Addr: "target.array", Range: hcl.Range{Filename: "a.weft.hcl", Start: hcl.Pos{Line: 7}}}, Engine: "external"})
	l := &review.Log{Path: func(name string) string { return "site/" + name }}
	Assess(s, []Unread{{"esx1", "server", "VMware ESXi", "later"}}, []string{"dell-powerstore"}).SARIF(l)
	var out bytes.Buffer
	if err := l.Write(&out); err != nil {
		t.Fatal(err)
	}
	type location struct {
		Physical *struct {
			Artifact struct{ URI string }    `json:"artifactLocation"`
			Region   struct{ StartLine int } `json:"region"`
		} `json:"physicalLocation"`
		Logical []struct{ FullyQualifiedName string } `json:"logicalLocations"`
	}
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct {
						ID    string
						Short struct{ Text string } `json:"shortDescription"`
					}
				}
			}
			Results []struct {
				RuleID, Level string
				Message       struct{ Text string }
				Locations     []location
			}
		}
	}
	if err := json.Unmarshal(out.Bytes(), &log); err != nil {
		t.Fatal(err)
	}
	for _, r := range log.Runs[0].Tool.Driver.Rules {
		if r.Short.Text == "" {
			t.Errorf("rule %s says not what it is about", r.ID)
		}
	}
	have := map[string]string{}
	for _, r := range log.Runs[0].Results {
		at := r.Locations[0]
		where := at.Logical[0].FullyQualifiedName
		if at.Physical != nil {
			where = fmt.Sprintf("%s:%d", at.Physical.Artifact.URI, at.Physical.Region.StartLine)
		}
		have[r.Level+" "+r.RuleID+" "+where] += r.Message.Text
	}
	for want, text := range map[string]string{
		"error assess/rdma st2 p0": "the module mlx5_ib", "warning assess/system esx1": "VMware ESXi: later", "error assess/nvme-of dell-powerstore": "a fabric over TCP", "warning assess/release dell-powerstore": "the installed version is not read",
		"warning assess/nvme-of site/a.weft.hcl:7": "no server is connected", "note assess/conclusion assessment": "RDMA for all: ",
	} {
		if !strings.Contains(have[want], text) {
			t.Errorf("%s lacks %q", want, text)
		}
		delete(have, want)
	}
	for also, text := range have {
		if !strings.HasPrefix(also, "note ") {
			t.Errorf("also: %s: %s", also, text)
		}
	}
}
