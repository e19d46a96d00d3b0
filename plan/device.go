package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// A Device reads and changes its resources together: one connection, one
// pass, one transaction. The engine never calls two methods of one Device at
// the same time.
type Device interface {
	// Open connects and proves that the device is the one that was described.
	// A *LedgerError says that it was reached, and that this weft must not change it;
	// any other that the device is unreachable or the wrong one. Open on
	// an open device proves the identity again and keeps the connection: Make
	// opens, and Apply opens once more. Whoever made the device closes it.
	Open(context.Context) (Identity, error)

	// Read observes all of the resources in one pass and changes nothing. The
	// states stand in the order of the resources.
	Read(context.Context, []Resource) ([]State, error)

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
	// or longer if the device has a method Grace() time.Duration that says so.
	Abort(context.Context) error
}

// A Saver is a device that comes back from a restart without the changes that
// nobody has saved. Commit saves them, unless SaveLater was called before.
type Saver interface {
	Device
	SaveLater()
	// Save saves all that the device does now. The device need not be open.
	Save(context.Context) error
}

// A Rester is a device that need not stay connected: Rest gives up what it holds
// open until the next Open or Begin. Of large fleets all devices rest that
// nothing is done to.
type Rester interface {
	Device
	Rest() error
}

// A Foreseer is a device that spares a round trip when it knows, before Open,
// what Read will be asked for first. What it reads on the way serves that one
// Read and no other.
type Foreseer interface {
	Device
	Foresee([]Resource)
}

// A Prober is a device that can tell beforehand whether it has what its
// transactions need. Make asks it where something is to be changed.
type Prober interface {
	Device
	// Probe changes nothing; lines is how many the plan sends. Its error says that
	// nothing can be changed safely there, and refuses the plan; note is for the
	// reader of the plan, and may be empty.
	Probe(ctx context.Context, lines int) (note string, err error)
}

// crowd is from how many devices on a fleet is large.
const crowd = 128

// An Onlooker is a device that cannot read what is declared without seeing
// others of the kinds that weft keeps.
type Onlooker interface {
	Device
	// Unmanaged names, by kind, what the last Read saw that is neither declared
	// nor this owner's. It does no I/O.
	Unmanaged() map[string][]string
}

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
type RefusedError struct {
	Line  string // what was sent
	Reply string // what came back
}

// Error is one line: the beginning of a long line that was sent, and the reply
// without the caret that points into the line above it.
func (e *RefusedError) Error() string {
	const most = 100
	line := []rune(e.Line)
	if len(line) > most {
		line = append(line[:most], '…')
	}
	words := slices.DeleteFunc(strings.Fields(e.Reply), func(w string) bool { return w == "^" })
	return fmt.Sprintf("refused %q: %s", string(line), strings.Join(words, " "))
}
