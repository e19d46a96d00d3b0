package run

import (
	"strings"
	"testing"

	"weft/internal/prove"
	"weft/plan/rollout"
)

// A gate that could not measure what is declared never passes, unless the files or the
// operator allow it by name; only a measured contradiction fails it.
func TestGateCoverage(t *testing.T) {
	pass := prove.Judgement{Validation: "latency", Metric: "p99", Verdict: prove.Pass}
	hop := prove.Unmeasured("path", "lossless", "server.a → server.b", "switch.spine is not managed", "switch.spine")
	allowed, undeclared, silent, broken := hop, hop, pass, hop
	allowed.Allowed, undeclared.Undeclared = "switch.spine", true
	silent.Verdict, silent.Why = prove.Inconclusive, "it does not answer"
	broken.Verdict, broken.Why = prove.Fail, "PFC is off"
	for name, test := range map[string]struct {
		list   []prove.Judgement
		accept string
		want   rollout.Verdict
		says   string
	}{
		"all is measured":          {[]prove.Judgement{pass}, "", rollout.Pass, ""},
		"a hop is not measured":    {[]prove.Judgement{pass, hop}, "", rollout.Partial, "allow_unmeasured = [switch.spine]"},
		"the files allow it":       {[]prove.Judgement{pass, allowed}, "", rollout.Pass, "switch.spine"},
		"nothing is declared":      {[]prove.Judgement{pass, undeclared}, "", rollout.Pass, ""},
		"the operator accepts it":  {[]prove.Judgement{pass, hop}, "path.lossless", rollout.Pass, "accepted: path.lossless"},
		"accepted as a whole":      {[]prove.Judgement{pass, hop}, "path", rollout.Pass, "accepted: path.lossless"},
		"another one is accepted":  {[]prove.Judgement{pass, hop}, "path.jumbo", rollout.Partial, "not managed"},
		"a device does not answer": {[]prove.Judgement{hop, silent}, "", rollout.Inconclusive, "it does not answer"},
		"a hop is wrong":           {[]prove.Judgement{hop, silent, broken}, "", rollout.Fail, "PFC is off"},
		"only what is allowed":     {[]prove.Judgement{allowed}, "", rollout.Inconclusive, "nothing that could be judged"},
	} {
		s := &staged{env: &Env{}, run: &rollout.Run{}}
		if test.accept != "" {
			s.run.Accepted = []rollout.Acceptance{{What: test.accept}}
		}
		verdict, why := s.weigh(&prove.Result{Judgements: test.list})
		if verdict != test.want || !strings.Contains(why, test.says) || test.says == "" && why != "" {
			t.Errorf("%s: %s, %q", name, verdict, why)
		}
	}
}
