package discover

import (
	"context"
	"slices"
	"strings"
	"testing"

	"weft/inventory"
	"weft/plan"
)

// Where a fabric is known, a trial shows what it would type over the policies of others;
// what is written has neither the fabric nor adopt.
func TestAdoption(t *testing.T) {
	site := func() *Site {
		s := rack(2, 2)
		theirs := nexusWith("leaf-1", "interface Ethernet1/1\n  service-policy type qos input HANDMADE\n", s.Switches[1].Neighbours...)
		s.Switches[0].Reading.Name, s.Switches[1] = "WEFT-a-roce", theirs
		return s
	}
	trial := 0
	steps := func(m *inventory.Model) (list []plan.PlannedStep) {
		for _, sw := range m.Switches {
			if sw.Adopt {
				trial++
				list = append(list, plan.PlannedStep{ID: plan.ID{Device: sw.Addr, Kind: "qos", Name: "roce"}, Send: []string{"system qos", "  service-policy type qos input WEFT-a-roce-in"}})
			}
		}
		return list
	}
	r, err := site().Discover(t.Context(), judged(t, steps))
	if err != nil || r.Failed != nil || trial != 1 {
		t.Fatalf("%+v %v, %d trials", r, err, trial)
	}
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return f.Device == "leaf-1.mgmt.example.net" && strings.Contains(f.Text, "fabric = fabric.roce with adopt = true would type 2 lines") && slices.Equal(f.Lines, []string{"system qos", "  service-policy type qos input WEFT-a-roce-in"})
	}) {
		t.Errorf("findings %v", r.Findings)
	}
	if text := string(r.Files[fabricFile]); strings.Contains(text, "adopt") || strings.Count(text, "fabric     = ") != 1 {
		t.Errorf("what is written:\n%s", text)
	}
	// Where nobody says what the fabric is, the usual one is tried, which has to validate.
	s := site()
	s.Switches = s.Switches[1:]
	for _, m := range s.Servers {
		m.Ledgers = nil
	}
	r, err = s.Discover(t.Context(), judged(t, steps))
	if err != nil || r.Failed != nil || trial != 2 {
		t.Fatalf("%+v %v, %d trials", r, err, trial)
	}
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return strings.Contains(f.Text, "no fabric is known here: one with the classes of examples/pilot") && len(f.Lines) == 2
	}) {
		t.Errorf("findings %v", r.Findings)
	}
	if text := string(r.Files[fabricFile]); strings.Contains(text, "adopt") || strings.Contains(text, "fabric ") {
		t.Errorf("what is written:\n%s", text)
	}
	for _, m := range s.Servers {
		for i := range m.Facts.NICs {
			m.Facts.NICs[i].Addresses = nil
		}
	}
	s.Findings = nil
	if r, err = s.Discover(t.Context(), judged(t, steps)); err != nil || trial != 2 || !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return strings.Contains(f.Text, "the changes of an adoption are unknown")
	}) {
		t.Errorf("%+v %v, %d trials", r.Findings, err, trial)
	}
	o := judged(t, func(m *inventory.Model) []plan.PlannedStep { return nil })
	judge := o.Judge
	o.Judge = func(ctx context.Context, files map[string][]byte) ([]Problem, *inventory.Model, *plan.Plan, error) {
		problems, m, p, err := judge(ctx, files)
		if strings.Contains(string(files[fabricFile]), "adopt") {
			p.Refusals = []plan.Refusal{{ID: plan.ID{Device: "switch.leaf-1", Kind: "qos"}, Text: "queue 4 would starve"}}
		}
		return problems, m, p, err
	}
	if r, err = site().Discover(t.Context(), o); err != nil || r.Failed != nil || !slices.ContainsFunc(r.Findings, func(f Finding) bool {
		return strings.Contains(f.Text, "would be refused: queue 4 would starve")
	}) {
		t.Errorf("%+v %v", r, err)
	}
}
