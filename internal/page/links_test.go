package page

import (
	"testing"

	"weft/internal/graph"
	"weft/internal/prove"
	"weft/internal/run"
	"weft/plan"
	"weft/plan/rollout"
)

// A cable says what the run does at its ends, and what was measured there last.
func TestLinkStates(t *testing.T) {
	g := &graph.Graph{
		Planes:   []*graph.Plane{{Addr: "fabric.f.plane.a", Name: "a"}},
		Switches: []*graph.Switch{{Addr: "switch.leaf"}},
		Servers:  []*graph.Server{{Addr: "server.cn1", NICs: []*graph.NIC{{Addr: "server.cn1.rnic.p0", Name: "p0"}}}},
		Links: []*graph.Link{{Plane: "fabric.f.plane.a", From: graph.End{Switch: "switch.leaf", Port: "Ethernet1/1"},
			To: graph.End{NIC: "server.cn1.rnic.p0", Server: "server.cn1"}}},
		Paths: []*graph.Path{{Target: "target.st1", Server: "server.st1"}},
	}
	nic := plan.PlannedStep{ID: plan.ID{Device: "server.cn1", Kind: "mtu", Name: "p0"}, Phase: "one"}
	qos := plan.PlannedStep{ID: plan.ID{Device: "switch.leaf", Kind: "qos", Name: "roce"}, Phase: "one"}
	failing := func(j prove.Judgement) []run.Kept {
		j.Validation, j.Metric, j.Verdict = "healthy", "drops", prove.Fail
		return []run.Kept{{Result: &prove.Result{Judgements: []prove.Judgement{j}}}}
	}
	both := []plan.PlannedStep{nic, qos}
	for _, c := range []struct {
		name        string
		planned     []plan.PlannedStep
		phase       rollout.PhaseRun
		measured    []run.Kept
		state, mark string
	}{
		{"no step", nil, rollout.PhaseRun{State: rollout.Running}, nil, "nothing to do", ""},
		{"another port", []plan.PlannedStep{{ID: plan.ID{Device: "server.cn1", Kind: "mtu", Name: "p1"}, Phase: "one"}}, rollout.PhaseRun{State: rollout.Running}, nil, "nothing to do", ""},
		{"not begun", both, rollout.PhaseRun{State: rollout.Pending}, nil, "to do", "·"},
		{"at work", both, rollout.PhaseRun{State: rollout.Running, Begun: both[:1]}, nil, "at work", "…"},
		{"one end", both, rollout.PhaseRun{State: rollout.Running, Steps: both[:1]}, nil, "partly done", "◐"},
		{"both ends", both, rollout.PhaseRun{State: rollout.Gating, Steps: both}, nil, "done, not proven", "●"},
		{"proven", both, rollout.PhaseRun{State: rollout.Passed, Steps: both}, nil, "proven", "✓"},
		{"rolled back", both, rollout.PhaseRun{State: rollout.RolledBack}, nil, "rolled back", "↩"},
		{"failed", both, rollout.PhaseRun{State: rollout.Failed, Steps: both}, nil, "failed", "✗"},
		{"the port drops", both, rollout.PhaseRun{State: rollout.Gating, Steps: both}, failing(prove.Judgement{Pair: "switch.leaf Ethernet1/1"}), "fails: healthy.drops", "✗"},
		{"found at the NIC", both, rollout.PhaseRun{State: rollout.Gating, Steps: both}, failing(prove.Judgement{Pair: "x", Where: "at server.cn1 p0"}), "fails: healthy.drops", "✗"},
		{"a path over it", both, rollout.PhaseRun{State: rollout.Passed, Steps: both}, failing(prove.Judgement{Pair: "server.cn1 → target.st1 over plane a at 4096"}), "a path over it fails: healthy.drops", "!"},
		{"a path over another plane", both, rollout.PhaseRun{State: rollout.Passed, Steps: both}, failing(prove.Judgement{Pair: "server.cn1 → target.st1 over plane b"}), "proven", "✓"},
		{"passed since", both, rollout.PhaseRun{State: rollout.Passed, Steps: both},
			append(failing(prove.Judgement{Pair: "switch.leaf Ethernet1/1"}), run.Kept{Result: &prove.Result{}}), "proven", "✓"},
	} {
		c.phase.Name = "one"
		pic := &run.Picture{Plan: &plan.Plan{Steps: c.planned}, Run: &rollout.Run{Phases: []rollout.PhaseRun{c.phase}}, Measured: c.measured}
		list := linkStates(pic, g)
		if len(list) != 1 || list[0].State() != c.state || list[0].Mark() != c.mark {
			t.Errorf("%s: %+v is %q %q, wanted %q %q", c.name, list, list[0].State(), list[0].Mark(), c.state, c.mark)
		}
	}
}
