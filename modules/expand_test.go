package modules

import (
	"context"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"weft/internal/agent"
	"weft/internal/bundle"
	"weft/internal/remote"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/switches"
)

func pilot(t *testing.T, files ...string) *inventory.Model {
	t.Helper()
	o := language.Options{Blocks: Blocks()}
	for _, f := range files {
		text, err := os.ReadFile("../examples/pilot/" + f)
		if err != nil {
			t.Fatal(err)
		}
		o.VarFiles = append(o.VarFiles, language.VarFile{Name: f, Content: text})
	}
	m, diags := language.Load(os.DirFS("../examples/pilot"), o)
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	return m
}

// offline is an Env that fails the test when something dials.
func offline(t *testing.T) Env {
	return Env{
		Bundle: bundle.New(),
		Host: func(*inventory.Server) host.DialHost {
			return func(context.Context, bool) (remote.Host, func() error, error) {
				t.Error("expansion dialled a server")
				return nil, nil, context.Canceled
			}
		},
		Terminal: func(*inventory.Switch) switches.Dial { return nil },
	}
}

func TestExpandPilot(t *testing.T) {
	fleet, diags := Expand(pilot(t, "lab.weftvars"), offline(t))
	if diags.HasErrors() {
		t.Fatal(diags)
	}
	needs := map[string][]string{}
	var ids []string
	for _, it := range fleet.Items {
		id := it.ID.String()
		ids = append(ids, id)
		for _, n := range it.Needs {
			needs[id] = append(needs[id], n.String())
		}
		if fleet.Devices[it.ID.Device] == nil {
			t.Errorf("%s is on no device", id)
		}
		if it.Range.Filename == "" {
			t.Errorf("%s comes from nowhere", id)
		}
	}
	// 2 switches × (classes + 4 ports), 4 servers × 2 NICs × 10 kinds, 4 files of limits,
	// 2 pools with 2 volumes each,
	// 2 targets with what ends access to each, 2 hosts × 2 targets × 2 planes of
	// connections, 4 probes, 4 + 2 boot units.
	if len(ids) != 2*5+4*2*10+4+2*3+2*2+8+4+6 {
		t.Errorf("%d items:\n%s", len(ids), strings.Join(ids, "\n"))
	}
	for id, want := range map[string][]string{
		`switch.leaf-a/port.Ethernet1/11`:                                  {`switch.leaf-a/qos.roce`},
		`server.node["st1"]/mtu.p0`:                                        {`switch.leaf-a/port.Ethernet1/11`},
		`server.node["st1"]/mtu.p1`:                                        {`switch.leaf-b/port.HundredGigE1/0/11`},
		`server.node["cn2"]/address.p1`:                                    {`server.node["cn2"]/mtu.p1`},
		`server.node["cn1"]/ets.p0`:                                        {`switch.leaf-a/port.Ethernet1/21`},
		`server.node["cn1"]/dscp.p0`:                                       {`switch.leaf-a/port.Ethernet1/21`, `server.node["cn1"]/ets.p0`},
		`server.node["cn1"]/pfc.p0`:                                        {`switch.leaf-a/port.Ethernet1/21`, `server.node["cn1"]/dscp.p0`},
		`server.node["st2"]/agent.weft-target`:                             {`server.node["st2"]/volume.flash.fast`, `server.node["st2"]/address.p0`, `server.node["st2"]/pfc.p1`},
		`server.node["cn1"]/agent.weft-initiator`:                          nil,
		`server.node["cn1"]/nvme_connection.nvme-st2.data@10.40.2.12:4420`: {`server.node["cn1"]/address.p1`, `server.node["st2"]/agent.weft-target`},
	} {
		if !slices.Contains(ids, id) {
			t.Errorf("no item %s", id)
		}
		for _, n := range want {
			if !slices.Contains(needs[id], n) {
				t.Errorf("%s does not need %s, but %v", id, n, needs[id])
			}
		}
	}
}

// What is described and has no effect is said, once for each block.
func TestExpandNotes(t *testing.T) {
	fleet, _ := Expand(pilot(t, "lab.weftvars"), offline(t))
	for _, want := range []string{
		"switch.leaf-b pfc_watchdog", "target.nvme where RDMA cannot be had",
	} {
		n := 0
		for _, note := range fleet.Notes {
			if strings.HasPrefix(note.Block+" "+note.Text, want) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d notes begin with %q:\n%+v", n, want, fleet.Notes)
		}
	}
}

// Transports, marks and limits go to the agents' configuration in the order that
// the files give them.
func TestExpandTarget(t *testing.T) {
	for _, test := range []struct {
		name      string
		files     []string
		portals   []agent.Portal
		transport string // of kernels
		instead   string
	}{
		{"the plain pilot wants RDMA", nil, []agent.Portal{
			{Transport: "rdma", Address: "10.40.1.11:4420"}, {Transport: "rdma", Address: "10.40.2.11:4420"}}, "rdma", ""},
		{"in the lab TCP does", []string{"lab.weftvars"}, []agent.Portal{
			{Transport: "rdma", Address: "10.40.1.11:4420"}, {Transport: "tcp", Address: "10.40.1.11:4420", ToS: 104},
			{Transport: "rdma", Address: "10.40.2.11:4420"}, {Transport: "tcp", Address: "10.40.2.11:4420", ToS: 104}}, "rdma", "tcp"},
	} {
		t.Run(test.name, func(t *testing.T) {
			fleet, diags := Expand(pilot(t, test.files...), offline(t))
			if diags.HasErrors() {
				t.Fatal(diags)
			}
			for _, it := range fleet.Items {
				if a := host.Wish[nvme.Agent](it.Resource); a != nil {
					if it.ID.Device != `server.node["st1"]` || a.Config == "" {
						continue
					}
					cfg, err := agent.ParseTarget([]byte(a.Config))
					if err != nil {
						t.Fatal(err)
					}
					if !slices.Equal(cfg.Portals, test.portals) {
						t.Errorf("portals %v", cfg.Portals)
					}
					if ns := cfg.Subsystems[0].Namespaces[1]; ns.IOPS != 50000 || ns.Bandwidth != 1e9 {
						t.Errorf("limits of namespace 2: %+v", ns)
					}
				}
				if c := host.Wish[nvme.NVMeConnection](it.Resource); c != nil && (c.Transport != test.transport || c.Instead != test.instead || c.ToS != 104) {
					t.Errorf("%s: %+v", it.ID, c)
				}
			}
		})
	}
}

// RDMA of iWARP takes the port of TCP, which is there only instead of it; a
// fabric of TCP carries no RDMA.
func TestOffers(t *testing.T) {
	at := inventory.Portal{RNIC: &inventory.RNIC{Fabric: &inventory.Fabric{}}, Address: netip.MustParseAddrPort("10.0.0.1:4420")}
	for _, test := range []struct {
		fabric string
		want   []string
		opens  []agent.Portal
	}{
		{"iwarp", []string{"rdma", "tcp"}, []agent.Portal{{Transport: "rdma", Address: "10.0.0.1:4420"}, {Transport: "tcp", Address: "10.0.0.1:4420", Instead: true}}},
		{"iwarp", []string{"tcp", "rdma"}, []agent.Portal{{Transport: "tcp", Address: "10.0.0.1:4420"}}},
		{"infiniband", []string{"rdma"}, []agent.Portal{{Transport: "rdma", Address: "10.0.0.1:4420"}}},
		{"tcp", []string{"rdma", "tcp"}, []agent.Portal{{Transport: "tcp", Address: "10.0.0.1:4420"}}},
	} {
		at.RNIC.Fabric.Transport = test.fabric
		if got := portals(&inventory.Target{Transport: test.want}, at); !slices.Equal(got, test.opens) {
			t.Errorf("%v on %s: %+v", test.want, test.fabric, got)
		}
	}
}

func TestExpandIsDeterministic(t *testing.T) {
	show := func() (out []string) {
		fleet, _ := Expand(pilot(t, "lab.weftvars"), offline(t))
		for _, it := range fleet.Items {
			out = append(out, it.ID.String())
			if a := host.Wish[nvme.Agent](it.Resource); a != nil {
				out = append(out, a.Config)
			}
		}
		return out
	}
	if a, b := show(), show(); !slices.Equal(a, b) {
		t.Errorf("two expansions differ:\n%v\n%v", a, b)
	}
}
