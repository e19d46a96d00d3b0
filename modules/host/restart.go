package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/modules/claim"
)

// A Restarter restarts machines that carry virtual ones: each is emptied before.
type Restarter struct {
	// Stands is whether a machine is empty, and what weft noted there before it emptied it.
	Stands func(context.Context, Transport) (*Standing, error)
	// Note notes that, where a restart does not forget it.
	Note func(context.Context, Transport, Emptying) error
	// Entered notes which time it has become empty, where another has emptied it.
	Entered func(context.Context, Transport) error
	// Empty has all that runs there leave, keeps others from coming, and notes which time
	// that was; Fill lets them come, and takes the note away. What does not leave is Empty's
	// error, and the machine is as it was.
	Empty, Fill func(context.Context, Transport) error
	Restart     []string // the command that does it
	// Up is how long the machine has been running.
	Up func(context.Context, Transport) (time.Duration, error)
}

// An Emptying is what weft notes on a machine before it empties it, so that one that goes
// on where another was killed knows it from what people do.
type Emptying struct {
	Owner   string       `json:"owner"`
	By      claim.Holder `json:"by"`
	Since   int64        `json:"since"`             // by the clock of the machine, seconds
	Until   int64        `json:"until"`             // it has given up by then
	Through string       `json:"through,omitempty"` // the vCenter that empties it; "": itself
	Task    string       `json:"task,omitempty"`    // of that vCenter
	Before  string       `json:"before,omitempty"`  // the last of the log then

	Up time.Duration `json:"up,omitempty"` // for which the machine had been running then
}

// A Standing is a machine in view of who has emptied it.
type Standing struct {
	Empty  bool
	Now    int64     // by its clock, seconds
	Note   *Emptying // nil: there is none
	Unable error     // why a restart would forget a note; nil: it does not
	Noted  bool      // weft came to note which time the machine became empty
	Same   bool      // it is the same time still
	Once   bool      // since the note it has become empty one time, and nobody has ended that
	Said   string    // the last that the log of the machine has of it
	End    string    // how people end it
}

// Whose says why a machine that is empty may be so by somebody else than a run of this owner
// that has ended; nil: it is not.
func (s *Standing) Whose(owner string, me claim.Holder) error {
	if err := s.Held(owner, me); err != nil {
		return err
	}
	switch {
	case s.Note == nil:
		return hint.Wrap(errors.New("it is in maintenance mode, which weft did not start"), "when that is over: %s", s.End)
	case !s.Noted:
		return hint.Wrap(fmt.Errorf("it is in maintenance mode, and whether by the weft of %s that has ended is not known: that did not come to note it", s.Note.By.Who), "if it is not needed: %s", s.End)
	case !s.Same:
		return hint.Wrap(fmt.Errorf("it is in maintenance mode, started by another user after the weft of %s, which has ended. Its log: %s", s.Note.By.Who, s.Said), "when that is over: %s", s.End)
	}
	return nil
}

// Held says who else is emptying the machine; nil: nobody is.
func (s *Standing) Held(owner string, me claim.Holder) error {
	n := s.Note
	if n == nil {
		return nil
	}
	itself := n.By.Machine == me.Machine && n.By.PID == me.PID && n.By.Started == me.Started
	switch {
	case s.Now < n.Until && !itself && !me.Outlived(n.By):
		return hint.Wrap(fmt.Errorf("the weft of %s restarts it, for another %s at most", n.By.Who, time.Duration(n.Until-s.Now)*time.Second),
			"wait for that; where that weft ran, one that has died is gone on with at once")
	case s.Empty && n.Owner != owner:
		return hint.Wrap(fmt.Errorf("it is in maintenance mode: a weft of the owner %s has noted that it puts it there", n.Owner), "let that owner go on: weft verify reboot, or weft rollout resume")
	}
	return nil
}

// Empties reports whether the machine is emptied before a restart.
func (d *Machine) Empties() bool { return d.os.Restart != nil }

// Stands is whether the machine, which is open, is empty, and by whom.
func (d *Machine) Stands(ctx context.Context) (s *Standing, err error) {
	err = d.onHost(func(t Transport) error { s, err = d.os.Restart.Stands(ctx, t); return err })
	return s, err
}

// NoteEmptying notes on the machine, which is open, that it is going to be emptied.
func (d *Machine) NoteEmptying(ctx context.Context, n Emptying) error {
	return d.onHost(func(t Transport) error { return d.os.Restart.Note(ctx, t, n) })
}

// NoteEmptied notes which time the machine, which is open, has become empty.
func (d *Machine) NoteEmptied(ctx context.Context) error {
	return d.onHost(func(t Transport) error { return d.os.Restart.Entered(ctx, t) })
}

// Empty has all that runs on the machine, which is open, leave it.
func (d *Machine) Empty(ctx context.Context) error {
	return d.onHost(func(t Transport) error { return d.os.Restart.Empty(ctx, t) })
}

// Fill lets others come to the machine, which is open, again.
func (d *Machine) Fill(ctx context.Context) error {
	return d.onHost(func(t Transport) error { return d.os.Restart.Fill(ctx, t) })
}

// Restart restarts the machine, which is open. Nobody else may change it.
func (d *Machine) Restart(ctx context.Context) error {
	_, err := d.RunCommand(ctx, remote.Cmd{Args: d.os.Restart.Restart}, true)
	return err
}

// Up is how long the machine, which is open, has been running.
func (d *Machine) Up(ctx context.Context) (up time.Duration, err error) {
	err = d.onHost(func(t Transport) error { up, err = d.os.Restart.Up(ctx, t); return err })
	return up, err
}

func (d *Machine) onHost(do func(Transport) error) error {
	switch {
	case d.host == nil:
		return fmt.Errorf("%s is not connected", d.name)
	case d.os.Restart == nil:
		return fmt.Errorf("weft empties no machine with %s", d.os.Name)
	}
	return do(d.os.Open(d.host))
}
