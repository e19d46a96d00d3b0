package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/store"
	"weft/plan"
	"weft/plan/rollout"
)

// legacy is where wefts before the store have kept runs: a folder for each.
func (r *Records) legacy() string { return filepath.Join(r.place, ".weft", "runs") }

func (r *Records) legacyBaseline(simulated bool) string {
	return filepath.Join(r.place, ".weft", map[bool]string{false: "baseline.json", true: "baseline-lab.json"}[simulated])
}

// older reports whether there is anything of an older weft that is not in the store.
func (r *Records) older() bool {
	return isDir(r.legacy()) || !isDir(r.root()) && (isFile(r.legacyBaseline(false)) || isFile(r.legacyBaseline(true)))
}

// bring takes the runs of an older weft into the store, and gives their folder another
// name: that weft does not find them any more, and the marks on the devices tell it
// whose they are. It may be cut off at any point and begin again.
func (r *Records) bring(ctx context.Context, s store.Store) error {
	if r.holding == nil { // else this process keeps others out already
		lock, err := Hold(r.place) // older wefts take the same
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	for _, simulated := range []bool{false, true} {
		if err := r.bringBaseline(ctx, s, simulated); err != nil {
			return err
		}
	}
	if !isDir(r.legacy()) { // there was none, or another was quicker
		return nil
	}
	names, err := filepath.Glob(filepath.Join(r.legacy(), "*"))
	if err != nil {
		return err
	}
	for _, dir := range names {
		if err := r.bringRun(ctx, s, dir); err != nil {
			return hint.Wrap(fmt.Errorf("take the run of an older weft into the store: %s: %w", dir, err), "move that folder away to leave it out")
		}
	}
	to := r.legacy() + ".imported"
	for n := 2; isDir(to); n++ {
		to = fmt.Sprintf("%s.imported-%d", r.legacy(), n)
	}
	return os.Rename(r.legacy(), to)
}

func (r *Records) bringBaseline(ctx context.Context, s store.Store, simulated bool) error {
	b := new(prove.Baseline)
	there, err := readJSON(r.legacyBaseline(simulated), b)
	if err != nil || !there {
		return nil // one that cannot be read is measured again
	}
	if there, err := getLarge(ctx, s, keyBaseline(simulated), new(prove.Baseline)); err != nil || there {
		return err
	}
	return putLarge(ctx, s, keyBaseline(simulated), b)
}

// bringRun takes one in; the head comes last.
func (r *Records) bringRun(ctx context.Context, s store.Store, dir string) error {
	id := filepath.Base(dir)
	if plan.RunBegan(id).IsZero() {
		return nil // no run
	}
	if _, err := s.Get(ctx, keyRun(id)); err == nil || !errors.As(err, new(*store.NotFoundError)) {
		return err
	}
	h := &Head{Format: headFormat, ID: id, Begun: plan.RunBegan(id), State: Closed, Why: "an older weft kept no more of it than the journal", Changed: time.Now().UTC()}
	rec := &Record{Head: h, Run: &rollout.Run{}, records: r, store: s, kept: map[string]keptDoc{}}
	at := func(name string) string { return filepath.Join(dir, name) }
	raw, err := os.ReadFile(at("rollout.json"))
	if err == nil {
		err = rec.bringRollout(ctx, raw, dir)
	} else if absent(err) {
		err = nil
	}
	if err == nil {
		err = rec.bringMark(ctx, at("mark.json"))
	}
	if err == nil {
		err = rec.bringMeasured(ctx, at("measured"))
	}
	if err != nil {
		return err
	}
	if err := bringLoose(ctx, s, id, at); err != nil {
		return err
	}
	if rec.Plain() && h.Owner == "" && !isFile(at("journal.jsonl")) {
		return nil // it only says that a run was abandoned
	}
	text, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = s.Create(ctx, keyRun(id), text)
	return err
}

// bringLoose takes in what needs no understanding; at says where a file of the run is.
func bringLoose(ctx context.Context, s store.Store, id string, at func(string) string) error {
	for key, name := range map[string]string{keyAbandoned(id): "abandoned.json", keyRecord(id, "counters"): "counters.json", keyPause(id): "pause"} {
		text, err := os.ReadFile(at(name))
		if err == nil && name == "pause" {
			text, err = json.Marshal(map[string]string{"by": strings.TrimSpace(string(text))})
		}
		if err == nil {
			err = putLarge(ctx, s, key, json.RawMessage(text))
		}
		if err != nil && !absent(err) {
			return err
		}
	}
	for folder, name := range map[string]string{"journal": "journal.jsonl", "soak": "soak.jsonl"} {
		text, err := os.ReadFile(at(name))
		if err != nil && !absent(err) {
			return err
		}
		n := 0
		for part := range slices.Chunk(text, maxPiece) {
			if err := put(ctx, s, piece(keyRecord(id, folder, id), n), part); err != nil {
				return err
			}
			n++
		}
	}
	return nil
}

// bringRollout takes in how far a rollout has come, with its plan.
func (r *Record) bringRollout(ctx context.Context, raw []byte, dir string) error {
	name := filepath.Join(dir, "plan.weftplan")
	if err := owned(dir, name, filepath.Join(dir, "rollout.json")); err != nil {
		return err
	}
	run, err := rollout.Read(raw)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if r.Head.Plan, err = r.store.PutBlob(ctx, bytes.NewReader(text)); err != nil {
		return err
	}
	r.Rollout, r.Owner, r.Simulated, r.Begun = run.Rollout, run.Owner, run.Simulated, run.Begun
	r.put(run)
	r.Run = run
	docs, err := r.changed()
	if err != nil {
		return err
	}
	for key, text := range docs {
		if err := put(ctx, r.store, key, text); err != nil {
			return err
		}
	}
	return nil
}

func (r *Record) bringMark(ctx context.Context, path string) error {
	m := &Marking{records: r.records, store: r.store}
	there, err := readJSON(path, m)
	if err != nil || !there {
		return err
	}
	r.Who = m.Mark.Who
	if r.Plain() { // the lab's or not: only its journal says
		text, err := os.ReadFile(filepath.Join(filepath.Dir(path), "journal.jsonl"))
		if err != nil && !absent(err) {
			return err
		}
		r.Owner, r.Simulated = m.Mark.Owner, bytes.Contains(text, []byte(`"simulated":true`))
		if !m.Over {
			r.State, r.Why = rollout.Running, ""
		}
	}
	m.Simulated = r.Simulated
	return m.save(ctx)
}

func (r *Record) bringMeasured(ctx context.Context, dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return err
	}
	for _, name := range names {
		var k Kept
		if _, err := readJSON(name, &k); err != nil {
			return err
		}
		if err := r.measured(ctx, strings.TrimSuffix(filepath.Base(name), ".json"), k); err != nil {
			return err
		}
	}
	return nil
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
