package run

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"weft/plan"
)

// A Marking is the record of a run's mark, in the folder of the run: whoever has
// it goes on with the run, and takes the mark away when the run has ended.
type Marking struct {
	Mark    plan.Mark `json:"mark"`
	Devices []string  `json:"devices"`        // that carry the mark, or may
	Made    bool      `json:"made"`           // all of them do
	Over    bool      `json:"over,omitempty"` // the run has ended; the mark may be left on devices that were away

	dir string // of the run
}

// readMarking reads the record in the folder of a run; nil: there is none.
func readMarking(dir string) (*Marking, error) {
	raw, err := os.ReadFile(filepath.Join(dir, markFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := &Marking{dir: dir}
	if err == nil {
		err = json.Unmarshal(raw, m)
	}
	if err != nil {
		return nil, fmt.Errorf("the record of a run's mark: %s: %w", filepath.Join(dir, markFile), err)
	}
	return m, nil
}

// markings are those of all runs.
func (r *Records) markings() ([]*Marking, error) {
	names, err := r.files(markFile)
	if err != nil {
		return nil, err
	}
	var list []*Marking
	for _, name := range names {
		m, err := readMarking(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		if m != nil {
			list = append(list, m)
		}
	}
	return list, nil
}

// Mine reports whether the record of a run is among them, or the run is taken
// over. Switches keep no token: their marks are known by the run's name.
func (r *Records) Mine(m plan.Mark) bool {
	if r.takes != "" && m.Run == r.takes {
		return true
	}
	if plan.RunBegan(m.Run).IsZero() {
		return false // its name is none of ours, and nothing to look for in a folder
	}
	mine, err := readMarking(r.Folder(m.Run))
	return err == nil && mine != nil && (m.Token == "" || m.Token == mine.Mark.Token)
}

// mark leaves the mark of a run on devices, before its first step; of the mark,
// what it says of the run's plan is given. The record is there before the first
// mark: whoever is killed meanwhile can take away what stands. A mark that stands
// already stays.
func (r *Records) mark(ctx context.Context, in *plan.Input, dir string, of plan.Mark, devices []string) (*Marking, error) {
	m, err := readMarking(dir)
	if err != nil || m != nil && m.Made && !m.Over {
		return m, err
	}
	of.Format, of.Run, of.Owner, of.Who, of.Token = plan.MarkFormat, filepath.Base(dir), in.Owner, Holder().Who, rand.Text()
	of.Since = time.Now().UTC()
	if m != nil { // some of it may stand
		of.Token = m.Mark.Token
	}
	m = &Marking{Mark: of, Devices: devices, dir: dir}
	if err := m.save(); err != nil {
		return nil, err
	}
	if err := recalled(ctx, *in, m.Devices); err != nil {
		return nil, err
	}
	left, err := in.SetMarks(ctx, m.Mark, m.Devices)
	if err != nil {
		return nil, errors.Join(ended(nil, err), m.cleared(left))
	}
	m.Made = true
	if err := m.save(); err != nil {
		return nil, err
	}
	return m, r.succeed(ctx, in, m)
}

// markPlan marks the devices of a plan that is carried out at once: a run of one
// phase.
func (r *Records) markPlan(ctx context.Context, in *plan.Input, dir string, made *plan.Plan) (*Marking, error) {
	digest, err := made.Digest()
	if err != nil {
		return nil, err
	}
	m, err := r.mark(ctx, in, dir, plan.Mark{Plan: digest}, changed(made.Steps))
	if err != nil {
		return nil, err
	}
	in.Mark = &m.Mark
	return m, nil
}

// changed are the devices of steps, in their order.
func changed(steps []plan.PlannedStep) []string {
	var list []string
	seen := map[string]bool{}
	for _, s := range steps {
		if !seen[s.ID.Device] {
			seen[s.ID.Device] = true
			list = append(list, s.ID.Device)
		}
	}
	return list
}

// recalled reaches devices of a plan that are not declared any more, which only
// the ledgers of others know.
func recalled(ctx context.Context, in plan.Input, devices []string) error {
	if !slices.ContainsFunc(devices, func(name string) bool { return in.Devices[name] == nil }) {
		return nil
	}
	in.Select.Only = []plan.ID{}
	for _, d := range devices {
		in.Select.Only = append(in.Select.Only, plan.ID{Device: d, Kind: plan.LedgerKind, Name: "revert"})
	}
	_, err := plan.Make(ctx, in)
	return err
}

// end takes the mark away: the run has ended. Devices that are away keep it, and
// whoever works in this directory next tries again.
func (m *Marking) end(ctx context.Context, in *plan.Input) error {
	m.Over = true
	if err := m.save(); err != nil {
		return err
	}
	left := in.ClearMarks(context.WithoutCancel(ctx), m.Mark, m.Devices)
	if len(left) > 0 {
		emit(in, plan.Event{Type: plan.EventDiagnostic, Level: "warn", Message: fmt.Sprintf(
			"the mark of run %s could not be taken away from %s: the next weft apply here tries again, and weft unlock --force does it from anywhere", m.Mark.Run, strings.Join(left, ", ")),
			Data: map[string]any{"marked": left}})
	}
	return m.cleared(left)
}

// cleared keeps on which devices the mark of a run that has ended may be left.
func (m *Marking) cleared(left []string) error {
	if m.Devices, m.Over = left, true; len(left) > 0 {
		return m.save()
	}
	if err := os.Remove(filepath.Join(m.dir, markFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the record of a run's mark: %w", err)
	}
	return nil
}

// folder makes the folder of the run.
func (m *Marking) folder() error {
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return fmt.Errorf("the record of a run's mark: %w", err)
	}
	return nil
}

func (m *Marking) save() error {
	if err := m.folder(); err != nil {
		return err
	}
	return writeSynced(filepath.Join(m.dir, markFile), m)
}

// sweep takes away what runs of this directory have left behind that ended, or
// were killed and are not gone on with: those without a rollout. Whoever calls
// holds the directory; now is its own run, or "".
func (r *Records) sweep(ctx context.Context, in *plan.Input, now string) error {
	list, err := r.markings()
	if err != nil {
		return err
	}
	for _, m := range list {
		run, err := readState(m.dir)
		if m.Mark.Run == now || err == nil && !run.State.Over() {
			continue // weft rollout goes on with it
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := m.end(ctx, in); err != nil {
			return err
		}
	}
	return nil
}

// emit tells of an event where somebody listens.
func emit(in *plan.Input, e plan.Event) {
	if in.Emit != nil {
		in.Emit(e)
	}
}
