//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/wait"
)

// lookTimeout is how long one look at a guest that starts or goes down may
// take. A connection to a guest that goes down may end without a word: nobody
// waits for an answer on it for long.
const lookTimeout = 90 * time.Second

// howFar is asked of a guest that starts: which start this is, and whether
// systemd has carried out everything that starts at boot, well or not. The wait
// for that is shorter than the look.
const howFar = "cat /proc/sys/kernel/random/boot_id\ntimeout 45 systemctl is-system-running --wait || :"

// Reboot makes the guest start again in good order and waits until it has,
// with everything that starts at boot. What it wrote to its disks stays.
func (g *Guest) Reboot(ctx context.Context) error {
	before, _, err := g.look(ctx)
	if err != nil {
		return fmt.Errorf("before it starts again: %w", err)
	}
	return g.again(ctx, before, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, lookTimeout)
		defer cancel()
		_, err := g.Run(ctx, "systemctl reboot")
		if exit := new(ssh.ExitError); errors.As(err, &exit) {
			return err
		}
		return nil // or it went faster than its answer
	})
}

// Reset is what pressing the button does: the guest starts again from what is
// on its disk, which is everything it ever wrote. It waits as Reboot does.
func (g *Guest) Reset(ctx context.Context) error {
	before, _, err := g.look(ctx)
	if err != nil {
		before = "none that answered" // which is why it is pressed
	}
	return g.again(ctx, before, func(context.Context) error { return g.press() })
}

// press presses the button: QEMU ends, and is started again.
func (g *Guest) press() error {
	g.mu.Lock()
	proc, ended := g.proc, g.ended
	g.mu.Unlock()
	if ended {
		return fmt.Errorf("guest %s has ended", g.spec.Name)
	}
	g.forgetClient()
	proc.kill()
	return nil
}

// again makes a running guest start anew and waits until it has. Where that
// never ends the button is pressed, once.
func (g *Guest) again(ctx context.Context, before string, restart func(context.Context) error) error {
	if err := restart(ctx); err != nil {
		return err
	}
	begun := time.Now()
	err := g.startedInTime(ctx, before)
	if err != nil && ctx.Err() == nil {
		g.lab.say("%v; its button is pressed", err)
		if err := g.press(); err != nil {
			return err
		}
		err = g.startedInTime(ctx, before)
	}
	if err == nil {
		g.lab.say("%s is up again after %.0f s", g.spec.Name, time.Since(begun).Seconds())
	}
	return err
}

// startedInTime waits as long as a boot may take.
func (g *Guest) startedInTime(ctx context.Context, before string) error {
	ctx, cancel := context.WithTimeout(ctx, g.lab.o.Timeout)
	defer cancel()
	if err := g.started(ctx, before); err != nil {
		return fmt.Errorf("guest %s does not start again: %w\n%s", g.spec.Name, err, g.ConsoleTail(20))
	}
	return nil
}

// started waits until the guest has started, with everything that starts at
// boot. before is the start that is not meant, if there was one.
func (g *Guest) started(ctx context.Context, before string) error {
	for {
		boot, state, err := g.look(ctx)
		switch {
		case err != nil:
		case boot == before:
			err = errors.New("it is still the former start")
			g.forgetClient() // which leads to what goes down
		case state == "initializing" || state == "starting":
			err = fmt.Errorf("systemd says: %s", state)
		default:
			return nil
		}
		g.mu.Lock()
		proc, ended := g.proc, g.ended
		g.mu.Unlock()
		if before == "" || ended { // nobody starts it again
			if err := proc.complaint(); err != nil {
				return err
			}
		}
		if !wait.For(ctx, loginPause) {
			return fmt.Errorf("%w (last: %w)", ctx.Err(), err)
		}
	}
}

// look asks the guest which of its starts this is, and how far systemd is.
func (g *Guest) look(ctx context.Context) (boot, state string, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	out, err := g.Run(ctx, howFar)
	if err != nil {
		return "", "", err
	}
	boot, state, _ = strings.Cut(strings.TrimSpace(out), "\n")
	return boot, state, nil
}
