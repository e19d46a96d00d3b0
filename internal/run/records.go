package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"weft/internal/hint"
	"weft/plan"
	"weft/plan/rollout"
)

// Records are the runs that are kept in a directory, each in a folder of its own.
// Whoever has the record of a run goes on with it.
type Records struct {
	dir   string
	takes string     // the run that is taken over, if one is
	taken *Abandoned // it, until that is recorded
}

// In are the records of a directory: place/.weft/runs.
func In(place string) *Records { return &Records{dir: filepath.Join(place, ".weft", "runs")} }

// What is kept of a run.
const (
	StateFile   = "rollout.json" // how far it has come; without a rollout there is none
	JournalFile = "journal.jsonl"
	PlanFile    = "plan.weftplan" // that was approved
	pauseFile   = "pause"         // somebody asked for a pause
	markFile    = "mark.json"
)

// Dir is the directory that holds the folders of the runs.
func (r *Records) Dir() string { return r.dir }

// Folder is that of a run.
func (r *Records) Folder(id string) string { return filepath.Join(r.dir, id) }

// A Record is what is kept of the run of a rollout.
type Record struct {
	Run *rollout.Run // how far it has come
	Dir string       // its folder
}

// Unfinished finds the latest run of a rollout that is not over, among those of
// the lab or of the real devices; nil: there is none.
func (r *Records) Unfinished(simulated bool) (*Record, error) {
	latest, err := r.Latest(simulated)
	if latest == nil || latest.Run.State.Over() {
		return nil, err
	}
	return latest, nil
}

// Latest finds the latest run of a rollout; nil: there is none.
func (r *Records) Latest(simulated bool) (*Record, error) {
	names, err := r.files(StateFile)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Backward(names) {
		run, err := readState(filepath.Dir(name))
		if err != nil {
			return nil, err
		}
		if run.Simulated == simulated {
			return &Record{run, filepath.Dir(name)}, nil
		}
	}
	return nil, nil
}

// files are those of all runs that have a name, the oldest first.
func (r *Records) files(name string) ([]string, error) {
	names, err := filepath.Glob(filepath.Join(r.dir, "*", name))
	slices.Sort(names)
	return names, err
}

// Plan reads the plan that the run carries out.
func (r *Record) Plan() (*plan.Plan, error) { return ReadPlan(filepath.Join(r.Dir, PlanFile)) }

// Hold asks the run to stop before it touches anything more, whoever is at work
// on it.
func (r *Record) Hold(by string) error {
	if err := os.WriteFile(filepath.Join(r.Dir, pauseFile), []byte(by+"\n"), 0o600); err != nil {
		return fmt.Errorf("pause: %w", err)
	}
	return nil
}

// readState reads how far a run has come, from its folder.
func readState(dir string) (*rollout.Run, error) {
	name := filepath.Join(dir, StateFile)
	raw, err := os.ReadFile(name)
	var r *rollout.Run
	if err == nil {
		r, err = rollout.Read(raw)
	}
	if err != nil {
		return nil, hint.Wrap(fmt.Errorf("%s: %w", name, err), "look at the devices with weft plan, and move that folder away")
	}
	return r, nil
}

// ReadPlan reads a plan file.
func ReadPlan(path string) (*plan.Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p, err := plan.ReadPlan(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

// writeWhole replaces a file for its owner only, whole and synced.
func writeWhole(path string, text []byte) error {
	f, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// writeSynced writes a file as JSON.
func writeSynced(path string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeWhole(path, append(raw, '\n'))
}
