package discover

import (
	"net/netip"
	"strings"
	"testing"

	"weft/modules/host"
	"weft/switches"
)

// exporting has the first server of a rack export a subsystem of the kernel.
func exporting(nqn, transport, address string) func(*Site) {
	return func(s *Site) {
		s.Servers[0].Facts.NVMe = &host.NVMeFacts{Exports: []host.NVMeExport{
			{NQN: nqn, Ports: []host.NVMePort{{Transport: transport, Address: address}}},
			{NQN: "nqn.2026-11.net.example:good", Ports: []host.NVMePort{{Transport: "rdma", Address: "10.40.1.11:4420"}}},
		}}
	}
}

// odd changes a NIC of the first server.
func odd(change func(*host.NICFacts)) func(*Site) {
	return func(s *Site) {
		for _, m := range s.Servers { // what weft has set is not odd
			m.Ledgers[0].Roster = m.Ledgers[0].Roster[1:]
		}
		s.Servers[0].Ledgers = nil
		change(&s.Servers[0].Facts.NICs[0])
	}
}

// classed gives the switches of a rack a class of weft.
func classed(change func(*switches.Class)) func(*Site) {
	return func(s *Site) {
		for _, sw := range s.Switches {
			c := switches.Class{Name: "rdma", DSCP: []int{26}, Priority: 3, Bandwidth: 50, PFC: true, ECN: &switches.ECN{Min: 150000, Max: 1500000, Probability: 5}}
			change(&c)
			sw.Reading.Name = "WEFT-a-roce"
			sw.Reading.Classes = []switches.Class{c, {Name: "default", Bandwidth: 50}}
		}
	}
}

// No value that a device reports stops discover: it is told what is not written, and the rest
// is written and proven.
func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Site)
		told   string // in a finding; "": everything is written
		hosts  int    // that stand in the files
		leaves int
		files  string
	}{
		"an export that is no NQN":       {exporting("testnqn", "rdma", "10.40.1.11:4420"), `exports "testnqn", whose name is no NQN`, 4, 2, "net.example:good"},
		"an empty name":                  {exporting("", "rdma", "10.40.1.11:4420"), "whose name is no NQN", 4, 2, "net.example:good"},
		"a name with a template":         {exporting("nqn.2026-11.net.example:${x}", "rdma", "10.40.1.11:4420"), "whose name is no NQN", 4, 2, "net.example:good"},
		"a name of the discovery":        {exporting("nqn.2014-08.org.nvmexpress.discovery", "tcp", "10.40.1.11:8009"), "discovery service", 4, 2, "net.example:good"},
		"a name that is too long":        {exporting("nqn.2026-11.net.example:"+strings.Repeat("x", 300), "rdma", "10.40.1.11:4420"), "more than 223 bytes", 4, 2, "net.example:good"},
		"a name of control characters":   {exporting("nqn.2026-11.net.example:a\nb\x1b[31m", "rdma", "10.40.1.11:4420"), "whose name is no NQN", 4, 2, "net.example:good"},
		"an export at a zone":            {exporting("nqn.2026-11.net.example:zone", "rdma", "[fe80::1%eth0]:4420"), "", 4, 2, "net.example:good"},
		"an export at every address":     {exporting("nqn.2026-11.net.example:any", "rdma", "0.0.0.0:4420"), "", 4, 2, "net.example:good"},
		"an export at port 0":            {exporting("nqn.2026-11.net.example:zero", "tcp", "10.40.1.11:0"), "", 4, 2, "net.example:good"},
		"an export of another transport": {exporting("nqn.2026-11.net.example:fc", "fc", "nn-0x10:pn-0x20"), "net.example:fc, which weft did not make: it is not written", 4, 2, "net.example:good"},
		"two NICs of one address":        {odd(func(n *host.NICFacts) { n.Addresses = []netip.Prefix{netip.MustParsePrefix("10.40.1.12/24")} }), "", 4, 2, ""},
		"a NIC without a place":          {odd(func(n *host.NICFacts) { n.PCI = "" }), "", 4, 2, ""},
		"a NIC of no PCI address":        {odd(func(n *host.NICFacts) { n.PCI = "virtio0" }), "", 4, 2, ""},
		"an address that is a net":       {odd(func(n *host.NICFacts) { n.Addresses = []netip.Prefix{netip.MustParsePrefix("10.40.1.0/24")} }), "", 4, 2, ""},
		"a broadcast address":            {odd(func(n *host.NICFacts) { n.Addresses = []netip.Prefix{netip.MustParsePrefix("10.40.1.255/24")} }), "", 4, 2, ""},
		"a multicast address":            {odd(func(n *host.NICFacts) { n.Addresses = []netip.Prefix{netip.MustParsePrefix("224.0.0.5/24")} }), "", 4, 2, ""},
		"an address of a host":           {odd(func(n *host.NICFacts) { n.Addresses = []netip.Prefix{netip.MustParsePrefix("10.40.1.11/32")} }), "", 4, 2, ""},
		"a mapped address":               {odd(func(n *host.NICFacts) { n.Addresses = []netip.Prefix{netip.MustParsePrefix("::ffff:10.40.1.11/120")} }), "", 4, 2, ""},
		"a loopback address":             {odd(func(n *host.NICFacts) { n.Addresses = []netip.Prefix{netip.MustParsePrefix("127.0.0.2/8")} }), "", 4, 2, ""},
		"an MTU of nothing":              {odd(func(n *host.NICFacts) { n.MTU = 0 }), "", 4, 2, ""},
		"an MTU of a loopback":           {odd(func(n *host.NICFacts) { n.MTU = 65536 }), "", 4, 2, ""},
		"a protocol of nobody":           {odd(func(n *host.NICFacts) { n.RDMA[0].Protocol = "hfi1" }), "", 4, 2, ""},
		"a serial of a page":             {func(s *Site) { s.Switches[0].Reading.Facts.Serial = strings.Repeat("S", 5000) }, "", 4, 2, ""},
		"a serial of two lines":          {func(s *Site) { s.Switches[0].Reading.Facts.Serial = "A\r\nB ${x}" }, "", 4, 2, ""},
		"serials that are the same": {func(s *Site) {
			for _, sw := range s.Switches {
				sw.Reading.Facts.Serial = "N/A"
			}
		}, "", 4, 2, ""},
		"a class that is too wide":         {classed(func(c *switches.Class) { c.Bandwidth = 500 }), "", 4, 2, ""},
		"a class of an odd name":           {classed(func(c *switches.Class) { c.Name = "my class ${x}" }), "", 4, 2, ""},
		"a class of no priority":           {classed(func(c *switches.Class) { c.Priority = 9 }), "", 4, 2, ""},
		"a class of a DSCP that is none":   {classed(func(c *switches.Class) { c.DSCP = []int{99} }), "", 4, 2, ""},
		"a class whose ECN is upside down": {classed(func(c *switches.Class) { c.ECN.Min, c.ECN.Max = 9, 1 }), "", 4, 2, ""},
		"a class that always marks":        {classed(func(c *switches.Class) { c.ECN.Probability = 1000 }), "", 4, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := rack(2, 4)
			c.change(s)
			r, err := s.Discover(t.Context(), judged(t, nil))
			if err != nil || r.Failed != nil || r.Model == nil {
				t.Fatalf("%v %v\n%s", err, r.Failed, r.Files)
			}
			var told []string
			for _, f := range r.Findings {
				told = append(told, f.Text)
			}
			all := strings.Join(told, "\n")
			t.Log(all)
			if !strings.Contains(all, c.told) {
				t.Errorf("it is not told %q", c.told)
			}
			if len(r.Model.Servers) != c.hosts || len(r.Model.Switches) != c.leaves {
				t.Errorf("%d servers and %d switches are written", len(r.Model.Servers), len(r.Model.Switches))
			}
			if !strings.Contains(string(r.Files[storageFile]), c.files) {
				t.Errorf("the files lack %s:\n%s", c.files, r.Files[storageFile])
			}
		})
	}
}
