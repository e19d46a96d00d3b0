package switches

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The name of a run's mark is one that every file system takes, and says who.
func TestRunMarkName(t *testing.T) {
	began := time.Date(2026, 11, 23, 5, 54, 3, 855862800, time.UTC)
	form := regexp.MustCompile(`^weft-run\.[0-9a-z]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
	for _, c := range []struct{ owner, who string }{
		{"pilot", "ann@laptop"}, {strings.Repeat("o", 80), strings.Repeat("w", 80)}, {"a.b", "ann.b c@x.example.net\n"},
	} {
		r := NewRunMark(began, c.owner, c.who)
		if len(r.name) > 60 || !form.MatchString(r.name) {
			t.Errorf("%q %q: %q, %d characters", c.owner, c.who, r.name, len(r.name))
		}
		m := parseMarks(" 4096    Nov 21 07:30:00 2026  " + r.name + "/\n")
		if len(m.Runs) != 1 || !m.Runs[0].Began.Equal(began) || m.Runs[0].Owner != ShortOwner(c.owner) || m.Runs[0].name != r.name {
			t.Errorf("%q reads %+v", r.name, m.Runs)
		}
	}
	for _, name := range []string{"weft-run.", "weft-run.x", "weft-run.!!.o.w", "weft-run.zzzzzzzzzzzzzzzzzzzzzzzzz.o.w"} {
		if m := parseMarks(name + "\n"); len(m.Runs) != 1 || m.Runs[0].Owner == "" || m.Runs[0].Who == "" {
			t.Errorf("%q is nobody's: %+v", name, m.Runs)
		}
	}
}

// A switch of which another run's mark is seen only under the lease is left alone,
// and the lease goes again.
func TestRunMarkedMeanwhile(t *testing.T) {
	const lease, theirs = "weft-held.1795248000.o.me", "weft-run.dgsxm7sgbxc0.p.them_at_there"
	began := time.Date(2026, 11, 23, 5, 54, 3, 0, time.UTC)
	script := func(runs, rest string) string {
		return join(nxosLogin, `
leaf-a# dir bootflash:
       4096    Nov 21 07:30:00 2026  old/
leaf-a# show clock
07:30:00.000 UTC Sat Nov 21 2026
leaf-a# mkdir bootflash:`+lease+`
leaf-a# mkdir bootflash:weft-lease
leaf-a# dir bootflash:
`+runs+rest+`leaf-a# dir bootflash:
`+runs+`4096 Nov 21 2026 `+lease+`/
4096 Nov 21 2026 weft-lease/
leaf-a# rmdir bootflash:weft-lease
leaf-a# rmdir bootflash:`+lease+`
leaf-a#`)
	}
	mark := NewRunMark(began, "o", "me")
	r := newReplay(t, script("4096 Nov 21 2026 "+theirs+"/\n", ""))
	err := open(t, NXOS(), r).MarkRun(t.Context(), Guard{Owner: "o", Who: "me"}, mark, func(RunMark) bool { return false })
	var held *HeldError
	if !errors.As(err, &held) || held.Run == nil || held.Run.Who != "them@there" {
		t.Errorf("marked in spite of %s: %v", theirs, err)
	}
	if slices.ContainsFunc(r.sent, func(l string) bool { return strings.Contains(l, mark.name) }) {
		t.Errorf("sent %q", r.sent)
	}

	// One of ours is replaced.
	r = newReplay(t, script("4096 Nov 21 2026 "+theirs+"/\n", "leaf-a# mkdir bootflash:"+mark.name+"\nleaf-a# rmdir bootflash:"+theirs+"\n"))
	if err := open(t, NXOS(), r).MarkRun(t.Context(), Guard{Owner: "o", Who: "me"}, mark, func(x RunMark) bool { return x.Owner == "p" }); err != nil {
		t.Error(err)
	}
}
