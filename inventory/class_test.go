package inventory

import "testing"

func TestClassOf(t *testing.T) {
	lossless := &TrafficClass{Name: "rdma", DSCP: []int{26}, PFC: true, ECN: &ECN{}}
	plain := &TrafficClass{Name: "tcp", DSCP: []int{10}, Bandwidth: 20}
	strict := &TrafficClass{Name: "voice", DSCP: []int{46}, Strict: true}
	cnp := &TrafficClass{Name: "CNP", DSCP: []int{48}, ECN: &ECN{}}
	other := &TrafficClass{Name: "default", Bandwidth: 50}
	saying := func(c *TrafficClass, carries ...string) *TrafficClass {
		own := *c
		own.Carries = carries
		return &own
	}
	for name, test := range map[string]struct {
		mode      string
		classes   []*TrafficClass
		rdma, tcp string // "": none
	}{
		"no class":                       {"lossless", nil, "", ""},
		"PFC":                            {"lossless", []*TrafficClass{strict, lossless, plain, cnp, other}, "rdma", "default"},
		"two with PFC":                   {"lossless", []*TrafficClass{lossless, {Name: "two", DSCP: []int{1}, PFC: true}, other}, "", "default"},
		"the other one says what it has": {"lossless", []*TrafficClass{lossless, {Name: "two", DSCP: []int{1}, PFC: true, Carries: []string{"other"}}}, "rdma", ""},
		"TCP has the lossless one":       {"lossless", []*TrafficClass{saying(lossless, "tcp"), plain, other}, "", "rdma"},
		"said":                           {"lossless", []*TrafficClass{lossless, saying(plain, "tcp"), other}, "rdma", "tcp"},
		"said of both":                   {"lossless", []*TrafficClass{lossless, saying(plain, "tcp", "rdma"), other}, "tcp", "tcp"},
		"said twice":                     {"lossless", []*TrafficClass{saying(lossless, "tcp"), saying(plain, "tcp")}, "", ""},
		"lossy: ECN":                     {"lossy", []*TrafficClass{{Name: "ecn", DSCP: []int{18}, ECN: &ECN{}}, plain, cnp, other}, "ecn", "default"},
		"lossy: a share":                 {"lossy", []*TrafficClass{plain, strict, cnp, other}, "tcp", "default"},
		"RDMA among all other traffic":   {"lossy", []*TrafficClass{plain, saying(other, "rdma")}, "default", "default"},
	} {
		f := &Fabric{Mode: test.mode, Classes: test.classes}
		for transport, want := range map[string]string{RDMA: test.rdma, TCP: test.tcp} {
			got := ""
			if c := f.ClassOf(transport); c != nil {
				got = c.Name
			}
			if got != want {
				t.Errorf("%s: %s belongs to %q, want %q", name, transport, got, want)
			}
		}
	}
	if c := (*Fabric)(nil).ClassOf(TCP); c.ToS() != -1 || lossless.ToS() != 104 || other.ToS() != -1 {
		t.Errorf("ToS %d, %d, %d", c.ToS(), lossless.ToS(), other.ToS())
	}
}
