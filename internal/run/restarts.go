package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/wait"
	"weft/modules"
	"weft/plan"
)

// Restarts restarts machines of a site, whose devices are open.
type Restarts struct {
	Site *Site
	Says func(device, text string) // what becomes of them
}

// A RestartError is why a machine was not restarted, or is not well after it.
type RestartError struct {
	Stage RestartStage
	By    string // who has emptied it, and fills it again; "": it was not emptied
	Err   error
}

// A RestartStage is how far a restart came.
type RestartStage int

// The stages.
const (
	Unreached   RestartStage = iota // nobody answered
	Unrestarted                     // it was not begun
	Gone                            // it was restarted, and has not come back
	Started                         // it has, and is not filled again
)

func (e *RestartError) Error() string { return e.Err.Error() }

// Unwrap returns what happened.
func (e *RestartError) Unwrap() error { return e.Err }

const (
	restartPause = 2 * time.Second // between looks at a machine that starts
	restartLook  = time.Minute     // of one look: a connection to what goes down may never end
)

// notes says what becomes of a server.
func (r *Restarts) notes(server, text string) { r.Says(server, server+" "+text) }

// Rolling reports whether a machine is emptied before it is restarted.
func (s *Site) Rolling(server string) bool {
	_, err := s.Fleet.Device(server).Maintenance()
	return err == nil
}

// Roll restarts one host that others' machines run on: it is emptied, restarted and filled
// again. Where it cannot be restarted it takes them in again. again: a weft that has ended may
// have begun it, so that it may be away just now; anew: it starts once more even so. After the
// restart there is as much patience as back says. The error is a *RestartError.
func (r *Restarts) Roll(ctx context.Context, host string, again, anew bool, back time.Duration) error {
	e, err := r.Site.Fleet.Device(host).Maintenance()
	if err != nil {
		return &RestartError{Stage: Unrestarted, Err: err}
	}
	open := func() error { _, err := r.Site.Fleet.Device(host).Open(ctx); return err }
	if err = open(); err != nil && again {
		wait, cancel := patient(ctx, back)
		defer cancel()
		err = r.waits(wait, host, "answer", open)
	}
	if err != nil {
		return &RestartError{Stage: Unreached, Err: fmt.Errorf("%s: %w", host, err)}
	}
	begun := time.Now()
	out, err := r.empty(ctx, host)
	if err != nil {
		return &RestartError{Stage: Unrestarted, Err: fmt.Errorf("%s is not restarted: %w", host, err)}
	}
	late, cancel := patient(ctx, back)
	defer cancel()
	if out.started && !anew {
		r.notes(host, "has started again already")
	} else if err := r.starts(late, host, e); err != nil {
		return &RestartError{Gone, out.by, fmt.Errorf("%s: %w", host, err)}
	} else {
		r.notes(host, fmt.Sprintf("has started again after %s", time.Since(begun).Round(time.Second)))
	}
	if err := r.waits(late, host, "leave maintenance mode", func() error { return out.fill(late) }); err != nil {
		if out.by != "itself" {
			err = hint.Wrap(err, "check whether %s answers; until %s ends its maintenance mode, or you do so manually, no workload runs there", out.by, host)
		}
		return &RestartError{Started, out.by, fmt.Errorf("%s: %w", host, err)}
	}
	r.notes(host, "has left maintenance mode")
	return nil
}

// patient is a context that ends after some time, and says so.
func patient(ctx context.Context, most time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, most, fmt.Errorf("%s are over", most))
}

// starts restarts a host that is empty, and waits until it has started.
func (r *Restarts) starts(ctx context.Context, host string, e modules.Maintenance) error {
	r.notes(host, "is empty, and is restarted")
	asked := time.Now()
	look, cancel := context.WithTimeout(ctx, restartLook)
	defer cancel()
	if err := refusedRestart(e.Restart(look)); err != nil {
		return err
	}
	_ = r.Site.Fleet.Device(host).Rest() // that connection ends with the host
	return r.waits(ctx, host, "start again", func() error {
		return r.withHost(ctx, host, func(e modules.Maintenance) error {
			up, err := e.Up(ctx)
			if err == nil && up >= time.Since(asked) {
				err = errors.New("it has not gone down yet")
			}
			return err
		})
	})
}

// refusedRestart is why a machine does not restart. The connection may end before it answers.
func refusedRestart(err error) error {
	if errors.As(err, new(*remote.ExitError)) || errors.As(err, new(*plan.HeldError)) {
		return fmt.Errorf("not restarted: %w", err)
	}
	return nil
}

// waits tries until something has come about.
func (r *Restarts) waits(ctx context.Context, host, what string, try func() error) error {
	for {
		last := try()
		if last == nil {
			return nil
		}
		if !wait.For(ctx, restartPause) {
			return hint.Wrap(fmt.Errorf("it does not %s (%w): %w", what, context.Cause(ctx), last), "look at the console of %s", host)
		}
	}
}

// withHost does something over a connection of its own.
func (r *Restarts) withHost(ctx context.Context, host string, do func(modules.Maintenance) error) error {
	q := r.Site.Afresh()
	defer q.Close()
	look, cancel := context.WithTimeout(ctx, restartLook)
	defer cancel()
	d := q.Fleet.Device(host)
	if _, err := d.Open(look); err != nil {
		return err
	}
	e, err := d.Maintenance()
	if err != nil {
		return err
	}
	return do(e)
}

// Boot restarts a server that runs nobody else's machines, and waits until it has started
// again, with everything that starts at boot.
func (r *Restarts) Boot(ctx context.Context, server string) error {
	dev := r.Site.Fleet.Device(server)
	before, err := dev.Open(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", server, err)
	}
	r.notes(server, "is restarted: systemctl reboot")
	asked, cancel := context.WithTimeout(ctx, restartLook)
	defer cancel()
	_, err = dev.RunCommand(asked, remote.Cmd{Args: []string{"systemctl", "reboot"}}, true)
	if errors.As(err, new(*remote.ExitError)) || errors.As(err, new(*plan.HeldError)) {
		return fmt.Errorf("%s is not restarted: %w", server, err)
	}
	for { // the connection may have ended before the answer came
		last := r.booted(ctx, server, before)
		if last == nil {
			return nil
		}
		if !wait.For(ctx, restartPause) {
			return hint.Wrap(fmt.Errorf("%s does not start again: %w", server, errors.Join(context.Cause(ctx), last)), "look at its console")
		}
	}
}

// booted looks once whether a server has started since, and then waits until systemd has
// carried out what starts at boot.
func (r *Restarts) booted(ctx context.Context, server string, before plan.Identity) error {
	q := r.Site.Afresh() // nothing is left of the connections of before
	defer q.Close()
	look, cancel := context.WithTimeout(ctx, restartLook)
	defer cancel()
	dev := q.Fleet.Device(server)
	now, err := dev.Open(look)
	switch {
	case err != nil:
		return err
	case now.BootID == before.BootID:
		return errors.New("it has not gone down yet")
	case now.MachineID != before.MachineID:
		return fmt.Errorf("another machine answers in its place: %s instead of %s", now.MachineID, before.MachineID)
	}
	out, err := dev.RunCommand(ctx, remote.Cmd{Args: []string{"systemctl", "is-system-running", "--wait"}, Quiet: true}, false)
	if errors.As(err, new(*remote.ExitError)) {
		r.notes(server, "has started, and systemd says: "+strings.TrimSpace(string(out.Stdout))+"; see systemctl --failed there")
		return nil
	}
	return err
}
