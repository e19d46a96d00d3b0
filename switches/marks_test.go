package switches

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestMarks(t *testing.T) {
	m := parseMarks(Listing)
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

// Work that would outlast the timer is not begun.
func TestEnough(t *testing.T) {
	tx := &Transaction{Confirm: time.Minute, pace: time.Second, guard: Guard{Lines: 30}}
	if err := tx.Enough(1, 2); err != nil {
		t.Error(err)
	}
	tx.guard.Lines = 31
	if err := tx.Enough(1, 2); err == nil || !strings.Contains(err.Error(), "more than 1/2 of the 1m0s") {
		t.Errorf("31 lines: %v", err)
	}
	if err := tx.Enough(3, 4); err != nil {
		t.Errorf("31 lines that were planned: %v", err)
	}
}

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
