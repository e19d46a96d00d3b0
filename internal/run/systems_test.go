package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"weft/internal/lab/simswitch"
	"weft/internal/prove"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules"
	"weft/plan"
	"weft/plan/rollout"
	"weft/switches"
	"weft/switches/systems"
)

const thirdFiles = `
weft { name = "o" }
connection "default" { command_timeout = "60s" }
credential "switch" { user = "netops" }
fabric "roce" {
  transport = "rocev2"
  plane "a" { subnet = "10.40.0.0/24" }
  traffic_class "rdma" {
    dscp      = [26]
    priority  = 3
    bandwidth = 50
    pfc       = true
  }
  traffic_class "default" { bandwidth = 50 }
}
switch "leaf" {
  for_each   = toset(["1", "2"])
  os         = "nxos"
  host       = "leaf${each.key}"
  credential = credential.switch
  fabric     = fabric.roce
  plane      = "a"
  safety {
    commit_confirm = "5m"
    save           = "after-soak"
  }
}
link "between" {
  from = switch.leaf["1"].port["Ethernet1/1"]
  to   = switch.leaf["2"].port["Ethernet1/1"]
}
validation "healthy" {
  metric "drops" {
    source = "switch.port.class.rdma.drops"
    max    = 0
  }
}
rollout "both" {
  on_failure = "rollback-all"
  phase "first" {
    select = [switch.leaf["1"]]
    gate   = [validation.healthy]
  }
  phase "second" {
    select = [switch.leaf["2"]]
    gate   = [validation.healthy]
  }
}
`

// third is a switch system of which little is known. It talks as one that the lab
// simulates, and has another name.
func third(string) *switches.OS {
	o := systems.Named("nxos")
	o.Name, o.Counters, o.Neighbours, o.Operates, o.Remarks = "third", nil, nil, nil, nil
	o.Without = map[switches.Feature]string{}
	for _, f := range []switches.Feature{switches.Counting, switches.Hearing, switches.Operating, switches.Remarking} {
		o.Without[f] = "nobody wrote it"
	}
	return o
}

// thirds is a fabric of two switches of that system.
func thirds(t *testing.T) (f *fabric, e *Env, sims map[string]*simswitch.Switch) {
	t.Helper()
	f, sims = newFabric(t.TempDir()), map[string]*simswitch.Switch{}
	var diags error
	m, found := language.Load(fstest.MapFS{"a.weft.hcl": {Data: []byte(thirdFiles)}}, language.Options{})
	if found.HasErrors() {
		t.Fatal(found)
	}
	f.model = m
	for n := range 2 {
		name := fmt.Sprint("leaf", n+1)
		sims[name] = simswitch.New(simswitch.Spec{OS: "nxos", Hostname: name, Serial: "FDO" + fmt.Sprint(n), Ports: []string{"Ethernet1/1", "Ethernet1/2"}})
		t.Cleanup(sims[name].Close)
	}
	e = f.env()
	e.Open = func(*plan.Plan) (*Site, error) {
		s := &Site{Model: m}
		fleet, found := modules.Expand(m, modules.Env{Holder: Holder(), Mine: e.Records.Mine, System: third, Settle: true,
			Terminal: func(sw *inventory.Switch) switches.Dial {
				return func(ctx context.Context) (io.ReadWriteCloser, error) { return shell(t, sims[sw.Host]) }
			}})
		if found.HasErrors() {
			diags = found
		}
		s.Fleet = fleet
		s.Input = plan.Input{Owner: m.Name, Version: "v0", Items: fleet.Items, Devices: fleet.Engine(), Roster: fleet.Roster, Parallelism: 2, Mine: e.Records.Mine}
		return s, diags
	}
	return f, e, sims
}

// shell is a terminal of a switch.
func shell(t *testing.T, sw *simswitch.Switch) (io.ReadWriteCloser, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	here, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return nil, err
	}
	there, err := l.Accept()
	if err != nil {
		return nil, errors.Join(err, here.Close())
	}
	go func() {
		sw.Shell(context.Background(), "netops", there)
		there.Close()
	}()
	return here, nil
}

// A switch system that weft does not have goes through a rollout as one that it has:
// phase by phase, saved once it has proven itself, and reverted where a gate fails.
// What it does not count is said to be not measured.
func TestRolloutOfAThirdSystem(t *testing.T) {
	t.Parallel()
	for _, verdict := range []prove.Verdict{prove.Pass, prove.Fail} {
		t.Run(string(verdict), func(t *testing.T) {
			f, e, sims := thirds(t)
			f.gate = func(looks int) prove.Verdict {
				if looks == 1 {
					return prove.Pass
				}
				return verdict
			}
			before := map[string]string{}
			for name, sw := range sims {
				before[name] = sw.RunningConfig()
			}
			s, err := e.Open(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			made, err := s.Plan(within(t), s.Input, true)
			if err != nil {
				t.Fatal(err)
			}
			err = Start(within(t), e, s, made, Order{})
			if got, want := stateOf(t, e), map[prove.Verdict]rollout.State{prove.Pass: rollout.Passed, prove.Fail: rollout.RolledBack}[verdict]; got != want {
				t.Errorf("the run is %s: %v", got, err)
			}
			for name, sw := range sims {
				runs, starts := sw.RunningConfig(), sw.StartupConfig()
				if verdict == prove.Fail && runs != before[name] {
					t.Errorf("%s is not as before:\n%s", name, runs)
				}
				if verdict == prove.Pass && (!strings.Contains(runs, "WEFT-o-roce") || starts != runs) {
					t.Errorf("%s runs\n%s\nand starts with\n%s", name, runs, starts)
				}
			}
			if c, err := s.counted(within(t), s.Model.Switches[0], []string{"Ethernet1/1"}); err != nil || len(c.Counts) > 0 || len(c.Gaps) == 0 || !strings.Contains(c.Gaps[0].Why, "third has no") {
				t.Errorf("it has counted %+v: %v", c, err)
			}
		})
	}
}

// Networks of vSAN of which no vCenter reports what goes over them are not measured, by the
// names of their hosts.
func TestVSANWithoutVCenter(t *testing.T) {
	host := &inventory.Server{Block: inventory.Block{Addr: "server.esx"}, OS: "esxi"}
	host.RNICs = []*inventory.RNIC{{VMK: &inventory.VMK{ID: "vmk2", Services: []string{"vsan"}}}, {VMK: &inventory.VMK{ID: "vmk3", Services: []string{"nvme-rdma"}}}, {}}
	s := &Site{Model: &inventory.Model{Servers: []*inventory.Server{host}}}
	got := s.clusters(t.Context(), false)
	if len(got) != 1 || got[0].Pair != "server.esx vmk2" || got[0].Verdict != prove.NotMeasured || !slices.Equal(got[0].Lacks, []string{"server.esx", "esxi"}) {
		t.Errorf("%+v", got)
	}
	if got := s.clusters(t.Context(), true); len(got) > 0 {
		t.Errorf("in a rollout: %+v", got)
	}
	s.Model.VCenters = []*inventory.VCenter{{Clusters: []*inventory.Cluster{{VSANRDMA: true}}}}
	if got := s.unasked(); len(got) > 0 {
		t.Errorf("the vCenter reports it: %+v", got)
	}
}
