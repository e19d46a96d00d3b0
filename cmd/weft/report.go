package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/report"
	"weft/internal/run"
	"weft/inventory"
	"weft/plan"
	"weft/plan/rollout"
)

func (a *app) reportCmd() *cobra.Command {
	var out []string
	cmd := &cobra.Command{
		Use: "report [RUN]", Short: "Write what a rollout did and what was measured", Args: counted(cobra.MaximumNArgs(1)),
		Long: `report tells the latest rollout of this directory, or the RUN of that name in
.weft/runs, and the last weft verify: phases and verdicts, latencies, pairs, before
and after, thresholds with where they come from, and the plan. It asks no device.

--out FILE writes it as its name says, and may be repeated: .html is one page that
is self-contained, .md Markdown, .xml JUnit, .json everything. Without --out it is
Markdown on stdout. With --lab it is about what was done in the lab, and says so.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			a.begin(cmd)
			r, err := a.tell(args)
			if err != nil {
				return err
			}
			if len(out) == 0 && !a.json {
				return r.Markdown(a.stdout)
			}
			for _, name := range out {
				if err := a.writeReport(r, name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&out, "out", "o", nil, "write to this file: .html, .md, .xml or .json; may be repeated")
	return cmd
}

// writeReport writes the face that the name of a file asks for.
func (a *app) writeReport(r *report.Report, name string) error {
	faces := map[string]func(io.Writer) error{".html": r.HTML, ".md": r.Markdown, ".xml": r.JUnit, ".json": r.JSON}
	face := faces[strings.ToLower(filepath.Ext(name))]
	if face == nil {
		return usage(fmt.Errorf("--out %s: the name of a report ends in .html, .md, .xml or .json", name))
	}
	var b bytes.Buffer
	if err := face(&b); err != nil {
		return err
	}
	path := name
	if !filepath.IsAbs(path) {
		path = filepath.Join(a.dir, path)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	a.emit(plan.Event{Type: plan.EventHeartbeat, Message: "wrote " + name, Data: map[string]any{"file": name, "bytes": b.Len(), "verdict": r.Verdict}})
	return nil
}

// tell puts a report together from what is kept in the directory.
func (a *app) tell(args []string) (*report.Report, error) {
	m, err := a.load()
	if err != nil {
		return nil, err
	}
	limits := limits{thresholds: run.Thresholds(m)}
	r := &report.Report{Weft: version(), Owner: m.Name, Simulated: a.lab, Made: time.Now().UTC()}
	dir, told, err := a.reported(args)
	if err != nil {
		return nil, err
	}
	if told != nil {
		r.Run = told
		if err := tellRun(r, dir, &limits); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{a.lastVerify(), a.lastFailover()} {
		var last run.Kept
		there, err := run.ReadKept(name, &last)
		if err != nil {
			return nil, err
		}
		if there && last.Simulated == a.lab && last.Result != nil {
			limits.of(last)
			r.Measured = append(r.Measured, report.Measured{Validations: last.Validations, Failover: name == a.lastFailover(), Time: last.Time, Files: last.Files, Result: last.Result})
		}
	}
	if r.Run == nil && len(r.Measured) == 0 {
		advice := "measure first: weft verify; what was done in the lab is told with --lab"
		if a.lab {
			advice = "measure first: weft --lab verify; what was done with real devices is told without --lab"
		}
		return nil, hint.Wrap(errors.New("there is nothing to report: no rollout and no verification of this directory is kept"), "%s", advice)
	}
	r.Thresholds = limits.thresholds
	r.Finish()
	if r.Since, err = a.since(r.Headline, m); err != nil {
		return nil, err
	}
	return r, nil
}

// since says what has changed since the last measurement: then its verdict is not
// about what there is now.
func (a *app) since(last *report.Headline, m *inventory.Model) (text []string, err error) {
	if last == nil {
		return nil, nil
	}
	if !last.Stands(run.SumOf(m)) {
		text = append(text, "The files, or their variables, have changed since that was measured: measure again with weft verify.")
	}
	journals, err := filepath.Glob(a.runs().Folder(filepath.Join("*", run.JournalFile)))
	if err != nil {
		return nil, err
	}
	var devices []string
	for _, name := range journals {
		if info, err := os.Stat(name); err == nil && info.ModTime().Before(last.Time) {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		more, err := plan.ChangedSince(f, last.Time, a.lab)
		if err = errors.Join(err, f.Close()); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		devices = append(devices, more...)
	}
	slices.Sort(devices)
	if devices = slices.Compact(devices); len(devices) > 0 {
		text = append(text, fmt.Sprintf("Changed since that was measured: %s. Measure again with weft verify.", hint.Few(devices, ", ")))
	}
	return text, nil
}

// reported is the run that is told: the one that is named, or the latest.
func (a *app) reported(args []string) (dir string, r *rollout.Run, err error) {
	if len(args) == 0 {
		latest, err := a.runs().Latest(a.lab)
		if latest == nil {
			return "", nil, err
		}
		return latest.Dir, latest.Run, nil
	}
	dir = a.runs().Folder(filepath.Base(args[0]))
	raw, err := os.ReadFile(filepath.Join(dir, run.StateFile))
	if err == nil {
		r, err = rollout.Read(raw)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil, a.noSuchRun(args[0])
	case err != nil:
		return "", nil, fmt.Errorf("the run %s: %w", args[0], err)
	case r.Simulated != a.lab:
		return "", nil, usage(fmt.Errorf("the run %s was made with --lab=%t", args[0], r.Simulated))
	}
	return dir, r, nil
}

// noSuchRun says which runs of rollouts are kept instead, the latest of them.
func (a *app) noSuchRun(name string) error {
	err := fmt.Errorf("no run %q is kept in %s", name, a.runs().Dir())
	kept, _ := filepath.Glob(a.runs().Folder(filepath.Join("*", run.StateFile))) // the pattern is a good one
	if len(kept) == 0 {
		return hint.Wrap(err, "weft apply keeps one where the files hold a rollout")
	}
	slices.Sort(kept)
	const shown = 5
	var latest []string
	for _, path := range slices.Backward(kept[max(0, len(kept)-shown):]) {
		latest = append(latest, filepath.Base(filepath.Dir(path)))
	}
	return hint.Wrap(err, "the latest of %d: %s", len(kept), strings.Join(latest, ", "))
}

// tellRun adds what is kept of a run.
func tellRun(r *report.Report, dir string, limits *limits) error {
	p, err := run.ReadPlan(filepath.Join(dir, run.PlanFile))
	if err != nil {
		return err
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s plan.PlannedStep) bool { return !r.Run.Has(s.Phase) }) // of apply --phase
	r.Plan = report.Of(p)
	files, err := filepath.Glob(filepath.Join(dir, run.MeasuredDir, "*.json"))
	if err != nil {
		return err
	}
	for _, name := range files {
		var k run.Kept
		if _, err := run.ReadKept(name, &k); err != nil {
			return err
		}
		if k.Result != nil {
			limits.of(k)
			r.Measured = append(r.Measured, report.Measured{Phase: k.Phase, Recorded: k.Recorded, After: k.After, Validations: k.Validations, Time: k.Time, Files: k.Files, Result: k.Result})
		}
	}
	f, err := os.Open(filepath.Join(dir, run.SoakFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var s prove.Look
		if json.Unmarshal(in.Bytes(), &s) == nil { // the last line of a weft that was killed may be cut off
			r.Soak = append(r.Soak, s)
		}
	}
	return in.Err()
}

// limits are those that the latest measurement was held against: the files and
// their variables may be others by now.
type limits struct {
	thresholds []prove.Threshold
	time       time.Time
}

func (l *limits) of(k run.Kept) {
	if k.Thresholds != nil && k.Time.After(l.time) {
		l.thresholds, l.time = k.Thresholds, k.Time
	}
}
