package run

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"weft/internal/store"
	"weft/internal/text"
)

// The workers of a site may write anything in the folder of their journal. The leader keeps
// where they cannot write which devices are at which site: entries about others do not count.

// placeDevices keeps the sites of devices.
func (r *Record) placeDevices(ctx context.Context, of map[string]string, devices []string) error {
	at := make(map[string]string, len(devices))
	for _, d := range devices {
		at[d] = of[d]
	}
	return r.records.trouble(putLarge(ctx, r.store, keyRecord(r.ID, "sites"), at))
}

// placedDevices are the sites of devices; nil: an older weft began the run.
func (r *Records) placedDevices(ctx context.Context, s store.Store, id string) (of map[string]string, err error) {
	_, err = getLarge(ctx, s, keyRecord(id, "sites"), &of)
	if errors.As(err, new(*store.NotFoundError)) {
		err = nil
	}
	return of, r.trouble(err)
}

// ownEntries are the entries of a site's journal that are about its devices. If others were
// left out, the last entry says so.
func ownEntries(journal io.Reader, site string, of map[string]string) io.Reader {
	var out bytes.Buffer
	var others []string
	seen, left, latest := map[string]bool{}, 0, time.Time{}
	in := bufio.NewReader(journal)
	for {
		line, err := in.ReadBytes('\n')
		var e JournalEntry
		switch {
		case json.Unmarshal(line, &e) != nil: // cut off, or nonsense
		case of[e.Device] == site:
			out.Write(line)
			latest = e.Time
		default:
			if left++; !seen[e.Device] && len(seen) < mostTold {
				seen[e.Device] = true
				others = append(others, clip(e.Device))
			}
		}
		if err != nil {
			break
		}
	}
	if left > 0 {
		line, err := json.Marshal(JournalEntry{Time: latest, Device: "site " + site, Do: "journal", State: "failed",
			Error: fmt.Sprintf("%d entries of its workers are about devices of other sites and do not count: %s", left, text.Few(others, ", "))})
		if err == nil {
			out.Write(append(line, '\n'))
		}
	}
	return &out
}
