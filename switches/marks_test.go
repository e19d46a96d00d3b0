package switches

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

const listing = `
       4096    Jun 25 04:57:33 2026  .rpmstore/
 1979826176    Nov 21 07:30:00 2026  nxos64-cs.10.3.4a.M.bin
       4096    Nov 21 07:30:00 2026  weft-armed.1795246500.0123456789ab.o.42_7_aa_me
       4096    Nov 21 07:30:00 2026  weft-held.1795248000.o.42_7_aa_me/
       4096    Nov 21 07:30:00 2026  weft-lease/
        812    Nov 21 07:30:00 2026  weft-o-base.cfg

Usage for bootflash://sup-local
 7007772672 bytes used
`

func TestMarks(t *testing.T) {
	m := parseMarks(listing)
	if m.Hold == nil || m.Hold.Owner != "o" || m.Hold.Who != "42_7_aa_me" || m.Hold.Until.Unix() != 1795248000 {
		t.Errorf("hold: %+v", m.Hold)
	}
	if len(m.Armed) != 1 || m.Armed[0].Before != "0123456789ab" || m.Armed[0].Owner != "o" || m.Armed[0].Due.Unix() != 1795246500 {
		t.Errorf("armed: %+v", m.Armed)
	}
	if !m.Base("o") || m.Base("p") || !slices.Equal(m.Owners(), []string{"o"}) {
		t.Errorf("bases of %v", m.Owners())
	}
	for after, want := range map[time.Duration]int{-time.Second: 1, margin - time.Second: 1, margin: 0, time.Hour: 0} {
		m.Now = m.Armed[0].Due.Add(after)
		if got := len(m.Running()); got != want {
			t.Errorf("%s after it was due: %d run, want %d", after, got, want)
		}
	}
	if m := parseMarks("  1 drw-   - Jan 01 2026 10:00:00 weft-lease\n"); m.Hold == nil || m.Hold.Owner != "" {
		t.Errorf("a lease without its holder: %+v", m.Hold)
	}
}

// The lines were printed by devices.
func TestClock(t *testing.T) {
	for text, want := range map[string]string{
		"18:57:38.347 UTC Mon Oct 19 2015":                                    "2015-10-19 18:57:38",
		"10:09:00 UTC Fri 03/16/2015":                                         "2015-03-16 10:09:00",
		"15:10:00 Z5 Fri 03/16/2015\nTime Zone : Z5 add 05:00:00":             "2015-03-16 15:10:00",
		".07:03:04.001 CET Sat Nov  1 2026\nTime source is NTP":               "2026-11-01 07:03:04",
		"Warning: No NTP peer\n23:59:59.999 EST Thu Dec 31 2026\nTime source": "2026-12-31 23:59:59",
	} {
		if got, err := parseClock(text); err != nil || got.Format(time.DateTime) != want {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	if _, err := parseClock("soon"); err == nil {
		t.Error("no time was read as a time")
	}
}

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
			_, err := open(t, NXOS(), r).Begin(t.Context(), Guard{Confirm: time.Minute, Owner: "o", Who: "me"})
			if err == nil || !strings.Contains(err.Error(), "before the first change") {
				t.Errorf("begin: %v", err)
			}
			if slices.Contains(r.sent, nxosDual) {
				t.Error("configuration was entered")
			}
		})
	}
}

// A switch that is held is left alone.
func TestHeld(t *testing.T) {
	r := newReplay(t, join(nxosLogin, "leaf-a# dir bootflash:"+listing+"leaf-a# show clock\n07:30:00.000 UTC Sat Nov 21 2026\nleaf-a#"))
	_, err := open(t, NXOS(), r).Begin(t.Context(), Guard{Confirm: time.Minute, Owner: "p", Who: "me"})
	var held *HeldError
	if !errors.As(err, &held) || held.Armed == nil || held.Left() != 5*time.Minute+margin {
		t.Errorf("begin: %v", err)
	}
}

// Of two that find the lease free one makes it; the other is told who that is,
// and leaves nothing behind.
func TestLeaseTakenMeanwhile(t *testing.T) {
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
	_, err := open(t, NXOS(), r).Begin(t.Context(), Guard{Confirm: time.Minute, Owner: "o", Who: "me"})
	var held *HeldError
	if !errors.As(err, &held) || held.Hold == nil || held.Hold.Who != "them" {
		t.Errorf("begin: %v", err)
	}
}

// Work that would outlast the timer is not begun.
func TestEnough(t *testing.T) {
	tx := &Transaction{confirm: time.Minute, pace: time.Second, guard: Guard{Lines: 30}}
	if err := tx.enough(1, 2); err != nil {
		t.Error(err)
	}
	tx.guard.Lines = 31
	if err := tx.enough(1, 2); err == nil || !strings.Contains(err.Error(), "more than 1/2 of the 1m0s") {
		t.Errorf("31 lines: %v", err)
	}
	if err := tx.enough(3, 4); err != nil {
		t.Errorf("31 lines that were planned: %v", err)
	}
}

// A timer that has to lead back is set to run out as soon as the switch can.
func TestComwareShortensTheTimer(t *testing.T) {
	r := newReplay(t, join(comwareLogin, comwareNothing, comwareArmed, `
[leaf-b] qos trust dscp
[leaf-b] return
<leaf-b> system-view
[leaf-b] configuration commit delay 1
[leaf-b] return
`, comwareNothing, "<leaf-b>"))
	tx, err := open(t, Comware(), r).Begin(t.Context(), Guard{Confirm: 5 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if err := tx.Send(t.Context(), []string{"qos trust dscp"}); err != nil {
		t.Fatal(err)
	}
	if err := tx.shorten(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := time.Until(tx.last); left > time.Minute+margin {
		t.Errorf("it still takes %s", left)
	}
	tx.first, tx.last = time.Time{}, time.Time{} // it has fired
	if err := tx.how.(commitDelay).back(t.Context(), tx, func(context.Context) ([]string, error) { return nil, errors.New("the switch cannot be read") }); err != nil {
		t.Error(err)
	}
}

// What a holder has left who was killed before it had made the lease, or when it
// had removed it, goes under the lease of the next one. Whose time has not come
// may be just about it.
func TestNamesOfTheGoneAreSwept(t *testing.T) {
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
	if _, err := open(t, NXOS(), r).Begin(t.Context(), Guard{Confirm: time.Minute, Owner: "o", Who: "me"}); err == nil {
		t.Error("it begins without a copy of what was there")
	}
	if !slices.Contains(r.sent, "rmdir bootflash:"+dead) || slices.Contains(r.sent, "rmdir bootflash:"+fresh) {
		t.Errorf("sent: %q", r.sent)
	}
}

// A lease is never without a holder, also where whoever takes it over is killed
// on the way.
func TestLeaseTakenOverHasAHolder(t *testing.T) {
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
	if _, err := open(t, NXOS(), r).Begin(t.Context(), Guard{Confirm: time.Minute, Owner: "o", Who: "me"}); err == nil {
		t.Error("it begins without a copy of what was there")
	}
	if !slices.Contains(r.sent, "mkdir bootflash:weft-lease") {
		t.Errorf("sent: %q", r.sent)
	}
}
