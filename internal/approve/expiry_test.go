package approve

import (
	"testing"
	"time"
)

func TestParseExpiry(t *testing.T) {
	now := time.Date(2026, 11, 2, 3, 4, 5, 6, time.UTC)
	for text, want := range map[string]time.Duration{
		"8h": 8 * time.Hour, "3d": 72 * time.Hour, "90d": 90 * 24 * time.Hour, "2026-11-03T03:04:05Z": 24 * time.Hour,
		"91d": 0, "-1h": 0, "0s": 0, "d": 0, "1.5d": 0, "tomorrow": 0, "2026-11-01T00:00:00Z": 0, "": 0,
	} {
		until, err := ParseExpiry(text, now)
		if (err == nil) != (want > 0) || err == nil && !until.Equal(now.Add(want).Truncate(time.Second)) {
			t.Errorf("%q: %s, %v", text, until, err)
		}
	}
}
