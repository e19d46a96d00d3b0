package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/flock"
	"weft/internal/hint"
	"weft/internal/outfile"
	"weft/internal/report"
	"weft/internal/slice"
	"weft/internal/view"
	"weft/inventory"
)

// keptFacts are what devices have said last, for the report, which asks nobody.
type keptFacts struct {
	Simulated bool                  `json:"simulated"` // by the lab
	Devices   map[string]deviceTold `json:"devices"`
}

// deviceTold is what a device has said, as tables of factTables.
type deviceTold struct {
	Time    time.Time    `json:"time"`
	Tables  []view.Table `json:"tables"`
	Against []string     `json:"against,omitempty"` // what speaks against the files
}

// results are what commands keep for weft report.
type results struct {
	opts *options
}

// lastFacts is where that is kept.
func (re *results) lastFacts() string { return filepath.Join(re.opts.dir, ".weft", "facts.json") }

// keepFacts keeps what devices have said, beside what others said before; what stands there
// of the lab is not of real devices, nor the other way round. A file that cannot be read is
// begun anew. Of two that keep at once one waits, so that neither's devices are lost.
func (re *results) keepFacts(list []told) error {
	if err := os.MkdirAll(filepath.Dir(re.lastFacts()), 0o700); err != nil {
		return err
	}
	lock, err := flock.Open(re.lastFacts() + ".lock")
	if err != nil {
		return err
	}
	defer flock.Release(lock)
	if err := flock.Wait(lock); err != nil {
		return fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	kept, err := re.readFacts()
	if err != nil {
		kept = &keptFacts{Simulated: re.opts.lab, Devices: map[string]deviceTold{}}
	}
	for _, t := range list {
		if t.err != nil {
			continue
		}
		tables, remarks, _ := factTables([]told{t})
		d := deviceTold{Time: time.Now().UTC(), Tables: tables}
		d.Against = slice.Map(remarks, func(r view.Remark) string { return t.device + ": " + r.Text })
		kept.Devices[t.device] = d
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return outfile.Write(context.Background(), re.lastFacts(), text, outfile.Options{Secret: true})
}

// readFacts reads what is kept; nothing is kept of the lab where real devices are asked for,
// nor the other way round.
func (re *results) readFacts() (*keptFacts, error) {
	kept := &keptFacts{Simulated: re.opts.lab, Devices: map[string]deviceTold{}}
	text, err := os.ReadFile(re.lastFacts())
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err != nil {
		return nil, err
	}
	var was keptFacts
	if err := json.Unmarshal(text, &was); err != nil {
		return nil, hint.Wrap(fmt.Errorf("%s is damaged: %w", re.lastFacts(), err), "have devices tell it again: weft facts")
	}
	if was.Simulated == re.opts.lab && was.Devices != nil {
		kept = &was
	}
	return kept, nil
}

// hardware is what devices of the files have said last; nil: none has.
func (re *results) hardware(m *inventory.Model) (*report.Hardware, error) {
	kept, err := re.readFacts()
	if err != nil {
		return nil, err
	}
	tables, _, _ := factTables(nil)
	h := &report.Hardware{Tables: tables}
	var asked []string
	for _, s := range m.Switches {
		if !s.Unmanaged {
			asked = append(asked, s.Addr)
		}
	}
	for _, s := range m.Servers {
		asked = append(asked, s.Addr)
	}
	for _, device := range asked {
		d, ok := kept.Devices[device]
		if !ok {
			h.Unasked = append(h.Unasked, device)
			continue
		}
		if h.From.IsZero() || d.Time.Before(h.From) {
			h.From = d.Time
		}
		if d.Time.After(h.To) {
			h.To = d.Time
		}
		h.Against = append(h.Against, d.Against...)
		for _, t := range d.Tables {
			file(h.Tables, t)
		}
	}
	if len(h.Unasked) == len(asked) {
		return nil, nil
	}
	for i := range h.Tables {
		for k, word := range h.Tables[i].Head {
			h.Tables[i].Head[k] = strings.ToLower(word)
		}
	}
	return h, nil
}

// file puts rows that were kept under the columns that tables have today, by their names: a
// file may be of a weft with other tables and columns. What has no column is not shown, and
// a column that was not kept is empty.
func file(tables []view.Table, kept view.Table) {
	for i := range tables {
		t := &tables[i]
		if len(kept.Head) == 0 || t.Head[0] != kept.Head[0] {
			continue
		}
		for _, was := range kept.Rows {
			row := make([]string, len(t.Head))
			for k, name := range t.Head {
				if at := slices.Index(kept.Head, name); at >= 0 && at < len(was) {
					row[k] = was[at]
				}
			}
			t.Rows = append(t.Rows, row)
		}
	}
}

// lastVerify is where the last verification is kept, for the report.
func (re *results) lastVerify() string { return filepath.Join(re.opts.dir, ".weft", "verify.json") }

// lastFailover is where the last failover is kept, for the report.
func (re *results) lastFailover() string { return filepath.Join(re.opts.dir, ".weft", "failover.json") }
