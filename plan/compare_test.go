package plan

import (
	"encoding/json"
	"strings"
	"testing"
)

// What protect and ignore_drift forbid, and what they leave possible.
func TestTreatment(t *testing.T) {
	for _, test := range []struct {
		name            string
		protect, ignore bool
		live, applied   string // of v.x, which is wanted to be 2
		impact          Impact
		allow           string
		steps           int
		refused, left   string
	}{
		{name: "drift is set right", live: "9", applied: "2", steps: 1},
		{name: "drift is left", ignore: true, live: "9", applied: "2", left: "value is 9, declared 2"},
		{name: "what is gone has drifted, too", ignore: true, applied: "2", left: "value is absent, declared 2"},
		{name: "another wish is no drift", ignore: true, live: "1", applied: "1", steps: 1},
		{name: "nor is it with drift beside", ignore: true, live: "9", applied: "1", steps: 1},
		{name: "data goes", live: "1", applied: "1", impact: ImpactDataLoss, steps: 1, refused: "--allow-destroy does not allow"},
		{name: "data goes, as allowed", allow: "a/v.x", live: "1", applied: "1", impact: ImpactDataLoss, steps: 1},
		{name: "other data is allowed to go", allow: "a/v.y", live: "1", applied: "1", impact: ImpactDataLoss, steps: 1, refused: "--allow-destroy does not allow"},
		{name: "data stays", protect: true, live: "1", applied: "1", impact: ImpactDataLoss, refused: "would lose data"},
		{name: "protected, harmless", protect: true, live: "1", applied: "1", impact: ImpactTraffic, steps: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld()
			w.want("a/v.x", "2").impact = test.impact
			w.items[0].Protect, w.items[0].IgnoreDrift = test.protect, test.ignore
			w.device("a").values["v.x"] = test.live
			w.keep()
			w.devices["a"].(*fakeKeeper).kept.Entries = []Entry{
				{Kind: "v", Name: "x", State: EntryCreated, Applied: json.RawMessage(quoted(test.applied))},
			}
			in := w.input()
			if test.allow != "" {
				in.AllowDestroy = []string{test.allow}
			}
			p := mustMake(t, within(t), in)
			if len(p.Steps) != test.steps {
				t.Errorf("steps: %+v", p.Steps)
			}
			if got := texts(p.Refusals); !strings.Contains(got, test.refused) || (got == "") != (test.refused == "") {
				t.Errorf("refused: %q, want %q", got, test.refused)
			}
			var left string
			for _, l := range p.Left {
				left += l.Text
			}
			if !strings.Contains(left, test.left) || (left == "") != (test.left == "") {
				t.Errorf("left alone: %q, want %q", left, test.left)
			}
		})
	}
}

func texts(refusals []Refusal) string {
	var list []string
	for _, r := range refusals {
		list = append(list, r.Text)
	}
	return strings.Join(list, "; ")
}

// Drift is what weft has applied and was changed since, whether it can be set right or not;
// what weft has never applied, or what the files want otherwise now, is apart.
func TestOnlyDrift(t *testing.T) {
	w := newWorld()
	for n, r := range []struct{ name, live, applied string }{{"set-right", "9", "2"}, {"refused", "9", "2"}, {"another-wish", "1", "1"}, {"never-applied", "9", ""}, {"pending", "1", "1"}} {
		w.want("a/v."+r.name, "2").impact = ImpactDataLoss
		w.items[n].Protect = r.name != "set-right" && r.name != "pending"
		w.device("a").values["v."+r.name] = r.live
	}
	w.keep()
	entries := &w.devices["a"].(*fakeKeeper).kept.Entries
	for name, applied := range map[string]string{"set-right": "2", "refused": "2", "another-wish": "1", "pending": "1"} {
		*entries = append(*entries, Entry{Kind: "v", Name: name, State: EntryCreated, Applied: json.RawMessage(quoted(applied))})
	}
	in := w.input()
	in.AllowDestroy = []string{"a/v.set-right", "a/v.pending"}
	p := mustMake(t, within(t), in)
	pending, apart, err := p.OnlyDrift()
	if err != nil || pending != 1 || len(p.Steps) != 1 || p.Steps[0].ID.Name != "set-right" || p.Drifted() != 2 {
		t.Errorf("%v: %d pending, %d drifted, %+v", err, pending, p.Drifted(), p.Steps)
	}
	if len(p.Refusals) != 1 || p.Refusals[0].ID.Name != "refused" || len(apart) != 2 {
		t.Errorf("refused %+v, apart %+v", p.Refusals, apart)
	}
}
