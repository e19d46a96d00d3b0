package host

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"weft/internal/bundle"
	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/claim"
	"weft/plan"
)

// DialHost logs in to a server: over a connection that is there already, or
// afresh. The returned function ends the login.
type DialHost func(ctx context.Context, fresh bool) (remote.Host, func() error, error)

// A Machine is a plan.Device: all resources of one machine, read in one
// batch and changed step by step, each step with its undo.
type Machine struct {
	plan.Unsupported

	os        *OS
	name      string // HCL address
	member    plan.Member
	machineID string // wanted; "" is not checked
	dial      DialHost
	patience  time.Duration // how long services may take until they answer as wanted
	absence   time.Duration // how long a server that is being put back may be away

	owner  string // whose ledger is kept; "": none is, nor is a lease taken
	holder claim.Holder
	token  func() claim.Token
	stands func(string) string
	things Things
	kinds  KindSet             // of what ledgers name
	bundle *bundle.Bundle      // what undoing the removal of an agent installs
	now    func(string) string // how a device is called that a ledger calls so; nil: the same

	expected []Expectation // NICs that facts are compared with
	curious  bool          // all facts are asked for
	facts    *ServerFacts  // nil: not read yet
	findings []Finding     // of the facts

	surveyed    *ServerFacts // all of its NICs, where all facts were asked for
	surveyFault error        // why surveyed is nil

	host    Transport // nil: not connected, or at rest
	close   func() error
	answers string               // the machine id of who answered Open last
	ledgers ledgers              // as read by Open, or written since
	ahead   []remote.Look        // asked for before Open, for the next Read
	early   remote.Seen          // what Open saw of them; good for one Read
	seen    []observation        // by the last Read
	sights  remote.Seen          // by the last Read, for as long as the server is not at rest
	foreign map[string][]string  // seen by the last Read, by kind
	mark    *serverMark          // of a run, as it stood when the server was opened or its lease taken; nil: none
	mine    func(plan.Mark) bool // whose record this weft has
	lease   *lease
	asked   Claim  // that was granted last
	claimed string // the text of the lease that was asked for last
	stray   string // a lease that the server may hold for us although it never said so; see letGo

	places      []remote.Look // of what is declared: where uploads may have been left
	left        leavings      // by an apply that did not end, as Open saw them
	armed       bool          // the dead-man of this owner is
	armedHere   bool          // by this transaction, and by none before
	othersArmed []string      // owners
	unguarded   error         // why none can be armed there
	unkept      error         // why nothing can be kept on the machine
	before      ledger        // before the transaction
	leaves      bool          // the transaction removes the ledger
	planned     []plan.Step   // of the transaction
	done        []carried     // begun in this transaction, in order
}

// Config is what a machine is made of.
type Config struct {
	OS        *OS
	Member    plan.Member // of rosters; its Device is what the files call the machine
	MachineID string      // wanted; "" is not checked
	Dial      DialHost
	Kinds     KindSet // nil: those of the system

	Owner  string // whose ledger is kept; "": none is, nor is a lease taken
	Holder claim.Holder
	Token  func() claim.Token   // of the run, by the store that keeps it; nil: there is none
	Stands func(string) string  // what the token that stands means for whoever applies; nil: it is not said
	Mine   func(plan.Mark) bool // whose record this weft has
	Bundle *bundle.Bundle       // what undoing the removal of an agent installs
	Now    func(string) string  // how a device is called that a ledger calls so; nil: the same
}

// New is a machine that was not spoken to yet.
func New(c Config) *Machine {
	return &Machine{
		Unsupported: plan.Unsupported{Reason: c.Member.Device + " is a server"},
		os:          c.OS, member: c.Member, name: c.Member.Device, machineID: c.MachineID, dial: c.Dial, kinds: c.Kinds, patience: patience, absence: absence,
		owner: c.Owner, holder: c.Holder, token: c.Token, stands: c.Stands, mine: c.Mine, bundle: c.Bundle, now: c.Now,
	}
}

// patience is how long services may take until they answer as wanted.
const patience = 30 * time.Second

// OS is its system.
func (d *Machine) OS() *OS { return d.os }

// Owner is whose it is: what weft makes there bears that name.
func (d *Machine) Owner() string { return d.owner }

// Address is what the files call it.
func (d *Machine) Address() string { return d.name }

// Capabilities implements plan.Device.
func (d *Machine) Capabilities() plan.Capabilities {
	return plan.Capabilities{Ledger: true, Marks: true, Fence: true, Reverse: true}
}

// An observation is a resource with what was read of it.
type observation struct {
	resource plan.Resource
	state    plan.State
}

// Foresee implements plan.Foreseer. Where the machine id is declared, nothing is
// asked of a machine before it has shown its own.
func (d *Machine) Foresee(rs []plan.Resource) {
	if d.ahead, d.places = nil, looksOf(rs); d.machineID == "" {
		d.ahead = d.places
	}
}

func looksOf(rs []plan.Resource) []remote.Look {
	var looks []remote.Look
	for _, r := range rs {
		looks = append(looks, r.(Resource).looks()...)
	}
	return looks
}

// Open implements plan.Device.
func (d *Machine) Open(ctx context.Context) (plan.Identity, error) {
	if err := d.connect(ctx); err != nil {
		return plan.Identity{}, err
	}
	looks := d.os.Who.Looks()
	keeps := d.owner != "" && d.os.Memory != nil
	if keeps {
		looks = append(looks, d.os.Memory.Looks(d.owner, d.places)...)
	}
	if keeps && d.os.Guard != nil {
		looks = append(looks, d.os.Guard.Look())
	}
	unknown := d.facts == nil && len(d.expected) > 0 && d.os.Facts != nil
	if unknown {
		looks = append(looks, d.factsLooks()...)
	}
	ahead := d.ahead
	looks, d.ahead, d.early = append(looks, ahead...), nil, remote.Seen{}
	seen, err := d.host.Read(ctx, looks)
	if err != nil {
		return plan.Identity{}, err
	}
	if len(ahead) > 0 {
		d.early = seen
	}
	id := d.os.Who.Parse(seen)
	id.Method = d.os.how()
	d.answers = id.MachineID
	if keeps {
		if err := d.remember(seen, &id); err != nil {
			return id, err
		}
	}
	if unknown {
		// Facts that cannot be read hold nothing up: ReadFacts says why.
		_ = d.learn(seen)
	}
	id.Warnings = append(id.Warnings, d.warnings()...)
	if d.machineID != "" && id.MachineID != d.machineID {
		return id, hint.Wrap(fmt.Errorf("another machine answers: machine_id is %q, declared %q", id.MachineID, d.machineID),
			"if the machine was replaced on purpose, change machine_id of %s", d.name)
	}
	if err := d.ledgers.unknown; err != nil {
		return id, &plan.LedgerError{Device: d.name, Err: err}
	}
	return id, nil
}

// remember takes in what the machine keeps.
func (d *Machine) remember(seen remote.Seen, id *plan.Identity) error {
	m, err := d.os.Memory.Parse(seen, d.owner, d.places)
	if err != nil {
		return err
	}
	d.unkept = m.Unable
	d.ledgers = ledgersOf(d.owner, m, d.Known(), d.nameToday)
	d.rename(&d.ledgers.own)
	if os := d.ledgers.own.OS; os != "" && os != d.os.Name {
		d.ledgers.unknown = hint.Wrap(fmt.Errorf("the ledger %s is that of os = %q: nothing on this server is changed", d.ledgerPlace(), os),
			"if it runs another system now, remove the ledger there: earlier changes of weft no longer exist")
	}
	if d.os.Guard != nil {
		armed, err := d.os.Guard.Armed(seen)
		if err != nil {
			return err
		}
		d.armed, d.othersArmed = tellArmed(d.owner, armed.Owners)
		d.unguarded = armed.Unable
	}
	d.left = leftOf(m, d.holder)
	d.mark = d.sawMark(seen)
	if m.Token != "" && d.stands != nil {
		if text := d.stands(m.Token); text != "" {
			id.Warnings = append(id.Warnings, text)
		}
	}
	if d.armed {
		id.Warnings = append(id.Warnings, fmt.Sprintf("an apply that did not end left a timer: what it changed is reverted within %s, unless apply proves it", revertAfter))
	}
	if len(d.othersArmed) > 0 {
		id.Warnings = append(id.Warnings, fmt.Sprintf("the owner %s has a revert armed on the server: addresses and the settings of NICs are not changed until that apply has ended, or its timer has fired (%s at most)", strings.Join(d.othersArmed, ", "), revertAfter))
	}
	if d.ledgers.warning != "" {
		id.Warnings = append(id.Warnings, d.ledgers.warning)
	}
	return nil
}

// connect logs in, where that has not been done.
func (d *Machine) connect(ctx context.Context) error {
	if d.host != nil {
		return nil
	}
	host, hangUp, err := d.login(ctx, false)
	if err != nil {
		return err
	}
	d.host, d.close = host, hangUp
	return nil
}

// login logs in.
func (d *Machine) login(ctx context.Context, fresh bool) (Transport, func() error, error) {
	host, hangUp, err := d.dial(ctx, fresh)
	if err != nil && d.os.Refused != nil {
		err = d.os.Refused(err)
	}
	if err != nil {
		return nil, nil, err
	}
	return d.os.Open(host), hangUp, nil
}

// Read implements plan.Device.
func (d *Machine) Read(ctx context.Context, rs []plan.Resource) ([]plan.State, error) {
	early := d.early
	d.early = remote.Seen{}
	states, all, err := read(ctx, d.host, rs, early)
	if err != nil {
		return nil, err
	}
	d.sights = all
	d.foreign = unmanaged(rs, all, d.ledgers.foreign)
	d.forbid(rs, states)
	d.tame(rs, states)
	for _, k := range d.Known() {
		k.together(rs, states)
	}
	d.seen = d.seen[:0]
	for i := range states {
		d.seen = append(d.seen, observation{rs[i], states[i]})
	}
	return states, nil
}

// read observes resources: what was not seen already is looked at.
func read(ctx context.Context, host Transport, rs []plan.Resource, early remote.Seen) ([]plan.State, remote.Seen, error) {
	seen, err := remote.ReadRest(ctx, host.Read, looksOf(rs), early)
	if err != nil {
		return nil, remote.Seen{}, err
	}
	states := make([]plan.State, len(rs))
	for i, r := range rs {
		states[i] = r.(Resource).parse(seen)
	}
	return states, seen, nil
}

// unable says why nothing is changed on the machine.
func (d *Machine) unable() error {
	if d.os.Memory == nil {
		return d.os.Lacks(Memories)
	}
	return d.unkept
}

// Rest implements plan.Device.
func (d *Machine) Rest() error {
	if d.host == nil {
		return nil
	}
	hangUp := d.close
	d.host, d.close, d.sights = nil, nil, remote.Seen{}
	return hangUp()
}

// wake connects again after a rest. Nothing may have happened in between.
func (d *Machine) wake(ctx context.Context) error {
	if d.host != nil {
		return nil
	}
	machine, ledger := d.answers, d.ledgers.raw
	id, err := d.Open(ctx)
	switch {
	case err != nil:
		return err
	case id.MachineID != machine:
		return fmt.Errorf("another machine answers than before: its machine id is %q, and was %q", id.MachineID, machine)
	case !bytes.Equal(ledger, d.ledgers.raw):
		return errMoved
	}
	return nil
}

// Close ends the login.
func (d *Machine) Close() error {
	if d.lease != nil {
		d.lease.stop()
	}
	if d.close == nil {
		return nil
	}
	return d.close()
}
