package switches_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/switches"
	"weft/switches/nxos"
)

// A switch of which another run's mark is seen only under the lease is left alone,
// and the lease goes again.
func TestRunMarkedMeanwhile(t *testing.T) {
	t.Parallel()
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
	mark := switches.NewRunMark(began, "o", "me")
	r := newReplay(t, script("4096 Nov 21 2026 "+theirs+"/\n", ""))
	err := open(t, nxos.OS(), r).MarkRun(t.Context(), switches.Guard{Owner: "o", Who: "me"}, mark, func(switches.RunMark) bool { return false })
	var held *switches.HeldError
	if !errors.As(err, &held) || held.Run == nil || held.Run.Who != "them@there" {
		t.Errorf("marked in spite of %s: %v", theirs, err)
	}
	if slices.ContainsFunc(r.sent, func(l string) bool { return strings.Contains(l, mark.Directory()) }) {
		t.Errorf("sent %q", r.sent)
	}

	// One of ours is replaced.
	r = newReplay(t, script("4096 Nov 21 2026 "+theirs+"/\n", "leaf-a# mkdir bootflash:"+mark.Directory()+"\nleaf-a# rmdir bootflash:"+theirs+"\n"))
	if err := open(t, nxos.OS(), r).MarkRun(t.Context(), switches.Guard{Owner: "o", Who: "me"}, mark, func(x switches.RunMark) bool { return x.Owner == "p" }); err != nil {
		t.Error(err)
	}
}
