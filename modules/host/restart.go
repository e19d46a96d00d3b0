package host

import (
	"context"
	"fmt"
	"time"

	"weft/internal/remote"
)

// A Restarter restarts machines that carry virtual ones: each is emptied before.
type Restarter struct {
	// Empty has all that runs there leave, and keeps others from coming; Fill lets them.
	// What does not leave is Empty's error, and the machine is as it was.
	Empty, Fill func(context.Context, Transport) error
	Restart     []string // the command that does it
	// Up is how long the machine has been running.
	Up func(context.Context, Transport) (time.Duration, error)
}

// Empties reports whether the machine is emptied before a restart.
func (d *Machine) Empties() bool { return d.os.Restart != nil }

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
