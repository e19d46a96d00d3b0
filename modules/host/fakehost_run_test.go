package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"weft/internal/prove"
	"weft/internal/run"
	"weft/inventory"
	"weft/inventory/language"
	"weft/modules"
	"weft/modules/claim"
	"weft/modules/host"
	"weft/plan"
	"weft/plan/rollout"
)

// What two boxes are to be: both kinds of theirs, in words that the kinds declare.
const boxFiles = `
weft { name = "me" }
connection "default" { user = "root" }
server "box" {
  for_each = toset(["1", "2"])
  host     = "box${each.key}"
  wire "left" { speed = "40" }
  note "old" { text = "after" }
  note "new" { text = "fresh" }
}
`

const (
	filed = `note new "fresh" "word of new"
note old "after" "word of old"
wire left 40
wire right 10`
	// pruned is what is left of it without the wire and the new note.
	pruned = `note old "after" "word of old"
wire left 10
wire right 10`
)

// A rack is two boxes and the folder where their runs are kept.
type rack struct {
	files string
	boxes map[string]*box // by their names in the network
	dir   string
	gates []prove.Verdict // of the looks at gates, in turn; then they pass
}

func newRack(t *testing.T) *rack {
	r := &rack{files: boxFiles, boxes: map[string]*box{}, dir: t.TempDir() + "/weft"}
	for _, name := range []string{"box1", "box2"} {
		r.boxes[name] = newBox()
		r.boxes[name].id = name
	}
	return r
}

// weft is a process of weft, by box: it dies at a change of one of them, or not.
type weft map[string]*process

func (r *rack) weft(at string, cut int, how cutting) weft {
	w := weft{}
	for name, b := range r.boxes {
		w[name] = b.process(-1, how)
		if name == at {
			w[name].cut = cut
		}
	}
	if at != "" {
		w[at].cancel = func() { // with the process goes all that it would still have said
			for name, p := range w {
				if name != at {
					p.mu.Lock()
					p.dead = true
					p.mu.Unlock()
				}
			}
			_ = os.Rename(r.dir, r.dir+".kept") // where it was never there, nothing was kept
		}
	}
	return w
}

// buried puts back what the process that died had kept by then.
func (r *rack) buried(t *testing.T) {
	t.Helper()
	if err := os.RemoveAll(r.dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(r.dir+".kept", r.dir); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
}

func (w weft) holder() claim.Holder {
	p := w["box1"] // both have the same number
	return claim.Holder{Who: "me@laptop", Machine: "laptop", PID: p.pid, Alive: func(h claim.Holder) bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.living[h.PID]
	}}
}

func (w weft) end() {
	for _, p := range w {
		p.end()
	}
}

// env is what the process has plans carried out with. Nothing in it but the list of host
// systems is other than for the systems that weft has.
func (r *rack) env(w weft) *run.Env {
	e := &run.Env{Records: run.In(r.dir), By: "me"}
	e.Open = func(*plan.Plan) (*run.Site, error) {
		m, diags := language.Load(fstest.MapFS{"a.weft.hcl": {Data: []byte(r.files)}}, language.Options{Blocks: []*inventory.BlockType{notes().Words(), wires().Words()}})
		if diags.HasErrors() {
			return nil, diags
		}
		healthy := &inventory.Validation{Name: "healthy"}
		healthy.Addr = "validation.healthy"
		both := &inventory.Rollout{Name: "both", MaxUnavailable: 1, OnFailure: rollout.RollbackAll}
		both.Addr = "rollout.both"
		for _, s := range m.Servers {
			s.OS = "fakehost"
			both.Phases = append(both.Phases, &inventory.Phase{Name: s.Host, Select: []string{s.Addr}, Gate: []*inventory.Validation{healthy}})
		}
		m.Validations, m.Rollouts = []*inventory.Validation{healthy}, []*inventory.Rollout{both}
		fleet, diags := modules.Expand(m, modules.Env{
			Holder: w.holder(), Mine: e.Records.Mine, HostOS: func(string) *host.OS { return fakehost() },
			Host: func(s *inventory.Server) host.DialHost { return w[s.Host].dial },
		})
		if diags.HasErrors() {
			return nil, diags
		}
		return &run.Site{Model: m, Fleet: fleet, Input: plan.Input{
			Owner: m.Name, Version: "v0", Items: fleet.Items, Devices: fleet.Engine(), Roster: fleet.Roster, Recall: fleet.Recall, Removed: fleet.Removed,
			Parallelism: 2, Mine: e.Records.Mine,
		}}, nil
	}
	e.Measure = func(context.Context, prove.Input) (*prove.Result, error) {
		verdict := prove.Pass
		if len(r.gates) > 0 {
			verdict, r.gates = r.gates[0], r.gates[1:]
		}
		res := &prove.Result{}
		res.Add(&prove.Result{Judgements: []prove.Judgement{{Validation: "healthy", Metric: "metric", Pair: "1 to 2", Counted: true, Value: 1, Verdict: verdict, Why: "a reason"}}})
		return res, nil
	}
	return e
}

// apply is what weft apply does: it goes on with a run that was cut off, or plans and
// carries out.
func (r *rack) apply(ctx context.Context, e *run.Env, destroy bool) error {
	if rec, err := e.Records.Unfinished(ctx, false); err != nil {
		return err
	} else if rec != nil {
		return run.Continue(ctx, e, rec, run.Order{})
	}
	s, err := e.Open(nil)
	if err != nil {
		return err
	}
	defer s.Close()
	s.Input.Destroy = destroy
	made, err := s.Plan(ctx, s.Input, true)
	if err != nil {
		return err
	}
	if len(made.Steps) == 0 {
		return run.Tidy(ctx, e, s)
	}
	return run.Start(ctx, e, s, made, run.Order{})
}

// applied has a new process apply, without being cut off.
func (r *rack) applied(t *testing.T, destroy bool) error {
	t.Helper()
	time.Sleep(time.Second) // runs are named by their time
	w := r.weft("", -1, "")
	defer w.end()
	return r.apply(t.Context(), r.env(w), destroy)
}

// holds fails unless all boxes are set so, and no run is under way on them.
func (r *rack) holds(t *testing.T, story, settings string, kept ...string) {
	t.Helper()
	for name, b := range r.boxes {
		b.holds(t, story+", "+name, settings)
		b.keeps(t, story+", "+name, kept...)
	}
}

// A machine of another host system goes through internal/run as one of Linux: in phases
// with gates, pruned when it leaves the files, put back where a gate fails, destroyed.
func TestAnotherSystemByTheEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newRack(t)
		before := newBox().settings()
		r.gates = []prove.Verdict{prove.Pass, prove.Fail}
		var stop *rollout.Stop
		if err := r.applied(t, false); !errors.As(err, &stop) || stop.State != rollout.RolledBack {
			t.Errorf("the second gate fails: %v", err)
		}
		r.holds(t, "rolled back", before, "vault:me.ledger") // of no entries, which lists the devices

		if err := r.applied(t, false); err != nil {
			t.Fatal(err)
		}
		r.holds(t, "rolled out", filed, "vault:me.ledger", "vault:me.secrets")
		for name, b := range r.boxes {
			if l := b.ledger(t); l.OS != "fakehost" || len(l.Roster) != 2 || len(l.Entries) != 3 {
				t.Errorf("the ledger of %s is %+v", name, l)
			}
		}
		if rec, err := run.In(r.dir).Latest(t.Context(), false); err != nil || rec.Run.State != rollout.Passed {
			t.Errorf("%v: %+v", err, rec)
		}

		r.files = strings.NewReplacer(`  wire "left" { speed = "40" }`, "", `  note "new" { text = "fresh" }`, "").Replace(boxFiles)
		if err := r.applied(t, false); err != nil {
			t.Fatal(err)
		}
		r.holds(t, "pruned", pruned, "vault:me.ledger", "vault:me.secrets")
		if err := r.applied(t, true); err != nil {
			t.Fatal(err)
		}
		r.holds(t, "destroyed", before)
	})
}

// Whenever a weft is killed that rolls out to machines of another host system, another one
// goes on to the same end, at once and after their own guards have put them back. Moments
// are taken here and there: TestAnotherSystemIsCutAnywhere has each of an apply.
func TestAnotherSystemsEngineIsKilled(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"box1", "box2"} {
		for n, more := 0, true; more && n < 400; n += 5 {
			how := []cutting{killedBefore, killedAfter}[n%2]
			wait := []time.Duration{0, 11 * time.Minute}[n/2%2]
			synctest.Test(t, func(t *testing.T) { more = killedOnce(t, at, n/2, how, wait) })
		}
	}
}

// killedOnce reports whether there was a change to be killed at.
func killedOnce(t *testing.T, at string, cut int, how cutting, wait time.Duration) bool {
	r := newRack(t)
	w := r.weft(at, cut, how)
	err := r.apply(t.Context(), r.env(w), false)
	w.end()
	if !w[at].dead {
		if err != nil {
			t.Errorf("without a cut: %v", err)
		}
		r.holds(t, "without a cut", filed, "vault:me.ledger", "vault:me.secrets")
		if cut < 10 {
			t.Errorf("%s was changed %d times only: %q", at, cut, w[at].changes)
		}
		return false
	}
	story := fmt.Sprintf("%s %s at %d: %s; after %s", at, how, cut, w[at].changes[cut], wait)
	r.buried(t)
	time.Sleep(wait)
	if err := r.applied(t, false); err != nil {
		t.Errorf("%s: %v", story, err)
	}
	r.holds(t, story, filed, "vault:me.ledger", "vault:me.secrets")
	return true
}
