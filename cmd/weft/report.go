package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"weft/internal/hint"
	"weft/internal/report"
	"weft/internal/view"
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
	limits := limits{thresholds: thresholds(m)}
	r := &report.Report{Weft: version(), Owner: m.Name, Simulated: a.lab, Made: time.Now().UTC()}
	dir, run, err := a.reported(args)
	if err != nil {
		return nil, err
	}
	if run != nil {
		r.Run = run
		if err := tellRun(r, dir, &limits); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{a.lastVerify(), a.lastFailover()} {
		var last kept
		there, err := readJSON(name, &last)
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
	if !last.Stands(sumOf(m)) {
		text = append(text, "The files, or their variables, have changed since that was measured: measure again with weft verify.")
	}
	journals, err := filepath.Glob(filepath.Join(a.runs(), "*", journalFile))
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
		text = append(text, fmt.Sprintf("Changed since that was measured: %s. Measure again with weft verify.", few(devices, ", ")))
	}
	return text, nil
}

// sumOf is a sum of what the files of a model say, with the variables that are not
// secret.
func sumOf(m *inventory.Model) string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(m.Sources)) {
		fmt.Fprintf(h, "%q %q\n", name, m.Sources[name])
	}
	for _, name := range slices.Sorted(maps.Keys(m.Inputs)) {
		fmt.Fprintf(h, "%q %s\n", name, m.Inputs[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}

// reported is the run that is told: the one that is named, or the latest.
func (a *app) reported(args []string) (dir string, run *rollout.Run, err error) {
	if len(args) == 0 {
		return a.latest()
	}
	dir = filepath.Join(a.runs(), filepath.Base(args[0]))
	raw, err := os.ReadFile(filepath.Join(dir, runFile))
	if err == nil {
		run, err = rollout.Read(raw)
	}
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", nil, a.noSuchRun(args[0])
	case err != nil:
		return "", nil, fmt.Errorf("the run %s: %w", args[0], err)
	case run.Simulated != a.lab:
		return "", nil, usage(fmt.Errorf("the run %s was made with --lab=%t", args[0], run.Simulated))
	}
	return dir, run, nil
}

// noSuchRun says which runs of rollouts are kept instead, the latest of them.
func (a *app) noSuchRun(name string) error {
	err := fmt.Errorf("no run %q is kept in %s", name, a.runs())
	kept, _ := filepath.Glob(filepath.Join(a.runs(), "*", runFile)) // the pattern is a good one
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
	p, err := readPlan(filepath.Join(dir, planFile))
	if err != nil {
		return err
	}
	p.Steps = slices.DeleteFunc(p.Steps, func(s plan.PlannedStep) bool { return !r.Run.Has(s.Phase) }) // of apply --phase
	r.Plan = report.Of(p)
	files, err := filepath.Glob(filepath.Join(dir, measuredDir, "*.json"))
	if err != nil {
		return err
	}
	for _, name := range files {
		var k kept
		if _, err := readJSON(name, &k); err != nil {
			return err
		}
		if k.Result != nil {
			limits.of(k)
			r.Measured = append(r.Measured, report.Measured{Phase: k.Phase, Recorded: k.Recorded, After: k.After, Validations: k.Validations, Time: k.Time, Files: k.Files, Result: k.Result})
		}
	}
	f, err := os.Open(filepath.Join(dir, soakFile))
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
		var s report.Sample
		if json.Unmarshal(in.Bytes(), &s) == nil { // the last line of a weft that was killed may be cut off
			r.Soak = append(r.Soak, s)
		}
	}
	return in.Err()
}

// made is the text of a limit that uses observed values.
func made(m *inventory.Model, x *inventory.Metric) string {
	if x.Limit == nil {
		return ""
	}
	at := x.Limit.Range()
	return string(at.SliceBytes(m.Sources[at.Filename]))
}

// limits are those that the latest measurement was held against: the files and
// their variables may be others by now.
type limits struct {
	thresholds []report.Threshold
	time       time.Time
}

func (l *limits) of(k kept) {
	if k.Thresholds != nil && k.Time.After(l.time) {
		l.thresholds, l.time = k.Thresholds, k.Time
	}
}

// thresholds are the limits that the files set, with their places.
func thresholds(m *inventory.Model) []report.Threshold {
	var out []report.Threshold
	for _, v := range m.Validations {
		for _, x := range v.Metrics {
			probe := v.Probe
			if probe == "nvme-read" || x.Source != "" {
				probe = ""
			}
			out = append(out, report.Threshold{Probe: probe, Validation: v.Name, Metric: x.Name, Size: x.Size, Source: x.Source, Unit: x.Unit, HasMax: x.HasMax, Max: x.Max,
				Duration: x.Duration, Made: made(m, x), Regression: x.Regression, Place: view.Place(x.Range)})
		}
	}
	return out
}
