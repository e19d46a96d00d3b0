package plan

import (
	"context"
	"errors"
	"time"
)

// Unsupported implements every method of Device. Each operation that could do something returns
// an *UnsupportedError; the hints for the engine (Foresee, Rest, SaveLater) do nothing. A device
// embeds it and defines the operations that it has.
type Unsupported struct {
	Reason string // such as "vcenter.dc1 is a vCenter"; may be empty
}

// An UnsupportedError says that a device does not have an operation. It wraps errors.ErrUnsupported.
type UnsupportedError struct {
	Operation string // a verb phrase, such as "read the lease"
	Reason    string
}

func (e *UnsupportedError) Error() string {
	reason := e.Reason
	if reason == "" {
		reason = "the device does not support it"
	}
	return "cannot " + e.Operation + ": " + reason
}

// Unwrap returns errors.ErrUnsupported.
func (e *UnsupportedError) Unwrap() error { return errors.ErrUnsupported }

func (u Unsupported) refuse(operation string) error {
	return &UnsupportedError{Operation: operation, Reason: u.Reason}
}

// Capabilities are none.
func (u Unsupported) Capabilities() Capabilities { return Capabilities{} }

// Open is not supported.
func (u Unsupported) Open(context.Context) (Identity, error) { return Identity{}, u.refuse("connect") }

// Rest does nothing.
func (u Unsupported) Rest() error { return nil }

// Close does nothing.
func (u Unsupported) Close() error { return nil }

// Foresee does nothing.
func (u Unsupported) Foresee([]Resource) {}

// Read is not supported.
func (u Unsupported) Read(context.Context, []Resource) ([]State, error) {
	return nil, u.refuse("read resources")
}

// Unmanaged is nothing.
func (u Unsupported) Unmanaged() map[string][]string { return nil }

// Probe is not supported.
func (u Unsupported) Probe(context.Context, int) (string, error) {
	return "", u.refuse("check the safety of changes")
}

// Begin is not supported.
func (u Unsupported) Begin(context.Context, []Step) error { return u.refuse("begin a transaction") }

// Apply is not supported.
func (u Unsupported) Apply(context.Context, Step) error { return u.refuse("apply a step") }

// Commit is not supported.
func (u Unsupported) Commit(context.Context) error { return u.refuse("commit") }

// Abort is not supported.
func (u Unsupported) Abort(context.Context) error { return u.refuse("abort") }

// Grace is 0.
func (u Unsupported) Grace() time.Duration { return 0 }

// SaveLater does nothing.
func (u Unsupported) SaveLater() {}

// Save is not supported.
func (u Unsupported) Save(context.Context) error { return u.refuse("save the configuration") }

// Lease is not supported.
func (u Unsupported) Lease(context.Context) (*Lease, error) { return nil, u.refuse("read the lease") }

// Token is not supported.
func (u Unsupported) Token(context.Context) (string, error) {
	return "", u.refuse("read the fencing token")
}

// Yield is not supported.
func (u Unsupported) Yield(context.Context) error { return u.refuse("remove the fencing token") }

// Reverse is not supported.
func (u Unsupported) Reverse(string, PlannedStep) (Resource, error) {
	return nil, u.refuse("revert a run")
}

// Kept is nothing.
func (u Unsupported) Kept() Kept { return Kept{} }

// Restore is not supported.
func (u Unsupported) Restore(Entry) (Resource, error) {
	return nil, u.refuse("restore from the ledger")
}

// Drifted is false.
func (u Unsupported) Drifted(Entry, State) bool { return false }

// Unchanged is false.
func (u Unsupported) Unchanged(Entry, Resource) bool { return false }

// Pending is converged.
func (u Unsupported) Pending() Resource { return converged{} }

// Belongs is converged.
func (u Unsupported) Belongs([]Member, map[string]bool, []string) Resource { return converged{} }

// Marks are none.
func (u Unsupported) Marks() []Mark { return nil }

// Mark is not supported.
func (u Unsupported) Mark(context.Context, Mark, func(Mark) bool) error {
	return u.refuse("set the run lock")
}

// Unmark is not supported.
func (u Unsupported) Unmark(context.Context, Mark) error { return u.refuse("remove the run lock") }

// ReadMarks is not supported.
func (u Unsupported) ReadMarks(context.Context) ([]Mark, error) {
	return nil, u.refuse("read run locks")
}

// BreakMark is not supported.
func (u Unsupported) BreakMark(context.Context, Mark) error { return u.refuse("remove a run lock") }

// converged is a resource that is always as wanted.
type converged struct{}

func (converged) Diff(State) Diff              { return Diff{} }
func (converged) Verify(context.Context) error { return nil }

var _ Device = Unsupported{}
