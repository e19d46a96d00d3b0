package doctor

import (
	"testing"
	"time"

	"weft/modules/host"
)

// A clock is only wrong by what the time that answers took leaves certain, on both sides.
func TestApart(t *testing.T) {
	at := func(skew, slack time.Duration) *Host {
		h := &Host{}
		h.Health = &host.Health{Clock: new(time.Time), Skew: skew, Slack: slack}
		return h
	}
	exact, slow := at(0, 0), at(9*time.Second, 20*time.Second)
	for _, test := range []struct {
		a, b *Host
		want time.Duration
	}{
		{exact, slow, 0},
		{slow, exact, 0},
		{at(time.Minute, 2*time.Second), exact, 59 * time.Second},
		{exact, at(time.Minute, 2*time.Second), 59 * time.Second},
	} {
		if got := test.a.apart(test.b); got != test.want {
			t.Errorf("%v ± %v and %v ± %v: apart by %v, want %v", test.a.Skew, test.a.Slack, test.b.Skew, test.b.Slack, got, test.want)
		}
	}
	s := &Site{Hosts: []*Host{exact, exact, slow, slow}}
	if u := s.usual(); u != slow {
		t.Error("the clock in the middle is not that of the third host")
	}
}
