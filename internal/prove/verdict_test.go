package prove

import (
	"slices"
	"testing"
)

// Every verdict has a rank and a sign of its own, and an unknown one never counts as a pass.
func TestVerdicts(t *testing.T) {
	all := Verdicts()
	for i := 1; i < len(all); i++ {
		if all[i-1].Severity() <= all[i].Severity() || Worse(all[i], all[i-1]) != all[i-1] {
			t.Errorf("%s does not outweigh %s", all[i-1], all[i])
		}
	}
	marks := map[string]bool{}
	for _, v := range all {
		marks[v.Mark()] = true
	}
	if len(marks) != len(all) {
		t.Errorf("%d signs for %d verdicts", len(marks), len(all))
	}
	for _, unknown := range []Verdict{"", "perhaps"} {
		if unknown.Mark() == Pass.Mark() {
			t.Errorf("%q has the sign of a pass", unknown)
		}
	}
	if Worse(Pass, "perhaps") != "perhaps" {
		t.Error("an unknown verdict does not outweigh a pass")
	}
}

// A place without a measurement makes the whole partial, unless the files ask for none there
// or allow it by name.
func TestPartial(t *testing.T) {
	pass := Judgement{Verdict: Pass}
	missing := Unmeasured("path", "lossless", "server.a → switch.spine", "it is not managed", "switch.spine")
	allowed, undeclared := missing, missing
	allowed.Allowed, undeclared.Undeclared = "switch.spine", true
	for want, list := range map[Verdict][][]Judgement{
		Pass:         {{pass}, {pass, allowed}, {pass, undeclared}},
		Partial:      {{pass, missing}, {pass, missing, allowed}, {pass, {Verdict: NotMeasured}}},
		Inconclusive: {nil, {missing}, {allowed, undeclared}, {missing, {Verdict: Inconclusive}}, {pass, {Verdict: "perhaps"}}, {pass, {}}},
		Fail:         {{missing, {Verdict: Inconclusive}, {Verdict: Fail}}},
	} {
		for _, judgements := range list {
			if got := overall(&Result{Judgements: judgements}); got != want {
				t.Errorf("%+v: %s, want %s", judgements, got, want)
			}
		}
	}
}

// Coverage is counted by pairs, and named by the system or the device.
func TestCoverage(t *testing.T) {
	row := func(from, why string) *Row { return &Row{Initiator: from, Target: "target.t", Plane: "a", Why: why} }
	res := &Result{Rows: []*Row{row("server.a", ""), row("server.a", ""), row("server.b", "weft's probes do not run there")}}
	lacks := Judgement{Verdict: NotMeasured, Pair: "b", Absence: Absence{Lacks: []string{"server.b", "esxi"}, System: "ESXi"}}
	res.Judgements = []Judgement{{Verdict: Pass}, lacks, lacks, Unmeasured("path", "lossless", "x", "", "switch.s"), {Verdict: NotMeasured, Absence: Absence{Undeclared: true}}}
	c := res.Coverage()
	if c.Pairs != 2 || c.Measured != 1 || !slices.Equal(c.Missing, []string{"ESXi", "switch.s"}) || !slices.Equal(c.Allow, []string{"esxi", "switch.s"}) || c.Whole() {
		t.Errorf("%+v", c)
	}
	peers := &Result{Rows: res.Rows, Judgements: []Judgement{{Validation: pathName, Metric: smbDirect, Pair: "c", Verdict: Pass},
		{Validation: pathName, Metric: smbDirect, Pair: "d", Verdict: NotMeasured, Absence: Absence{Lacks: []string{"server.w", "windows"}, System: "Windows"}}}}
	if c := peers.Coverage(); c.Pairs != 4 || c.Measured != 2 || !slices.Equal(c.Missing, []string{"Windows"}) || !slices.Equal(c.Allow, []string{"windows"}) {
		t.Errorf("hosts that share files: %+v", c)
	}
	for i := range res.Judgements {
		res.Judgements[i].Allowed = "x"
	}
	if c := res.Coverage(); len(c.Missing)+len(c.Allow) > 0 || len(c.Allowed) != 2 || c.Whole() {
		t.Errorf("%+v", c)
	}
}
