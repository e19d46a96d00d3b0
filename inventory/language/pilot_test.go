package language

import (
	"os"
	"slices"
	"testing"
	"time"

	"weft/inventory"
)

func loadPilot(t *testing.T, o Options) *inventory.Model {
	t.Helper()
	m, diags := Load(os.DirFS("../../examples/pilot"), o)
	if len(diags) > 0 {
		t.Fatalf("the pilot has problems:\n%s", diagText(m, diags))
	}
	return m
}

func labVars(t *testing.T) VarFile {
	t.Helper()
	content, err := os.ReadFile("../../examples/pilot/lab.weftvars")
	if err != nil {
		t.Fatal(err)
	}
	return VarFile{Name: "lab.weftvars", Content: content}
}

// same compares with a message that names what differs.
func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func sameList(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s is %q, want %q", what, got, want)
	}
}

func TestPilotNetwork(t *testing.T) {
	m := loadPilot(t, Options{})
	same(t, "owner", m.Name, "nvmeof-pilot")

	f := m.Fabrics[0]
	same(t, "fabric", f.Addr, "fabric.roce")
	same(t, "MTU", f.MTU, 9216)
	same(t, "host MTU", f.HostMTU, 9000)
	same(t, "planes", len(f.Planes), 2)
	same(t, "plane b", f.Plane("b").Subnet.String(), "10.40.2.0/24")
	same(t, "plane's address", f.Plane("b").Addr, "fabric.roce.plane.b")
	rdma := f.Classes[0]
	same(t, "class", rdma.Name, "rdma")
	same(t, "DSCP", rdma.DSCP[0], 26)
	same(t, "priority", rdma.Priority, 3)
	same(t, "PFC", rdma.PFC, true)
	same(t, "ECN", *rdma.ECN, inventory.ECN{Min: 150_000, Max: 1_500_000, Probability: 5})
	same(t, "ECN's place", rdma.At("ecn.min").Start.Line, 19)
	same(t, "strict", f.Classes[1].Strict, true)
	same(t, "default class", f.Classes[2].Bandwidth, 50)
	same(t, "watchdog", f.PFCWatchdog.Action, "drop")

	sw := m.Switches[1]
	same(t, "switch", sw.Name, "leaf-b")
	same(t, "switch OS", sw.OS, "comware")
	same(t, "switch plane", sw.Plane, "b")
	same(t, "switch fabric", sw.Fabric, f)
	same(t, "switch credential", sw.Credential, m.Credentials[0])
	same(t, "safety", sw.Safety, inventory.Safety{Confirm: 5 * time.Minute, Save: "after-soak"})
	same(t, "safety's place", sw.At("safety.save").Filename, "fabric.weft.hcl")

	var servers []string
	for _, s := range m.Servers {
		servers = append(servers, s.Addr+" "+s.Labels["role"]+" "+s.RNICs[0].Address.String()+" "+s.RNIC("p1").Address.String())
	}
	sameList(t, "servers", servers, []string{
		`server.node["cn1"] compute 10.40.1.21/24 10.40.2.21/24`,
		`server.node["cn2"] compute 10.40.1.22/24 10.40.2.22/24`,
		`server.node["st1"] storage 10.40.1.11/24 10.40.2.11/24`,
		`server.node["st2"] storage 10.40.1.12/24 10.40.2.12/24`,
	})
	p1 := m.Servers[2].RNIC("p1")
	same(t, "NIC", p1.Addr, `server.node["st1"].rnic.p1`)
	same(t, "NIC's plane", p1.Plane, f.Plane("b"))
	same(t, "PCI", p1.PCI, "0000:41:00.1")

	same(t, "links", len(m.Links), 8)
	link := m.Links[6]
	same(t, "link", link.Addr, `link.plane-b["st1"]`)
	same(t, "link's NIC", link.From.RNIC, p1)
	same(t, "link's switch", link.To.Switch, sw)
	same(t, "link's port", link.To.Port, "HundredGigE1/0/11")
	same(t, "link's speed", link.Speed, 100_000_000_000)
}

func TestPilotStorage(t *testing.T) {
	m := loadPilot(t, Options{})
	same(t, "pool", m.Pools[0].Server, m.Servers[2])
	sameList(t, "drives", m.Pools[0].Drives, []string{"nvme-eui.01000000000000000000000000000001"})
	same(t, "volume", m.Volumes[0].Addr, `volume.fast["st1"]`)
	same(t, "volume's name", m.Volumes[0].Name, "fast")
	same(t, "volume's size", m.Volumes[0].Size, 2<<40)
	same(t, "volume's pool", m.Volumes[0].Pool, m.Pools[0])

	target := m.Targets[0]
	same(t, "target", target.Addr, `target.nvme["st1"]`)
	same(t, "engine", target.Engine, "weft")
	same(t, "portal", target.Portals[1].Address.String(), "10.40.2.11:4420")
	same(t, "portal's plane", target.Portals[1].Plane.Name, "b")
	sub := target.Subsystems[0]
	same(t, "NQN", sub.NQN, "nqn.2026-11.net.example:pilot:st1")
	same(t, "serial", sub.Serial, "WEFT19AE6A03522D55CB")
	second := sub.Namespaces[1]
	same(t, "namespace", second.ID, 2)
	same(t, "scratch", second.Scratch, true)
	same(t, "limits", *second.Limits, inventory.Limits{IOPS: 50000, Bandwidth: 1_000_000_000})
	same(t, "volume of the namespace", second.From, m.Volumes[2])
	same(t, "UUID", sub.Namespaces[0].UUID, "2d484ed8-f84b-5648-97f5-3fd34015dfa1")

	cn1, cn2 := m.Initiators[0], m.Initiators[1]
	same(t, "host NQN", cn1.HostNQN, "nqn.2014-08.org.nvmexpress:uuid:b6a79df2-4b50-5c38-b23d-a0802d21f4a5")
	same(t, "probe NQN", cn1.ProbeNQN, cn1.HostNQN+":probe")
	sameList(t, "allowed hosts", sub.AllowHosts, []string{cn1.HostNQN, cn1.ProbeNQN, cn2.HostNQN, cn2.ProbeNQN})
	connect := cn2.Connects[0]
	same(t, "targets", len(connect.To), 2)
	same(t, "target", connect.To[0], target)
	same(t, "controller loss", connect.CtrlLossTMO, -1)
	same(t, "reconnect", connect.ReconnectDelay, 2*time.Second)
	same(t, "keep alive", connect.KeepAliveTMO, 5*time.Second)
}

func TestPilotRollout(t *testing.T) {
	m := loadPilot(t, Options{})
	healthy, latency := m.Validations[0], m.Validations[1]
	same(t, "counters", healthy.Metrics[1].Max, 0.001)
	same(t, "unit", healthy.Metrics[1].Unit, "ratio")
	same(t, "samples", latency.Samples, 20000)
	same(t, "sizes", len(latency.Sizes), 3)
	added := latency.Metrics[0]
	same(t, "size", added.Size, 4096)
	same(t, "limit", time.Duration(added.Max), 30*time.Microsecond)
	same(t, "limit is a duration", added.Duration, true)
	same(t, "regression", added.Regression, 0.1)

	r := m.Rollouts[0]
	same(t, "phases", len(r.Phases), 5)
	same(t, "baseline", r.Phases[0].Record[1], latency)
	sameList(t, "plane a", r.Phases[1].Select, []string{
		"switch.leaf-a", `link.plane-a["cn1"]`, `link.plane-a["cn2"]`, `link.plane-a["st1"]`, `link.plane-a["st2"]`,
	})
	same(t, "gate", r.Phases[2].Gate[0], healthy)
	same(t, "soak", r.Phases[2].Soak, time.Hour)
	sameList(t, "pair", r.Phases[3].Select, []string{`server.node["cn1"]`, `server.node["st1"]`})
	same(t, "approval", r.Phases[3].Approve, "manual")
	same(t, "rest", r.Phases[4].Remaining, true)
	sameList(t, "batches", r.Phases[4].Batch, []string{"1", "100%"})

	same(t, "checks", len(m.Checks[0].Asserts), 1)
	same(t, "output", m.Outputs[0].Name, "devices")
}

func TestPilotInTheLab(t *testing.T) {
	m := loadPilot(t, Options{VarFiles: []VarFile{labVars(t)}})
	same(t, "limit", time.Duration(m.Validations[1].Metrics[0].Max), 250*time.Millisecond)
	same(t, "samples", m.Validations[1].Samples, 500)
	sameList(t, "transport", m.Targets[1].Transport, []string{"rdma", "tcp"})
	same(t, "soak", m.Rollouts[0].Phases[1].Soak, 2*time.Second)
	same(t, "connect", m.DefaultConnection().ConnectTimeout, time.Minute)
	same(t, "command", m.DefaultConnection().CommandTimeout, 10*time.Minute)
	same(t, "input", string(m.Inputs["added_p99"]), `"250ms"`)
	same(t, "input", string(m.Inputs["samples"]), `500`)
}

func TestPilotFromASavedPlan(t *testing.T) {
	first := loadPilot(t, Options{VarFiles: []VarFile{labVars(t)}})
	again, diags := Load(memory(first.Sources), Options{Values: first.Inputs})
	if len(diags) > 0 {
		t.Fatal(diagText(again, diags))
	}
	same(t, "soak", again.Rollouts[0].Phases[1].Soak, 2*time.Second)
	same(t, "servers", len(again.Servers), 4)
	same(t, "drive", again.Pools[1].Drives[0], first.Pools[1].Drives[0])
	same(t, "host NQN", again.Initiators[1].HostNQN, first.Initiators[1].HostNQN)
}

func TestPilotPasswordIsReadWhenConnecting(t *testing.T) {
	asked := 0
	env := func(name string) (string, bool) {
		if name == "WEFT_SWITCH_PASSWORD" {
			asked++
			return "hunter2", asked == 1
		}
		return "", false
	}
	m := loadPilot(t, Options{LookupEnv: env})
	secret := m.Credentials[0].Password
	same(t, "asked while loading", asked, 0)
	same(t, "source", secret.From, `env("WEFT_SWITCH_PASSWORD")`)
	got, err := secret.Read()
	if err != nil || got != "hunter2" {
		t.Errorf("read %q, %v", got, err)
	}
	if got, err := secret.Read(); err == nil {
		t.Errorf("an unset variable gave %q", got)
	} else if want := `read password (main.weft.hcl:17): the environment variable WEFT_SWITCH_PASSWORD is not set`; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}
