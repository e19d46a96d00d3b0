package discover

import (
	"context"
	"maps"
	"regexp"
	"strings"
	"testing"

	"weft/inventory"
	"weft/plan"
)

// beside judges what is added to files that stand.
func beside(t *testing.T, files map[string][]byte, steps func(*inventory.Model) []plan.PlannedStep) Options {
	o := judged(t, steps)
	whole := o.Judge
	_, base, _, err := whole(t.Context(), files)
	if err != nil || base == nil {
		t.Fatal(err)
	}
	o.Base = base
	o.Judge = func(ctx context.Context, more map[string][]byte) ([]Problem, *inventory.Model, *plan.Plan, error) {
		all := maps.Clone(files)
		maps.Copy(all, more)
		return whole(ctx, all)
	}
	return o
}

// Cables between devices that stand are added where no link has either end; one that a link
// has elsewhere is told with the place of that link.
func TestStandingCables(t *testing.T) {
	s := rack(2, 4)
	first, err := s.Discover(t.Context(), judged(t, nil))
	if err != nil || first.Failed != nil || len(first.Model.Links) != 8 {
		t.Fatalf("%+v %v", first, err)
	}
	links := regexp.MustCompile(`(?s)link "plane-a" \{.*?\n\}\n`)
	files := maps.Clone(first.Files)
	files[hostsFile] = links.ReplaceAll(files[hostsFile], nil)
	o := beside(t, files, nil)
	if len(o.Base.Links) != 4 {
		t.Fatalf("%d links stand:\n%s", len(o.Base.Links), files[hostsFile])
	}
	r, err := s.Discover(t.Context(), o)
	if err != nil || r.Failed != nil || len(r.Model.Links) != 8 || strings.Contains(string(r.Files[AdditionsFile]), "server \"") {
		t.Fatalf("%d links of 8: %v %v\n%s", len(r.Model.Links), r.Failed, err, r.Files[AdditionsFile])
	}
	files[hostsFile] = []byte(strings.Replace(string(first.Files[hostsFile]), `"Ethernet1/1"`, `"Ethernet1/40"`, 1))
	again := rack(2, 4)
	r, err = again.Discover(t.Context(), beside(t, files, nil))
	if err != nil || r.Failed != nil || len(r.Model.Links) != 8 {
		t.Fatalf("%+v %v", r, err)
	}
	told := ""
	for _, f := range r.Findings {
		if strings.Contains(f.Text, "has it elsewhere: no link is added") {
			told = f.Text
		}
	}
	if !strings.Contains(told, "Ethernet1/1 of") || !strings.Contains(told, hostsFile+":") {
		t.Errorf("%q, findings %v", told, r.Findings)
	}
}

// What a plan changes only with what is added is not drift of what stood: here the link of a
// port that is not as its fabric asks.
func TestStandingProof(t *testing.T) {
	s := rack(2, 4)
	for _, sw := range s.Switches {
		sw.Reading.Name = "WEFT-a-roce"
	}
	o := judged(t, nil)
	o.Owner = "a"
	first, err := s.Discover(t.Context(), o)
	if err != nil || first.Failed != nil {
		t.Fatalf("%+v %v", first, err)
	}
	links := regexp.MustCompile(`(?s)link "plane-a" \{.*?\n\}\n`)
	files := maps.Clone(first.Files)
	files[hostsFile] = links.ReplaceAll(files[hostsFile], nil)
	steps := func(m *inventory.Model) (list []plan.PlannedStep) {
		for _, l := range m.Links { // this port asks for something as soon as it has a link
			if l.To.Port == "Ethernet1/2" && l.To.Switch.Plane == "a" {
				list = append(list, plan.PlannedStep{ID: plan.ID{Device: l.To.Switch.Addr, Kind: "port", Name: l.To.Port}, Changes: []plan.Change{{Path: "mtu", Before: "1500", After: "9216"}}})
			}
		}
		drift := plan.PlannedStep{ID: plan.ID{Device: m.Servers[0].Addr, Kind: "mtu", Name: "p0"}, Changes: []plan.Change{{Path: "bytes", Before: "1500", After: "9000"}}}
		return append(list, drift)
	}
	again := rack(2, 4)
	for _, sw := range again.Switches {
		sw.Reading.Name = "WEFT-a-roce"
	}
	r, err := again.Discover(t.Context(), beside(t, files, steps))
	if err != nil || r.Failed != nil || r.Stood != 1 || len(r.Model.Links) != 7 {
		t.Fatalf("%d links of 7, %d things of what stood: %v %v\n%s", len(r.Model.Links), r.Stood, r.Failed, err, r.Files[AdditionsFile])
	}
	if !strings.Contains(string(r.Files[AdditionsFile]), `"Ethernet1/1"`) {
		t.Errorf("%s", r.Files[AdditionsFile])
	}
}
