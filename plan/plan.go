package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
	"weft/internal/slice"
)

// Input is what Make and Apply work on.
type Input struct {
	Owner     string // weft.name: whose resources these are
	Simulated bool   // the devices are those of the lab
	Version   string // of the weft that plans

	Items   []Item
	Devices map[string]Device // by HCL address; those without items are not opened
	Notes   []Note

	Sources map[string]string          // inventory text by file name, sensitive parts cut out
	Inputs  map[string]json.RawMessage // resolved variables that are not sensitive

	Roster          []Member                     // all devices of the owner; nil: no roster is kept
	Removed         []Removed                    // what becomes of devices that ledgers still list
	Moved           Renames                      // how declared devices were called before
	Recall          func(Member) (Device, error) // makes a device of one that is not declared any more
	Select          Selection                    // of Make; Apply takes that of the plan
	Destroy         bool                         // prune everything that ledgers hold; Apply: as the plan
	SkipUnreachable bool                         // leave out devices that cannot be reached; Apply: as the plan
	AllowDestroy    []string                     // patterns of resources (device/kind.name) whose data may be lost; Apply: as the plan
	Disposable      bool                         // the devices are a twin's and hold nobody's data: any of it may be lost

	// Arrange is called by Make with the plan before it is announced: it may order
	// and refuse steps, and leave them alone. May be nil.
	Arrange func(*Plan)

	Run     string          // by which ledgers and journals call what Apply does; "": nothing of it can be reversed
	Mark    *Mark           // of Apply: of the run, which must stand on every device that it changes; nil: none is asked for
	Mine    func(Mark) bool // whether whoever plans or applies has the record of that run; nil: of none
	Reverse *Reversal       // instead of everything else: revert what a run did; Apply: as Make

	Parallelism int              // devices worked on at once; 0: 16
	Unavailable int              // of Apply: devices disturbed at once (impact above none); 0: any number, but one of those changed alone
	Failures    int              // of Apply: how many of those may fail before no more of them begin
	Pause       func() bool      // of Apply: once it says so no device is begun any more; those that are, are finished. May be nil
	Emit        Emit             // may be nil
	Now         func() time.Time // may be nil

	// Journal receives one JSON line before and one after everything Apply
	// does to a device. If it has a Sync method, as a file has, each line is
	// synced. May be nil.
	Journal io.Writer

	probe     bool          // devices with Capabilities.Probe are probed
	heartbeat time.Duration // between signs of life; 0: heartbeatInterval
}

// defaultParallelism is how many devices are worked on at once.
const defaultParallelism = 16

func (in Input) withDefaults() Input {
	if in.Parallelism <= 0 {
		in.Parallelism = defaultParallelism
	}
	if in.Now == nil {
		in.Now = time.Now
	}
	if in.Reverse != nil {
		in.Items = nil
	}
	if in.heartbeat <= 0 {
		in.heartbeat = heartbeatInterval
	}
	return in
}

// emit passes the event on and adds the time.
func (in *Input) emit(e Event) {
	if in.Emit == nil {
		return
	}
	e.Time = in.Now()
	in.Emit(e)
}

// Format is the number of the plan file's format. Any change of its fields is
// a new number.
const Format = 7

// oldest is the number of the oldest format that is read: what it lacks may be absent.
const oldest = 5

// A Plan is the difference between what is declared and what the devices
// report, in the order in which Apply would carry it out.
type Plan struct {
	Format    int       `json:"format"`
	Version   string    `json:"weft_version"`  // of the weft that planned
	Run       string    `json:"run,omitempty"` // that it is to be, see NewRunID; "": it was not saved
	Owner     string    `json:"owner"`
	Simulated bool      `json:"simulated"`
	Destroy   bool      `json:"destroy,omitempty"`
	Reverse   string    `json:"reverse,omitempty"` // the run that it reverts
	Skip      bool      `json:"skip_unreachable,omitempty"`
	Select    Selection `json:"select,omitzero"`
	Created   time.Time `json:"created"`

	AllowDestroy []string `json:"allow_destroy,omitempty"` // resources (device/kind.name) whose data may be lost

	Devices  []PlannedDevice `json:"devices"` // those with resources, in the order of the items
	Steps    []PlannedStep   `json:"steps"`   // in execution order
	Notes    []Note          `json:"notes,omitempty"`
	Refusals []Refusal       `json:"refusals,omitempty"` // any: Apply refuses the plan
	Restarts []Restart       `json:"restarts,omitempty"` // that steps need to be in force
	Left     []LeftAlone     `json:"left_alone,omitempty"`

	Sources map[string]string          `json:"sources,omitempty"`
	Inputs  map[string]json.RawMessage `json:"inputs,omitempty"`
}

// A PlannedDevice is a device as it was found when the plan was made.
type PlannedDevice struct {
	Address  string   `json:"address"` // HCL address
	Identity Identity `json:"identity"`
	Items    int      `json:"items"`             // resources on it
	Removed  bool     `json:"removed,omitempty"` // no longer declared: it is pruned
	Error    string   `json:"error,omitempty"`   // why it could not be opened or read
	Hint     string   `json:"hint,omitempty"`    // what to do about that
	Refuses  bool     `json:"refuses,omitempty"` // it was reached: its ledger is the error

	Unmanaged map[string][]string `json:"unmanaged,omitempty"` // foreign: seen, not declared, and left as it is, by kind
}

// A PlannedStep is one resource that the plan changes, with the observed
// values that it rests on: the Before of each change.
type PlannedStep struct {
	ID      ID        `json:"id"`
	Range   hcl.Range `json:"range"` // a plan file keeps file and start only
	Changes []Change  `json:"changes"`
	Send    []string  `json:"send,omitempty"`  // what will be typed, as shown to people
	Undo    []string  `json:"undo,omitempty"`  // what would take it back; none: cannot be undone
	Needs   []ID      `json:"needs,omitempty"` // earlier steps that must be applied before
	Prune   bool      `json:"prune,omitempty"` // no longer declared: pruned
	Drift   bool      `json:"drift,omitempty"` // changed since weft applied the same
	Phase   string    `json:"phase,omitempty"` // of a rollout
	Plane   string    `json:"plane,omitempty"` // whose traffic it may disturb
}

// LeftAlone is something that weft does not touch although it is not as it
// should be.
type LeftAlone struct {
	Device string `json:"device"`
	ID     ID     `json:"id,omitzero"` // of one resource; none: about the device
	Text   string `json:"text"`
	Drift  bool   `json:"drift,omitempty"` // weft applied it, and hosts do not get any more what it is for

	// Degraded is Diff.Degraded. It is known only to the process that made the plan.
	Degraded bool `json:"-"`
}

// A Restart is one that a device needs before all that the plan writes is in force there.
type Restart struct {
	Device  string `json:"device"`
	Phase   string `json:"phase,omitempty"`   // whose steps need it
	Rolling bool   `json:"rolling,omitempty"` // the phase does it; else nobody does
	Through string `json:"through,omitempty"` // the device that empties it before, or itself; "": that is not known yet
}

// NeedsRestart reports whether the step is in force from the next start of its device.
func (s PlannedStep) NeedsRestart() bool {
	return slices.ContainsFunc(s.Changes, func(c Change) bool { return c.Impact == ImpactReboot })
}

// Impact is the worst impact of the step's changes.
func (s PlannedStep) Impact() Impact { return Diff{Changes: s.Changes}.Impact() }

// A Refusal is a resource that cannot be applied on its device, or a step
// of the plan that must not be carried out as things are.
type Refusal struct {
	ID    ID        `json:"id"`
	Range hcl.Range `json:"range"`
	Text  string    `json:"text"`
	Hint  string    `json:"hint,omitempty"`
	Drift bool      `json:"drift,omitempty"` // weft has applied it, and it was changed since
}

// Counts is a plan in numbers. Resources is the sum of Changed, Converged,
// Refused, Left and Unread.
type Counts struct {
	Resources int            `json:"resources"`
	Changed   int            `json:"changed"`
	Pruned    int            `json:"pruned"` // of Changed: no longer declared, pruned
	Converged int            `json:"converged"`
	Refused   int            `json:"refused"`
	Left      int            `json:"left"`                // not as they should be, and left alone
	Unread    int            `json:"unread"`              // on devices that could not be opened or read
	ByImpact  map[Impact]int `json:"by_impact"`           // changed resources by their worst impact
	Unmanaged map[string]int `json:"unmanaged,omitempty"` // objects that are nobody's here, seen on the devices and left alone, by kind
}

// Counts counts the plan.
func (p *Plan) Counts() Counts {
	c := Counts{Changed: len(p.Steps), ByImpact: map[Impact]int{}}
	steps := make(map[ID]bool, len(p.Steps))
	for _, s := range p.Steps {
		steps[s.ID] = true
	}
	for _, r := range p.Refusals {
		// Else it is about a device, or a change that is counted as one.
		if r.ID.Kind != LedgerKind && r.ID.Kind != safetyKind && !steps[r.ID] {
			c.Refused++
		}
	}
	for _, l := range p.Left {
		if l.ID.Kind != "" {
			c.Left++
		}
	}
	for _, d := range p.Devices {
		c.Resources += d.Items
		if d.Error != "" {
			c.Unread += d.Items
		}
		for kind, names := range d.Unmanaged {
			if c.Unmanaged == nil {
				c.Unmanaged = map[string]int{}
			}
			c.Unmanaged[kind] += len(names)
		}
	}
	for _, s := range p.Steps {
		c.ByImpact[s.Impact()]++
		if s.Prune {
			c.Pruned++
		}
	}
	c.Converged = c.Resources - c.Changed - c.Refused - c.Left - c.Unread
	return c
}

// Empty reports whether every declared resource was read and is as declared.
func (p *Plan) Empty() bool {
	return len(p.Steps) == 0 && len(p.Refusals) == 0 && len(p.Unreachable()) == 0
}

// Unreachable lists the devices that could not be opened or read. Nothing is
// known about their resources; Apply refuses a plan that has any.
func (p *Plan) Unreachable() []PlannedDevice {
	return slice.Filter(p.Devices, func(d PlannedDevice) bool { return d.Error != "" })
}

// Incomplete is why nothing of the plan is applied before more is known: an
// *UnreachableError or a *LedgerError; nil: what was not read may be left out.
func (p *Plan) Incomplete() error {
	var away UnreachableError
	var refused error
	for _, d := range p.Unreachable() {
		if d.Refuses {
			refused = firstOf(refused, hint.Wrap(&LedgerError{Device: d.Address, Err: errors.New(d.Error)}, "%s", d.Hint))
			continue
		}
		away.Devices = append(away.Devices, d.Address)
		away.Err = firstOf(away.Err, hint.Wrap(errors.New(d.Error), "plan again when it can be reached"))
	}
	if away.Err != nil && !p.Skip {
		return &away
	}
	return refused
}

// stepGraph checks what holds for every plan that Make made, and a plan file
// only claims: devices and steps are there once, each step changes something
// on a listed device and needs earlier steps only. The order is the plan's.
func (p *Plan) stepGraph() (*graph, error) {
	devices := make(map[string]bool, len(p.Devices))
	for _, d := range p.Devices {
		if devices[d.Address] {
			return nil, fmt.Errorf("device %s is in the plan twice", d.Address)
		}
		devices[d.Address] = true
	}
	g := &graph{needs: make([][]int, len(p.Steps)), order: make([]int, len(p.Steps))}
	at := make(map[ID]int, len(p.Steps))
	for i, s := range p.Steps {
		if !devices[s.ID.Device] {
			return nil, fmt.Errorf("step %s is on a device that the plan does not list", s.ID)
		}
		if _, dup := at[s.ID]; dup {
			return nil, fmt.Errorf("step %s is in the plan twice", s.ID)
		}
		if len(s.Changes) == 0 {
			return nil, fmt.Errorf("step %s changes nothing", s.ID)
		}
		for _, id := range s.Needs {
			n, ok := at[id]
			if !ok {
				return nil, fmt.Errorf("step %s needs %s, which is no earlier step", s.ID, id)
			}
			g.needs[i] = append(g.needs[i], n)
		}
		at[s.ID] = i
		g.order[i] = i
	}
	return g, nil
}

// place prints where a range starts.
func place(r hcl.Range) string {
	if r.Filename == "" && r.Start.Line == 0 && r.Start.Column == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d,%d", r.Filename, r.Start.Line, r.Start.Column)
}

func newRefusal(item Item, err error) Refusal {
	return Refusal{ID: item.ID, Range: item.Range, Text: err.Error(), Hint: hint.Of(err)}
}
