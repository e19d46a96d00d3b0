package plan

import (
	"context"
	"time"

	"weft/internal/refusal"
)

// A Device reads and changes its resources together: one connection, one
// pass, one transaction. The engine never calls two methods of one Device at
// the same time. A device embeds Unsupported for the operations that it does not
// have; Capabilities says which groups of operations it has.
type Device interface {
	// Capabilities do not change and cost no I/O.
	Capabilities() Capabilities

	// Open connects and proves that the device is the one that was described.
	// A *LedgerError says that it was reached, and that this weft must not change it;
	// any other that the device is unreachable or the wrong one. Open on
	// an open device proves the identity again and keeps the connection: Make
	// opens, and Apply opens once more. The maker of the device closes it.
	Open(context.Context) (Identity, error)

	// Rest closes connections until the next Open or Begin opens them again. The engine
	// calls it on the idle devices of a large fleet.
	Rest() error

	// Close ends every login.
	Close() error

	// Foresee announces, before Open, the resources that Read will be asked for first, which may
	// spare a round trip. The early reading serves that one Read and no other.
	Foresee([]Resource)

	// Read observes all of the resources in one pass and changes nothing. The
	// states are in the order of the resources.
	Read(context.Context, []Resource) ([]State, error)

	// Unmanaged names, by kind, what the last Read saw that is neither declared
	// nor this owner's. It does no I/O.
	Unmanaged() map[string][]string

	// Probe reports whether the device has what its transactions need; Make calls it
	// where something is to be changed. It changes nothing; lines is how many the plan
	// sends. Its error says that nothing can be changed safely there, and refuses the
	// plan; note is for the reader of the plan, and may be empty.
	Probe(ctx context.Context, lines int) (note string, err error)

	// Begin prepares a transaction for the steps: checkpoint and timed revert,
	// where the device has them. After an error nothing is left armed; Apply
	// still calls Abort then, which proves it.
	Begin(context.Context, []Step) error

	// Apply carries out one step. It may be called again after a failure. An
	// error about a refused line is a *RefusedError.
	Apply(context.Context, Step) error

	// Commit proves the result from a fresh login and makes it stay. A
	// *KeptError says that it stays, and what else was not done.
	Commit(context.Context) error

	// Abort reverts what the transaction did and proves it by reading. It
	// may be called after a failed Begin, Apply or Commit. It has ten minutes,
	// or Grace, if that is longer.
	Abort(context.Context) error

	// Grace is how long Abort may take; 0: the device needs no longer than others.
	Grace() time.Duration

	// SaveLater makes Commit leave the changes unsaved. It has no effect on devices without
	// Capabilities.Save.
	SaveLater()

	// Save saves the running configuration. The device need not be open.
	Save(context.Context) error

	// Lease opens the device and returns the lease on it; nil: there is none.
	Lease(context.Context) (*Lease, error)

	// Token opens the device and returns its fencing token; "": there is none.
	Token(context.Context) (string, error)

	// Yield removes the fencing token.
	Yield(context.Context) error

	// Reverse returns the resource that leads from what the step of that run
	// made of the device back to what was there before the step. Its Diff leaves alone
	// what has drifted, see Diff.Left. Called after Open, it does no
	// I/O. Its error is ErrUntouched, or says why nothing is known to go back to.
	Reverse(run string, s PlannedStep) (Resource, error)

	Keeper
	Marker
}

// Capabilities are the groups of operations that a device supports.
type Capabilities struct {
	Ledger  bool // the operations of Keeper
	Marks   bool // the operations of Marker
	Fence   bool // Token and Yield
	Probe   bool
	Reverse bool
	Save    bool // a restart loses the changes that were not saved; Commit saves, unless SaveLater was called before
}

// capabilities are those of a device; of one that there is not: none.
func (in *Input) capabilities(address string) Capabilities {
	if d := in.Devices[address]; d != nil {
		return d.Capabilities()
	}
	return Capabilities{}
}

// crowd is from how many devices on a fleet is large.
const crowd = 128

// Identity is how a device proved that it is itself. Empty fields are not
// known for that kind of device.
type Identity struct {
	Address   string `json:"address,omitempty"`    // what was dialled
	Serial    string `json:"serial,omitempty"`     // of a switch
	MachineID string `json:"machine_id,omitempty"` // of a server
	BootID    string `json:"boot_id,omitempty"`    // warned about, never compared
	System    string `json:"system,omitempty"`     // operating system and version, for people
	Method    string `json:"method,omitempty"`     // how changes are committed, for people

	Warnings []string `json:"warnings,omitempty"` // what a reader of the plan must know of this device
	// NotUnderstood are lines of its configuration that may concern the resources
	// and that weft does not know, each with the places it stands in.
	NotUnderstood []string `json:"not_understood,omitempty"`
}

// A Step is one resource that the plan changes.
type Step struct {
	ID       ID
	Resource Resource
	Have     State // as observed when the step was planned
	Diff     Diff
	Needs    []ID   // what it rests on, also where that is in place already
	Place    string // where it is declared, file:line,column
	Protect  bool   // never pruned
	Prune    bool   // prunes what is no longer declared
	Reverse  bool   // reverts what the run did
	Run      string // that carries it out, or did
	Mark     *Mark  // of the run, as it is to stand on the device from this step on; nil: none
}

// A KeptError is what a device did not do after it had proven the changes, which
// it keeps.
type KeptError struct{ Err error }

func (e *KeptError) Error() string { return "the changes are proven and stay: " + e.Err.Error() }

// Unwrap returns what was not done.
func (e *KeptError) Unwrap() error { return e.Err }

// A RefusedError is a line that a device did not accept.
type RefusedError = refusal.Error
