package run

import (
	"context"
	"errors"
	"strings"
	"testing"

	"weft/inventory"
	"weft/modules"
	"weft/plan"
	"weft/plan/rollout"
)

// unsupported is a device without operations.
func unsupported() modules.Device { return (*modules.Fleet)(nil).Device("it") }

// emptiable is a host that can be emptied, and does nothing.
type emptiable struct{ modules.Device }

func (emptiable) Maintenance() (modules.Maintenance, error) { return nil, nil }

// silent is a vCenter that does not answer.
type silent struct{ modules.Device }

func (silent) Open(context.Context) (plan.Identity, error) {
	return plan.Identity{}, errors.New("no route")
}

// restarting is a site of an ESXi host, a Linux server and a vCenter that is away, with a
// phase that restarts.
func restarting() *Site {
	s := &Site{Model: &inventory.Model{
		Servers:  []*inventory.Server{{Block: inventory.Block{Addr: "server.esx"}, OS: "esxi"}, {Block: inventory.Block{Addr: "server.st"}, OS: "linux"}},
		VCenters: []*inventory.VCenter{{Block: inventory.Block{Addr: "vcenter.dc1"}}},
		Rollouts: []*inventory.Rollout{{Phases: []*inventory.Phase{{Name: "one", Restart: "rolling"}, {Name: "two"}}}},
	}}
	s.Fleet = &modules.Fleet{Devices: map[string]modules.Device{"server.esx": emptiable{unsupported()}, "vcenter.dc1": silent{unsupported()}}}
	s.Input.Devices = s.Fleet.Engine()
	return s
}

// A host that a vCenter may have is not emptied in another way while that is away.
func TestRestartWithoutVCenter(t *testing.T) {
	site := restarting()
	s := &staged{env: &Env{}, site: site, spec: SpecOf(site.Model), run: &rollout.Run{}}
	for _, begun := range []bool{false, true} {
		got, err := s.restart(t.Context(), rollout.Restart{Phase: "one", Device: "server.esx", Begun: begun})
		if err == nil || !strings.Contains(err.Error(), "vcenter.dc1, which may have its machines leave, does not answer: no route") || got != begun {
			t.Errorf("begun %t: %t %v", begun, got, err)
		}
	}
	if begun, err := s.restart(t.Context(), rollout.Restart{Phase: "one", Device: "server.st"}); begun || err == nil || !strings.Contains(err.Error(), `no server with os = "linux" is`) {
		t.Error(begun, err)
	}
}

// A plan says of each device that needs a restart who does it, and refuses where nobody can.
func TestPlansRestarts(t *testing.T) {
	step := func(device, phase string, impact plan.Impact) plan.PlannedStep {
		return plan.PlannedStep{ID: plan.ID{Device: device, Kind: "k", Name: "n" + phase}, Phase: phase, Changes: []plan.Change{{Path: "x", Impact: impact}}}
	}
	made := &plan.Plan{Steps: []plan.PlannedStep{
		step("server.esx", "one", plan.ImpactReboot), step("server.esx", "two", plan.ImpactReboot), step("server.esx", "one", plan.ImpactReboot), step("server.st", "two", plan.ImpactTraffic),
	}}
	s := restarting()
	s.restarts(made)
	if len(made.Refusals) != 0 || len(made.Restarts) != 2 || !made.Restarts[0].Rolling || made.Restarts[0].Through != "" || made.Restarts[1].Rolling {
		t.Errorf("%+v %+v", made.Restarts, made.Refusals)
	}
	s.Model.VCenters = nil
	made.Steps = append(made.Steps, step("server.st", "one", plan.ImpactReboot))
	s.restarts(made)
	if made.Restarts[0].Through != "itself" || len(made.Refusals) != 1 || !strings.Contains(made.Refusals[0].Text, `os = "linux"`) || !strings.Contains(made.Refusals[0].Hint, `phase "one"`) {
		t.Errorf("%+v %+v", made.Restarts, made.Refusals)
	}
	made.Refusals, made.Destroy = nil, true
	if s.restarts(made); made.Restarts[0].Rolling {
		t.Errorf("destroy: %+v", made.Restarts)
	}
}
