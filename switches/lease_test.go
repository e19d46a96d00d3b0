package switches_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

const leased = `
leaf-a# dir bootflash:
       4096    Nov 21 07:30:00 2026  old/
leaf-a# show clock
07:30:00.000 UTC Sat Nov 21 2026
leaf-a# mkdir bootflash:weft-held.1795248000.o.me
leaf-a# mkdir bootflash:weft-lease
leaf-a# copy running-config bootflash:weft-o-base.cfg
`

// Without a copy of what was there nothing is changed.
func TestNoRoomForTheBase(t *testing.T) {
	t.Parallel()
	const held, gone = "leaf-a# dir bootflash:\n4096 Nov 21 2026 old/\n4096 Nov 21 2026 weft-held.1795248000.o.me/\n4096 Nov 21 2026 weft-lease/\n",
		"leaf-a# rmdir bootflash:weft-lease\nleaf-a# rmdir bootflash:weft-held.1795248000.o.me\nleaf-a#"
	for name, reply := range map[string]string{
		"refused":   "No space left on device\nCopy complete.\n" + held + gone,
		"not there": "Copy complete.\nleaf-a# show file bootflash:weft-o-base.cfg\nNo such file or directory\nleaf-a# show running-config\nhostname leaf-a\ninterface Ethernet1/1\n" + held + gone,
		"cut short": "Copy complete.\nleaf-a# show file bootflash:weft-o-base.cfg\nhostname leaf-a\n" + nxosNothing + held + "1 Nov 21 2026 weft-o-base.cfg\n" +
			"leaf-a# delete bootflash:weft-o-base.cfg no-prompt\n" + gone,
	} {
		t.Run(name, func(t *testing.T) {
			r := newReplay(t, join(nxosLogin, leased, reply))
			_, err := open(t, nxos.OS(), r).Begin(t.Context(), switches.Guard{Confirm: time.Minute, Owner: "o", Who: "me"})
			if err == nil || !strings.Contains(err.Error(), "before the first change") {
				t.Errorf("begin: %v", err)
			}
			if slices.Contains(r.sent, "configure dual-stage") {
				t.Error("configuration was entered")
			}
		})
	}
}

// A switch that is held is left alone.
func TestHeld(t *testing.T) {
	r := newReplay(t, join(nxosLogin, "leaf-a# dir bootflash:"+switches.Listing+"leaf-a# show clock\n07:30:00.000 UTC Sat Nov 21 2026\nleaf-a#"))
	_, err := open(t, nxos.OS(), r).Begin(t.Context(), switches.Guard{Confirm: time.Minute, Owner: "p", Who: "me"})
	var held *switches.HeldError
	if !errors.As(err, &held) || held.Armed == nil || held.Left() != 5*time.Minute+switches.Margin {
		t.Errorf("begin: %v", err)
	}
}

// Of two that find the lease free one makes it; the other is told who that is,
// and leaves nothing behind.
func TestLeaseTakenMeanwhile(t *testing.T) {
	t.Parallel()
	const mine, theirs = "weft-held.1795248000.o.me", "weft-held.1795248000.p.them"
	r := newReplay(t, join(nxosLogin, `
leaf-a# dir bootflash:
       4096    Nov 21 07:30:00 2026  old/
leaf-a# show clock
07:30:00.000 UTC Sat Nov 21 2026
leaf-a# mkdir bootflash:`+mine+`
leaf-a# mkdir bootflash:weft-lease
ERROR: file exists
leaf-a# dir bootflash:
       4096    Nov 21 07:30:00 2026  `+mine+`/
       4096    Nov 21 07:30:00 2026  `+theirs+`/
       4096    Nov 21 07:30:00 2026  weft-lease/
leaf-a# rmdir bootflash:`+mine+`
leaf-a# dir bootflash:
       4096    Nov 21 07:30:00 2026  `+theirs+`/
       4096    Nov 21 07:30:00 2026  weft-lease/
leaf-a# show clock
07:30:01.000 UTC Sat Nov 21 2026
leaf-a#`))
	_, err := open(t, nxos.OS(), r).Begin(t.Context(), switches.Guard{Confirm: time.Minute, Owner: "o", Who: "me"})
	var held *switches.HeldError
	if !errors.As(err, &held) || held.Hold == nil || held.Hold.Who != "them" {
		t.Errorf("begin: %v", err)
	}
}

// A timer that has to lead back is set to run out as soon as the switch can.
func TestComwareShortensTheTimer(t *testing.T) {
	t.Parallel()
	r := newReplay(t, join(comwareLogin, comwareNothing, comwareArmed, `
[leaf-b] qos trust dscp
[leaf-b] return
<leaf-b> system-view
[leaf-b] configuration commit delay 1
[leaf-b] return
`, comwareNothing, "<leaf-b>"))
	s := open(t, comware.OS(), r)
	tx, err := s.Begin(t.Context(), switches.Guard{Confirm: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Send(t.Context(), []string{"qos trust dscp"}); err != nil {
		t.Fatal(err)
	}
	s.Log = func(line string) {
		if _, last := tx.Due(); strings.Contains(line, "waiting until it reverts") {
			if left := time.Until(last); left > time.Minute+switches.Margin {
				t.Errorf("it still takes %s", left)
			}
			tx.Rearmed(-time.Hour) // it has fired
		}
	}
	if err := comware.OS().Guard.Back(t.Context(), tx, func(context.Context) ([]string, error) { return nil, errors.New("the switch cannot be read") }); err != nil {
		t.Error(err)
	}
}

// What a holder has left who was killed before it had made the lease, or when it
// had removed it, goes under the lease of the next one. Whose time has not come
// may be just about it.
func TestNamesOfTheGoneAreSwept(t *testing.T) {
	t.Parallel()
	const name, dead, fresh = "weft-held.1795248000.o.me", "weft-held.1795246199.o.gone", "weft-held.1795249000.p.them"
	r := newReplay(t, join(nxosLogin, `
leaf-a# dir bootflash:
       4096    Nov 21 07:00:00 2026  `+dead+`/
       4096    Nov 21 07:00:00 2026  `+fresh+`/
leaf-a# show clock
07:30:00.000 UTC Sat Nov 21 2026
leaf-a# mkdir bootflash:`+name+`
leaf-a# mkdir bootflash:weft-lease
leaf-a# rmdir bootflash:`+dead+`
leaf-a# copy running-config bootflash:weft-o-base.cfg
No space left on device
leaf-a# dir bootflash:
       4096    Nov 21 07:30:00 2026  `+name+`/
       4096    Nov 21 07:30:00 2026  weft-lease/
leaf-a# rmdir bootflash:weft-lease
leaf-a# rmdir bootflash:`+name+`
leaf-a#`))
	if _, err := open(t, nxos.OS(), r).Begin(t.Context(), switches.Guard{Confirm: time.Minute, Owner: "o", Who: "me"}); err == nil {
		t.Error("it begins without a copy of what was there")
	}
	if !slices.Contains(r.sent, "rmdir bootflash:"+dead) || slices.Contains(r.sent, "rmdir bootflash:"+fresh) {
		t.Errorf("sent: %q", r.sent)
	}
}

// A lease is never without a holder, also where whoever takes it over is killed
// on the way.
func TestLeaseTakenOverHasAHolder(t *testing.T) {
	t.Parallel()
	const name, dead = "weft-held.1795248000.o.me", "weft-held.1795246199.o.gone"
	r := newReplay(t, join(nxosLogin, `
leaf-a# dir bootflash:
       4096    Nov 21 07:00:00 2026  `+dead+`/
       4096    Nov 21 07:00:00 2026  weft-lease/
leaf-a# show clock
07:30:00.000 UTC Sat Nov 21 2026
leaf-a# mkdir bootflash:`+name+`
leaf-a# rmdir bootflash:`+dead+`
leaf-a# rmdir bootflash:weft-lease
leaf-a# mkdir bootflash:weft-lease
leaf-a# copy running-config bootflash:weft-o-base.cfg
No space left on device
leaf-a# dir bootflash:
       4096    Nov 21 07:30:00 2026  `+name+`/
       4096    Nov 21 07:30:00 2026  weft-lease/
leaf-a# rmdir bootflash:weft-lease
leaf-a# rmdir bootflash:`+name+`
leaf-a#`))
	if _, err := open(t, nxos.OS(), r).Begin(t.Context(), switches.Guard{Confirm: time.Minute, Owner: "o", Who: "me"}); err == nil {
		t.Error("it begins without a copy of what was there")
	}
	if !slices.Contains(r.sent, "mkdir bootflash:weft-lease") {
		t.Errorf("sent: %q", r.sent)
	}
}
