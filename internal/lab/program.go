//go:build unix

package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"

	"weft/internal/hint"
	"weft/internal/labctl"
)

// Main is the program weft-lab: arguments in, exit code out. vcenter is the command that
// simulates a vCenter; none: no vCenter is simulated.
func Main(args []string, in io.Reader, out, errs io.Writer, vcenter []string) int {
	var err error
	switch {
	case slices.Equal(args, []string{"serve"}):
		err = serve(in, out, errs, vcenter)
	case slices.Equal(args, []string{"grammar"}):
		err = json.NewEncoder(out).Encode(grammar())
	case slices.Equal(args, []string{"version"}):
		_, err = fmt.Fprintln(out, labctl.Name, labctl.Version())
	default:
		fmt.Fprintf(errs, "%s simulates the devices of a configuration. weft starts it: see weft lab --help.\n", labctl.Name)
		return 64
	}
	if err != nil {
		fmt.Fprintf(errs, "%s: %v\n", labctl.Name, err)
		return 1
	}
	return 0
}

// gcPercent lets the memory of a lab grow to four times its live heap between collections:
// simulated shells allocate much and keep little.
const gcPercent = 300

// serve runs the lab that weft orders, as internal/labctl describes.
func serve(in io.Reader, out, errs io.Writer, vcenter []string) error {
	debug.SetGCPercent(gcPercent)
	// When weft has died, a write to its pipes is an error, and the lab still stops in order.
	// A signal that is ignored would stay so in the devices' processes.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	answers, orders := json.NewEncoder(out), json.NewDecoder(in)
	if err := answers.Encode(labctl.Hello{Version: labctl.Version()}); err != nil {
		return err
	}
	var o labctl.Order
	if err := orders.Decode(&o); err != nil {
		return fmt.Errorf("reading what to simulate: %w", err)
	}
	if o.Devices == nil {
		return errors.New("the order names no devices")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var detached atomic.Bool
	go func() {
		_, _ = io.Copy(io.Discard, io.MultiReader(orders.Buffered(), in)) // either way weft is gone
		if !detached.Load() {
			cancel()
		}
	}()
	l, err := Start(ctx, o.Devices.Model(), Options{Dir: o.Dir, Log: errs, Real: o.Real, Lacks: o.Lacks, StandIn: o.StandIn, VCenter: vcenter})
	if err != nil {
		return errors.Join(err, answers.Encode(labctl.Answer{Error: err.Error(), Hint: hint.Of(err)}))
	}
	detached.Store(o.Detached)
	if err := answers.Encode(labctl.Answer{State: l.State()}); err != nil && !o.Detached {
		cancel()
	}
	err = l.Serve(ctx)
	if o.Detached {
		return err
	}
	a := labctl.Answer{}
	if err != nil {
		a.Error, a.Hint = err.Error(), hint.Of(err)
	}
	return answers.Encode(a)
}
