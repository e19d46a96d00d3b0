// Package leaf is a switch as a device: its classes and ports as resources of a
// plan, changed in one transaction that the switch itself reverts unless it is
// proven.
package leaf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/inventory/catalogue"
	"weft/modules/claim"
	"weft/plan"
	"weft/switches"
	"weft/switches/systems"
)

// A Config is what a switch is declared as, and how it is reached.
type Config struct {
	OS     *switches.OS
	Name   string // HCL address
	Host   string // for messages
	Serial string // wanted; "" is not checked
	Adopt  bool   // foreign policies may be replaced

	Dial    switches.Dial
	Timeout time.Duration // of a command

	Confirm       time.Duration // 0: without a timed revert, as declared
	Save          bool          // as declared
	SaveAfterSoak bool          // where there is a soak

	Owner  string
	Holder claim.Holder
	Mine   func(plan.Mark) bool // whose record this weft has; nil: nobody's
	Settle bool                 // Open waits until the switch has reverted what a dead apply left
	Say    func(string)         // what is worth knowing while something takes long; may be nil

	Known *catalogue.Catalogue // limits of models
}

// UsualConfirm is the timed revert of a switch that nobody declares a safety of.
const UsualConfirm = 5 * time.Minute

// Device is a plan.Device: a switch. For plan and diff its configuration is
// many small resources; for apply it is one transaction with a timed revert.
type Device struct {
	plan.Unsupported

	cfg   Config
	want  switches.Intent
	later bool // not saved by Commit

	session *switches.Session
	have    switches.Reading // as read last
	marks   switches.Marks   // what weft has left next to the configuration, as read last
	fresh   bool             // Open has just read it and nobody has used it yet
	tx      *switches.Transaction
	before  switches.Reading
	steps   []plan.Step // of the transaction
	probed  bool        // it has what transactions need
	away    bool        // another weft holds the switch: the transaction never began

	owns    switches.Owned  // what carries the owner's name, as read last
	wrote   []string        // ports whose frame length the owner wrote without a name, as read last
	relics  switches.Relics // what the switch has kept for it; read where something is to be given back
	leaving bool            // everything is given back
}

// New makes a device of a switch; it touches nothing.
func New(cfg Config) *Device {
	return &Device{Unsupported: plan.Unsupported{Reason: cfg.Name + " is a switch"}, cfg: cfg, want: switches.Intent{Owner: switches.Owner{Name: cfg.Owner}, Adopt: cfg.Adopt}}
}

// Address is what the files call it.
func (d *Device) Address() string { return d.cfg.Name }

// Capabilities implements plan.Device.
func (d *Device) Capabilities() plan.Capabilities {
	return plan.Capabilities{Ledger: true, Marks: true, Probe: true, Reverse: true, Save: true}
}

// Open implements plan.Device.
func (d *Device) Open(ctx context.Context) (plan.Identity, error) {
	if err := d.connect(ctx); err != nil {
		return plan.Identity{}, err
	}
	notes, err := d.heed(ctx)
	if err != nil {
		return plan.Identity{}, err
	}
	d.want.Owner.Others = slices.DeleteFunc(d.marks.Owners(), func(o string) bool { return o == d.cfg.Owner })
	have, err := d.session.Read(ctx, d.want)
	if err != nil {
		return plan.Identity{}, err
	}
	d.have, d.fresh = have, true
	kept, err := d.owned(ctx)
	if err != nil {
		return plan.Identity{}, err
	}
	idle, err := d.session.Operates(ctx, have, d.want)
	if err != nil {
		return plan.Identity{}, err
	}
	id := plan.Identity{
		Serial:   have.Facts.Serial,
		System:   strings.TrimSpace(d.cfg.OS.Name + " " + have.Facts.Version + " " + have.Facts.Model),
		Method:   d.cfg.OS.Dialect.Method,
		Warnings: slices.Concat(notes, have.Warnings, kept, idle, unknownLimits(d.cfg.Known, d.cfg.OS.Name, have.Facts, d.want.Classes)),

		NotUnderstood: have.NotUnderstood,
	}
	if d.cfg.Confirm == 0 {
		id.Method = `lines without a timed revert (commit_confirm = "none")`
	}
	if d.cfg.Serial != "" && have.Facts.Serial != d.cfg.Serial {
		return id, hint.Wrap(fmt.Errorf("another switch answers: serial is %q, declared %q", have.Facts.Serial, d.cfg.Serial),
			"if the switch was replaced on purpose, change serial of %s", d.cfg.Name)
	}
	return id, nil
}

// connect logs in, where that has not been done.
func (d *Device) connect(ctx context.Context) error {
	if d.session != nil {
		return nil
	}
	s, err := switches.Open(ctx, d.cfg.Host, d.cfg.OS, d.cfg.Dial, d.cfg.Timeout)
	if err != nil {
		return switches.Advise(err, systems.All())
	}
	s.Log = d.cfg.Say
	if err := s.Identify(ctx); err != nil {
		return errors.Join(err, s.Close())
	}
	d.session = s
	return nil
}

// Read implements plan.Device. What Open has just read is not read twice.
func (d *Device) Read(ctx context.Context, rs []plan.Resource) ([]plan.State, error) {
	if !d.fresh {
		have, err := d.session.Read(ctx, d.want)
		if err != nil {
			return nil, err
		}
		d.have = have
	}
	d.fresh = false
	if slices.ContainsFunc(rs, d.remembers) {
		if err := d.recollect(ctx); err != nil {
			return nil, err
		}
	}
	states := make([]plan.State, len(rs))
	for i := range rs {
		states[i] = &d.have
	}
	return states, nil
}

// remembers reports whether what the switch has kept says more of a resource: it
// is to be given back, or is not as the files say, which an operator may have done.
func (d *Device) remembers(r plan.Resource) bool {
	switch r.(type) {
	case *giveBack:
		return true
	case *qos, *port:
		return (len(d.owns.Names)+len(d.wrote) > 0 || d.marks.Base(d.cfg.Owner)) && !r.Diff(&d.have).Empty()
	}
	return false
}

// Unmanaged implements plan.Onlooker.
func (d *Device) Unmanaged() map[string][]string { return d.have.Unmanaged(d.want) }

// Probe implements plan.Prober: a switch without a timed revert is known before
// anything is typed on it. While a revert runs there, whosever it is, nobody
// comes near it.
//
// What its user may not look at is a note, as another owner may carry the plan
// out; whoever is about to do so is refused.
func (d *Device) Probe(ctx context.Context, lines int) (note string, err error) {
	if len(d.marks.Running()) > 0 {
		return "", nil
	}
	err = d.session.Probe(ctx, d.guard(lines))
	if d.probed = err == nil; d.probed || d.cfg.Settle || errors.As(err, new(*switches.GuardError)) || errors.As(err, new(*switches.WithoutError)) {
		return "", err
	}
	return "whether the switch can be changed safely, and revert changes by itself, could not be seen: " + err.Error(), nil
}

// Begin implements plan.Device.
func (d *Device) Begin(ctx context.Context, steps []plan.Step) error {
	d.tx, d.before, d.steps, d.away = nil, d.have, steps, false
	lines := 0
	for _, s := range steps {
		if !isRelics(s) {
			lines += len(s.Diff.Send)
		}
	}
	guard := d.guard(lines)
	guard.Wrote = d.writes(steps)
	tx, err := d.session.Begin(ctx, guard)
	if err != nil {
		err = d.held(err)
		d.away = errors.As(err, new(*plan.HeldError))
		return err
	}
	d.tx = tx
	return nil
}

// Apply implements plan.Device: it sends exactly the lines of the plan.
func (d *Device) Apply(ctx context.Context, s plan.Step) error {
	if isRelics(s) {
		return nil // the last thing of all, see Commit
	}
	return d.tx.Send(ctx, s.Diff.Send)
}

// Commit implements plan.Device.
func (d *Device) Commit(ctx context.Context) error {
	err := d.tx.Commit(ctx, func(ctx context.Context, fresh *switches.Session) error {
		have, err := fresh.Read(ctx, d.want)
		if err != nil {
			return err
		}
		if is, was := have.Facts.Serial, d.before.Facts.Serial; is != was {
			return hint.Wrap(fmt.Errorf("another switch answers: serial is %q, before it was %q", is, was),
				"the name of the switch may lead to several switches: give each a unique name")
		}
		for _, s := range d.steps {
			if left := s.Resource.Diff(&have); !isRelics(s) && (left.Err != nil || len(left.Send) > 0) {
				return errors.Join(left.Err, fmt.Errorf("%s does not read back as planned; left: %s", s.ID, strings.Join(left.Send, "; ")))
			}
		}
		d.tx.Outdate(d.marks.Stale(have, d.cfg.Owner))
		idle, err := fresh.Operates(ctx, have, d.want)
		for _, text := range idle {
			d.tell(text)
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := d.forget(ctx); err != nil {
		return &plan.KeptError{Err: err}
	}
	if !d.cfg.Save || d.later {
		return nil
	}
	if err := d.session.Save(ctx); err != nil {
		return &plan.KeptError{Err: hint.Wrap(fmt.Errorf("it runs as planned, which is proven, and starts with what it started with before: %w", err),
			"save by hand, or make room and apply again")}
	}
	return nil
}

// tell says what is worth knowing while something takes long.
func (d *Device) tell(text string) {
	if d.cfg.Say != nil {
		d.cfg.Say(text)
	}
}

// SaveLater implements plan.Device.
func (d *Device) SaveLater() { d.later = d.cfg.SaveAfterSoak }

// Save implements plan.Device.
func (d *Device) Save(ctx context.Context) error {
	if !d.cfg.Save {
		return nil
	}
	if _, err := d.Open(ctx); err != nil { // a soak is long: whoever answers has to prove who it is
		return err
	}
	return d.session.Save(ctx)
}

// Abort implements plan.Device.
func (d *Device) Abort(ctx context.Context) error {
	if d.away {
		return nil // what changes there meanwhile is not ours
	}
	if d.tx != nil {
		if err := d.tx.Abort(ctx, d.back); err != nil {
			return err
		}
	}
	left, err := d.back(ctx)
	if err != nil {
		return err
	}
	if len(left) > 0 {
		return fmt.Errorf("%s does not read back as before; left: %s", d.cfg.Host, strings.Join(left, "; "))
	}
	return nil
}

// back says what leads from what the switch reads now to what it read before:
// lines that were never sent need no undo, and might be refused.
func (d *Device) back(ctx context.Context) ([]string, error) {
	now, err := d.session.Reread(ctx, d.want)
	if err != nil {
		return nil, err
	}
	var ports []string
	for _, s := range d.steps {
		if s.ID.Kind == "port" {
			ports = append(ports, s.ID.Name)
		}
	}
	return switches.Back(now, d.before, d.want.Owner, ports), nil
}

// Grace is how long putting the switch back may take: it may have to wait
// until the switch does so by itself.
func (d *Device) Grace() time.Duration { return d.cfg.Confirm + 5*time.Minute }

// Close ends the session.
func (d *Device) Close() error {
	if d.session == nil {
		return nil
	}
	return d.session.Close()
}
