package run

import (
	"io"
	"strings"
	"testing"
	"time"
)

// Entries of a site's journal about devices of other sites do not count, and are reported.
func TestSiteJournal(t *testing.T) {
	t.Parallel()
	a := attack(t)
	ctx := within(t)
	if err := a.rec.placeDevices(ctx, map[string]string{"a": "dc1", "b": "dc2"}, []string{"a", "b"}); err != nil {
		t.Fatal(err)
	}
	const line = `{"time":"2026-11-29T02:00:00Z","device":"%","do":"step","state":"done","id":"x"}` + "\n"
	text := strings.ReplaceAll(line, "%", "a") + strings.ReplaceAll(line, "%", "b") + "nonsense\n" + strings.ReplaceAll(line, "%", "b") + strings.ReplaceAll(line, "%", "nowhere")
	if err := put(ctx, a.rec.store, piece(keySite(a.rec.ID, "dc1")+"/journal/s", 0), []byte(text)); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		t.Helper()
		journal, err := a.rec.Journal(ctx)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(journal)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if got := read(); strings.Count(got, `"device":"a"`) != 1 || strings.Contains(got, `"device":"b"`) || !strings.Contains(got, "3 entries of its workers are about devices of other sites and do not count: b, nowhere") {
		t.Errorf("%s", got)
	}
	list, err := a.rec.records.ChangedSince(ctx, time.Time{}, false)
	if err != nil || len(list) != 1 || list[0] != "a" {
		t.Errorf("%q have changed: %v", list, err)
	}
	if err := remove(ctx, a.rec.store, keyRecord(a.rec.ID, "sites")); err != nil { // of an older weft
		t.Fatal(err)
	}
	if got := read(); strings.Count(got, `"device":"b"`) != 2 {
		t.Errorf("%s", got)
	}
}
