package rollout

import (
	"strings"
	"testing"

	"weft/plan"
)

func step(id, plane string, impact plan.Impact, needs ...string) plan.PlannedStep {
	at := func(text string) plan.ID {
		id, err := plan.ParseID(text)
		if err != nil {
			panic(err)
		}
		return id
	}
	s := plan.PlannedStep{ID: at(id), Plane: plane, Changes: []plan.Change{{Path: "v", After: "1", Impact: impact}}, Undo: []string{"undo"}}
	for _, n := range needs {
		s.Needs = append(s.Needs, at(n))
	}
	return s
}

func names(steps []plan.PlannedStep) string {
	var list []string
	for _, s := range steps {
		list = append(list, s.ID.String())
	}
	return strings.Join(list, " ")
}

func item(id string, blocks ...string) plan.Item {
	parsed, _ := plan.ParseID(id)
	return plan.Item{ID: parsed, Blocks: append(blocks, parsed.Device)}
}

func TestAssign(t *testing.T) {
	spec := &Spec{Phases: []Phase{
		{Name: "record", Record: []string{"v"}},
		{Name: "leaf", Select: []string{"sw", "link"}},
		{Name: "pair", Select: []string{"a"}},
		{Name: "rest", Remaining: true},
	}}
	p := &plan.Plan{Steps: []plan.PlannedStep{
		step("a/ledger.roster", "", 0),
		step("sw/port.1", "", 0),
		step("a/mtu.p0", "", 0, "sw/port.1"),
		step("b/mtu.p0", "", 0),
		step("a/agent.t", "", 0, "b/mtu.p0"),
		step("b/ledger.roster", "", 0),
		step("gone/file.x", "", 0),
	}}
	none := spec.Assign(p, []plan.Item{
		item("sw/port.1", "link"), item("a/mtu.p0", "link"), item("b/mtu.p0"), item("a/agent.t", "target"),
	})
	var got []string
	for _, s := range p.Steps {
		got = append(got, s.ID.String()+"="+s.Phase)
	}
	want := "a/ledger.roster=leaf sw/port.1=leaf a/mtu.p0=leaf b/mtu.p0=rest a/agent.t=rest b/ledger.roster=rest gone/file.x=rest"
	if strings.Join(got, " ") != want || none != nil {
		t.Errorf("%v, none %v, want %s", got, none, want)
	}

	spec.Phases = spec.Phases[:3]
	none = spec.Assign(p, []plan.Item{item("sw/port.1", "link"), item("a/mtu.p0", "link"), item("b/mtu.p0")})
	if len(none) != 1 || none[0].String() != "b/mtu.p0" {
		t.Errorf("in no phase: %v", none)
	}
	if list := spec.Irreversible(p); list != nil {
		t.Errorf("irreversible: %v", list)
	}
	p.Steps[2].Undo, spec.OnFailure = nil, RollbackPhase
	if list := spec.Irreversible(p); len(list) != 1 || list[0].ID != p.Steps[2].ID {
		t.Errorf("irreversible: %v", list)
	}
}

// Steps stand in the order of their phases, whatever that of the plan is: a reader
// of the plan sees what the rollout will do.
func TestAssignOrders(t *testing.T) {
	spec := &Spec{Phases: []Phase{
		{Name: "one", Select: []string{"a"}}, {Name: "two", Select: []string{"b"}},
		{Name: "three", Select: []string{"c"}}, {Name: "four", Select: []string{"d"}},
	}}
	p := &plan.Plan{Steps: []plan.PlannedStep{
		step("e/v.1", "", 0), step("d/v.1", "", 0), step("b/v.1", "", 0), step("c/v.1", "", 0), step("a/v.1", "", 0), step("a/v.2", "", 0),
	}}
	spec.Assign(p, []plan.Item{item("a/v.1"), item("a/v.2"), item("b/v.1"), item("c/v.1"), item("d/v.1"), item("e/v.1")})
	if got, want := names(p.Steps), "a/v.1 a/v.2 b/v.1 c/v.1 d/v.1 e/v.1"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestBatches(t *testing.T) {
	steps := []plan.PlannedStep{
		step("a/v.1", "", 0), step("b/v.1", "", 0), step("c/v.1", "", 0), step("d/v.1", "", 0, "c/v.1"), step("a/v.2", "", 0, "d/v.1"),
	}
	for _, test := range []struct {
		sizes []string
		want  string
	}{
		{nil, "a/v.1 b/v.1 c/v.1 d/v.1 a/v.2"},
		{[]string{"1", "100%"}, "a/v.1; b/v.1 c/v.1 d/v.1 a/v.2"},
		{[]string{"50%"}, "a/v.1 b/v.1; c/v.1 d/v.1 a/v.2"},
		{[]string{"1"}, "a/v.1; b/v.1; c/v.1; d/v.1 a/v.2"},
		{[]string{"9"}, "a/v.1 b/v.1 c/v.1 d/v.1 a/v.2"},
	} {
		var got []string
		for _, b := range batches(steps, test.sizes) {
			got = append(got, names(b))
		}
		if strings.Join(got, "; ") != test.want {
			t.Errorf("%v: %v, want %s", test.sizes, got, test.want)
		}
	}
	if got := batches(nil, []string{"1"}); len(got) != 0 {
		t.Errorf("of nothing: %v", got)
	}
}

// Never are both planes disturbed at once.
func TestWaves(t *testing.T) {
	steps := []plan.PlannedStep{
		step("a/file.x", "", plan.ImpactNone),
		step("a/mtu.p1", "b", plan.ImpactLinkFlap),
		step("a/mtu.p0", "a", plan.ImpactLinkFlap),
		step("a/agent.t", "", plan.ImpactTraffic, "a/mtu.p1", "a/mtu.p0"),
	}
	var got []string
	for _, w := range waves(steps) {
		got = append(got, names(w))
	}
	if want := "a/file.x a/mtu.p0; a/mtu.p1 a/agent.t"; strings.Join(got, "; ") != want {
		t.Errorf("%v, want %s", got, want)
	}
	if got := waves(steps[:2]); len(got) != 1 {
		t.Errorf("one plane: %v", got)
	}
}
