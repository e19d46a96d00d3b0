package inventory

import (
	"strings"
	"testing"
	"time"
)

func TestWindows(t *testing.T) {
	at := func(s string) time.Time {
		tm, err := time.Parse(time.RFC3339, s)
		if err != nil {
			t.Fatal(err)
		}
		return tm
	}
	for _, c := range []struct{ window, now, next string }{
		{"22:00-04:00 UTC", "2026-11-20T21:59:00Z", "2026-11-20T22:00:00Z"},
		{"22:00-04:00 UTC", "2026-11-20T22:00:00Z", "2026-11-20T22:00:00Z"},
		{"22:00-04:00 UTC", "2026-11-21T03:59:59Z", "2026-11-21T03:59:59Z"},
		{"22:00-04:00 UTC", "2026-11-21T04:00:00Z", "2026-11-21T22:00:00Z"},
		// 2026-11-20 is a Friday.
		{"Sat,Sun 22:00-04:00 Europe/Berlin", "2026-11-20T12:00:00Z", "2026-11-21T21:00:00Z"},
		{"Sat,Sun 22:00-04:00 Europe/Berlin", "2026-11-23T02:30:00Z", "2026-11-23T02:30:00Z"},
		{"Sat,Sun 22:00-04:00 Europe/Berlin", "2026-11-23T03:30:00Z", "2026-11-28T21:00:00Z"},
		{"Mon-Fri 00:00-24:00 UTC", "2026-11-20T23:59:00Z", "2026-11-20T23:59:00Z"},
		{"Mon-Fri 00:00-24:00 UTC", "2026-11-21T00:00:00Z", "2026-11-23T00:00:00Z"},
		{"Sat-Mon 08:00-09:00 UTC", "2026-11-20T12:00:00Z", "2026-11-21T08:00:00Z"},
		{"Fri 08:00-09:00 UTC", "2026-11-20T09:00:00Z", "2026-11-27T08:00:00Z"},
		// The clock is put forward at 2026-03-29T01:00Z from 02:00 to 03:00.
		{"01:00-04:00 Europe/Berlin", "2026-03-29T01:30:00Z", "2026-03-29T01:30:00Z"},
		{"01:00-04:00 Europe/Berlin", "2026-03-29T02:00:00Z", "2026-03-29T23:00:00Z"},
	} {
		w, err := ParseWindow(c.window)
		if err != nil {
			t.Errorf("%s: %v", c.window, err)
			continue
		}
		if next := w.Next(at(c.now)); !next.Equal(at(c.next)) {
			t.Errorf("%s at %s: %s, want %s", w, c.now, next.UTC().Format(time.RFC3339), c.next)
		}
	}
	for text, says := range map[string]string{
		"":                            "not days, hours and a time zone",
		"22:00-04:00":                 "not days, hours and a time zone",
		"weekends 22:00-04:00 UTC":    "not a day",
		"Sat, Sun 22:00-04:00 UTC":    "not days, hours and a time zone",
		"Sat 22:00 UTC":               "not hours",
		"Sat 24:00-04:00 UTC":         "not hours",
		"Sat 22:00-24:01 UTC":         "not hours",
		"Sat 22:00-22:00 UTC":         "no time at all",
		"Sat 22:00-04:00 Local":       "not a time zone",
		"Sat 22:00-04:00 Mars/Crater": "not a time zone",
		"Sat 22:00-04:00 ../../etc":   "not a time zone",
	} {
		if _, err := ParseWindow(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", text, err, says)
		}
	}
	if now := time.Now(); !(Window{}).Next(now).Equal(now) || !(Window{}).IsZero() {
		t.Error("no window is not open")
	}
}
