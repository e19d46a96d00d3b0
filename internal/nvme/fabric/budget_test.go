package fabric

import (
	"fmt"
	"testing"
)

// take has an account hold as much as it may, in steps, and returns that.
func take(a *Account) int {
	for a.Room() {
		a.Set(a.Used() + 64<<10)
	}
	return a.Used()
}

func TestBudget(t *testing.T) {
	b := NewBudget(64 << 20)
	one := b.Open("10.0.0.1:1000")
	if got := take(one); got < accountMost || got > accountMost+64<<10 {
		t.Errorf("one account takes %d bytes, want %d", got, accountMost)
	}
	all := []*Account{one}
	for i := range 99 {
		all = append(all, b.Open(fmt.Sprintf("10.0.0.1:%d", i)))
		take(all[i+1])
	}
	drawn := func() (sum int) {
		for _, a := range all {
			sum += a.drawn
		}
		return sum
	}
	if got := drawn(); got > 32<<20 || got < 31<<20 {
		t.Errorf("a source alone takes %d bytes of 64 MiB, want half", got)
	}
	if a := b.Open("10.0.0.1:9"); !a.Room() {
		t.Error("an account that holds nothing has no room")
	} else {
		a.Close()
	}
	other := b.Open("10.0.0.2:1000")
	if got := take(other); got < accountMost {
		t.Errorf("another source takes %d bytes, want %d", got, accountMost)
	}
	one.Set(0)
	if one.drawn > 2*budgetStep {
		t.Errorf("%d bytes stay drawn by who holds nothing", one.drawn)
	}
	for _, a := range append(all, other) {
		a.Close()
		a.Close()
		if a.Room() {
			t.Fatal("room in an account that is closed")
		}
	}
	if b.drawn != 0 || len(b.sources) != 0 {
		t.Errorf("at the end: %+v", b)
	}
}

func TestSource(t *testing.T) {
	for remote, want := range map[string]string{
		"10.40.1.21:49152":           "10.40.1.21",
		"[fd00:1:2:3:4:5:6:7]:49152": "fd00:1:2:3::/64",
		"[fe80::1%eth0]:1":           "fe80::/64",
		"[::ffff:10.40.1.21]:1":      "10.40.1.21",
		"pipe":                       "pipe",
		"host.example:1":             "host.example",
	} {
		if got := Source(remote); got != want {
			t.Errorf("%s comes from %s, want %s", remote, got, want)
		}
	}
}
