package main

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

	"weft/internal/hint"
	"weft/internal/run"
	"weft/plan"
)

// A marking is the record of a run's mark, in the folder of the run: whoever has
// it goes on with the run, and takes the mark away when the run has ended.
type marking struct {
	Mark    plan.Mark `json:"mark"`
	Devices []string  `json:"devices"`        // that carry the mark, or may
	Made    bool      `json:"made"`           // all of them do
	Over    bool      `json:"over,omitempty"` // the run has ended; the mark may be left on devices that were away

	dir string // of the run
}

// markFile is the record's name.
const markFile = "mark.json"

// readMarking reads the record in the folder of a run; nil: there is none.
func readMarking(dir string) (*marking, error) {
	raw, err := os.ReadFile(filepath.Join(dir, markFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := &marking{dir: dir}
	if err == nil {
		err = json.Unmarshal(raw, m)
	}
	if err != nil {
		return nil, fmt.Errorf("the record of a run's mark: %s: %w", filepath.Join(dir, markFile), err)
	}
	return m, nil
}

// markings are the records in this directory.
func (a *app) markings() ([]*marking, error) {
	names, err := filepath.Glob(filepath.Join(a.runs(), "*", markFile))
	if err != nil {
		return nil, err
	}
	var list []*marking
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

// mine reports whether the record of a run is in this directory, or the run is
// taken over. Switches keep no token: their marks are known by the run's name.
func (a *app) mine(m plan.Mark) bool {
	if a.takes != "" && m.Run == a.takes {
		return true
	}
	if plan.RunBegan(m.Run).IsZero() {
		return false // its name is none of ours, and nothing to look for in a folder
	}
	mine, err := readMarking(filepath.Join(a.runs(), m.Run))
	return err == nil && mine != nil && (m.Token == "" || m.Token == mine.Mark.Token)
}

// mark leaves the mark of a run on devices, before its first step; of the mark,
// what it says of the run's plan is given. The record is there before the first
// mark: whoever is killed meanwhile can take away what stands. A mark that stands
// already stays.
func (p *project) mark(ctx context.Context, a *app, dir string, of plan.Mark, devices []string) (*marking, error) {
	m, err := readMarking(dir)
	if err != nil || m != nil && m.Made && !m.Over {
		return m, err
	}
	of.Format, of.Run, of.Owner, of.Who, of.Token = plan.MarkFormat, filepath.Base(dir), p.model.Name, run.Holder().Who, rand.Text()
	of.Since = time.Now().UTC()
	if m != nil { // some of it may stand
		of.Token = m.Mark.Token
	}
	m = &marking{Mark: of, Devices: devices, dir: dir}
	if err := m.save(); err != nil {
		return nil, err
	}
	if err := p.recalled(ctx, m.Devices); err != nil {
		return nil, err
	}
	left, err := p.input.SetMarks(ctx, m.Mark, m.Devices)
	if err != nil {
		return nil, errors.Join(&codeError{applied(&plan.Result{}, err), err}, m.cleared(left))
	}
	m.Made = true
	if err := m.save(); err != nil {
		return nil, err
	}
	return m, a.succeed(ctx, p, m)
}

// markPlan marks the devices of a plan that is carried out at once: a run of one
// phase.
func (p *project) markPlan(ctx context.Context, a *app, dir string, made *plan.Plan) (*marking, error) {
	digest, err := made.Digest()
	if err != nil {
		return nil, err
	}
	m, err := p.mark(ctx, a, dir, plan.Mark{Plan: digest}, changed(made.Steps))
	if err != nil {
		return nil, err
	}
	p.input.Mark = &m.Mark
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
func (p *project) recalled(ctx context.Context, devices []string) error {
	if !slices.ContainsFunc(devices, func(name string) bool { return p.input.Devices[name] == nil }) {
		return nil
	}
	in := p.input
	in.Select.Only = []plan.ID{}
	for _, d := range devices {
		in.Select.Only = append(in.Select.Only, plan.ID{Device: d, Kind: plan.LedgerKind, Name: "revert"})
	}
	_, err := plan.Make(ctx, in)
	return err
}

// end takes the mark away: the run has ended. Devices that are away keep it, and
// whoever works in this directory next tries again.
func (m *marking) end(ctx context.Context, a *app, p *project) error {
	m.Over = true
	if err := m.save(); err != nil {
		return err
	}
	left := p.input.ClearMarks(context.WithoutCancel(ctx), m.Mark, m.Devices)
	if len(left) > 0 {
		a.emit(plan.Event{Type: plan.EventDiagnostic, Level: "warn", Message: fmt.Sprintf(
			"the mark of run %s could not be taken away from %s: the next weft apply here tries again, and weft unlock --force does it from anywhere", m.Mark.Run, strings.Join(left, ", ")),
			Data: map[string]any{"marked": left}})
	}
	return m.cleared(left)
}

// cleared keeps on which devices the mark of a run that has ended may be left.
func (m *marking) cleared(left []string) error {
	if m.Devices, m.Over = left, true; len(left) > 0 {
		return m.save()
	}
	if err := os.Remove(filepath.Join(m.dir, markFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("the record of a run's mark: %w", err)
	}
	return nil
}

// folder makes the folder of the run.
func (m *marking) folder() error {
	if err := os.MkdirAll(m.dir, 0o700); err != nil {
		return fmt.Errorf("the record of a run's mark: %w", err)
	}
	return nil
}

func (m *marking) save() error {
	if err := m.folder(); err != nil {
		return err
	}
	return writeSynced(filepath.Join(m.dir, markFile), m)
}

// sweep takes away what runs of this directory have left behind that ended, or
// were killed and are not gone on with: those without a rollout. Whoever calls
// holds the directory; now is its own run, or "".
func (a *app) sweep(ctx context.Context, p *project, now string) error {
	list, err := a.markings()
	if err != nil {
		return err
	}
	for _, m := range list {
		r, err := readRun(m.dir)
		if m.Mark.Run == now || err == nil && !r.State.Over() {
			continue // weft rollout goes on with it
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err := m.end(ctx, a, p); err != nil {
			return err
		}
	}
	return nil
}

// idle takes away what runs have left behind, where there is nothing else to do.
func (a *app) idle(ctx context.Context, p *project) error {
	if list, err := a.markings(); err != nil || len(list) == 0 {
		return err
	}
	held, err := run.Hold(a.place())
	if err != nil {
		return err
	}
	defer held.Close()
	return a.sweep(ctx, p, "")
}

// elsewhere is why there is no run here to go on with: one of the same owner that
// was begun elsewhere is on its way. What cannot be asked says nothing.
func (a *app) elsewhere(ctx context.Context) error {
	m, diags, err := a.parse(os.DirFS(a.dir), nil)
	if err != nil || diags.HasErrors() {
		return nil
	}
	p, err := a.reach(m)
	if err != nil {
		return nil
	}
	defer p.Close()
	for _, mark := range a.standing(ctx, p) {
		if mark.Owner == m.Name {
			return &codeError{exitHeld, hint.Wrap(plan.NewMarkedError(mark.device, mark.Mark), "go on with it where it was begun: its record is in .weft/runs there; if it will not be: weft apply --takeover=%s", mark.Run)}
		}
	}
	return nil
}

// A standingMark is a mark of somebody else's run on a device.
type standingMark struct {
	plan.Mark
	device string
}

// standing asks all devices whose runs they belong to, and returns what is not
// ours, in the order of the roster.
func (a *app) standing(ctx context.Context, p *project) []standingMark {
	devices, err := p.choose(nil)
	if err != nil {
		return nil
	}
	found := make([][]plan.Mark, len(devices))
	a.each(ctx, devices, "looking for marks of runs", func(ctx context.Context, i int, device string) {
		if d, err := plan.As[plan.Marker](p.fleet.Devices, device, "carries no marks of runs"); err == nil {
			found[i], _ = d.ReadMarks(ctx) // whoever asks for more hears that it is away
		}
	})
	var list []standingMark
	for i, marks := range found {
		for _, m := range marks {
			if !a.mine(m) {
				list = append(list, standingMark{m, devices[i]})
			}
		}
	}
	return list
}

// warnMarked says whose runs devices belong to.
func (a *app) warnMarked(ctx context.Context, p *project) {
	for _, m := range a.standing(ctx, p) {
		a.emit(plan.Event{Type: plan.EventDiagnostic, Level: "warn", Device: m.device,
			Message: fmt.Sprintf("%s belongs to %s: what is measured may change under it", m.device, m.Text()), Data: map[string]any{"mark": m.Mark}})
	}
}
