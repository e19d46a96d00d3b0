//go:build unix

package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/hint"
	"weft/internal/lab/simserver"
	"weft/internal/lab/simswitch"
	"weft/internal/labctl"
	"weft/internal/slice"
	"weft/inventory"
)

// Options are how a lab is started.
type Options struct {
	Dir     string          // the directory of the HCL files
	Log     io.Writer       // told what happens, a line each; nil: nobody
	Real    bool            // servers are guests with real kernels; switches are simulated
	Lacks   []string        // of its state
	StandIn *labctl.StandIn // nil: no server runs Windows
	VCenter []string        // command that simulates a vCenter; none: no vCenter is simulated
}

// A Lab is a running twin.
type Lab struct {
	place    place
	log      *logger
	key      ssh.Signer // of everybody who logs in
	devices  []*device
	vcenters []*vcenter
	lacks    []string  // of its state
	guests   io.Closer // ends the guests; nil: there are none
	network  *simserver.Network
	control  *control
	standIn  *labctl.StandIn
	state    labctl.State

	stop    context.CancelFunc // ends the devices' SSH servers
	serving sync.WaitGroup
	quit    chan struct{} // closed when the lab is to go down
	ask     sync.Once
	down    sync.Once
	err     error // of going down
}

// Start builds the twin of a model and makes its devices answer. One lab runs
// per directory; what a crashed one left behind is taken away first.
//
// The lab runs until Stop; ctx is for starting only.
func Start(ctx context.Context, m *inventory.Model, o Options) (_ *Lab, err error) {
	if o.Real {
		if err := missingForGuests(); err != nil {
			return nil, err
		}
	}
	l := &Lab{place: place{labctl.At(o.Dir)}, log: &logger{w: o.Log}, standIn: o.StandIn, lacks: o.Lacks, quit: make(chan struct{})}
	if err := l.place.Lock(); err != nil {
		return nil, taken(o.Dir, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, l.Stop())
		}
	}()
	l.place.EndAgents()
	if err := l.place.Clean(); err != nil {
		return nil, fmt.Errorf("taking away what a former lab left: %w", err)
	}
	private, signer, err := newKey()
	if err != nil {
		return nil, err
	}
	l.key = signer
	t, err := newTwin(m)
	if err != nil {
		return nil, err
	}
	l.network = simserver.NewNetwork()
	l.network.Way, l.network.Moved = t.way, t.moved
	running, cancel := context.WithCancel(context.Background())
	l.stop = cancel
	for _, build := range []func() error{
		func() error { return l.build(ctx, running, t) }, // first, because servers ask switches for paths
		func() error {
			if o.Real {
				return l.boot(ctx, m, t)
			}
			return l.buildServers(ctx, running, t.servers)
		},
		func() error { return l.buildESXi(ctx, running, t.esxi) },
		func() error { return l.buildWindows(ctx, running, t.windows) },
		func() error { return l.buildVCenters(ctx, o.VCenter, t.vcenters) },
	} {
		if err := build(); err != nil {
			return nil, err
		}
	}
	if l.control, err = newControl(l); err != nil {
		return nil, err
	}
	l.state = l.describe()
	if err := l.place.write(l.state, l.devices, private); err != nil {
		return nil, fmt.Errorf("writing how to reach the lab: %w", err)
	}
	l.log.say("%s; they answer on loopback", l.state.Describe())
	return l, nil
}

// taken is the reason for which the folder of a directory could not be locked.
func taken(dir string, err error) error {
	switch s, unfit := labctl.Running(dir); {
	case unfit != nil:
		return unfit
	case s != nil:
		return hint.Wrap(fmt.Errorf("a lab is up for this directory already, since %s (process %d)",
			s.Started.Format(time.TimeOnly), s.PID), "use it with --lab, or stop it first: weft -C %s lab down", dir)
	}
	return err
}

// build starts the switches of the twin.
func (l *Lab) build(ctx, running context.Context, t *twin) error {
	for _, spec := range t.switches {
		spec.spec.Stations = l.stations(t, spec.name)
		sw := simswitch.New(spec.spec)
		t.running[spec.name], t.forward[spec.name] = sw.RunningConfig, sw.Forward
		d := &device{name: spec.host, addr: spec.addr, kind: "switch", user: spec.user, sw: sw}
		d.pause = func(port string, priority int, frames uint64) { l.pause(t, plug{spec.name, port}, priority, frames) }
		l.devices = append(l.devices, d)
		if err := errors.Join(ctx.Err(), l.serve(ctx, running, d)); err != nil {
			return err
		}
	}
	return nil
}

// makers is how many servers are made at once: making one is waiting for the
// file system.
const makers = 8

func (l *Lab) buildServers(ctx, running context.Context, specs []serverSpec) error {
	made, errs := make([]*device, len(specs)), make([]error, len(specs))
	var making sync.WaitGroup
	slots := make(chan struct{}, makers)
	for n, s := range specs {
		slots <- struct{}{}
		making.Go(func() {
			defer func() { <-slots }()
			if errs[n] = ctx.Err(); errs[n] != nil {
				return
			}
			s.spec.Root, s.spec.Journal = l.place.Root(s.spec.Name), l.place.journal(s.spec.Name)
			s.spec.Restart = func() { // asked for in a session, which ends with it
				l.serving.Go(func() { _ = made[n].serverFault("reboot") }) // a fault that servers have
			}
			var server *simserver.Server
			if server, errs[n] = simserver.New(l.network, s.spec); errs[n] == nil {
				made[n] = &device{name: s.spec.Name, addr: s.addr, kind: "server", login: s.login, server: server}
				errs[n] = l.serve(ctx, running, made[n])
			}
		})
	}
	making.Wait()
	for _, d := range made {
		if d != nil {
			l.devices = append(l.devices, d)
		}
	}
	return errors.Join(errs...)
}

// State is what the lab says about itself.
func (l *Lab) State() *labctl.State {
	s := l.state
	return &s
}

// Serve waits until ctx ends or the lab is asked to go down, then stops
// it.
func (l *Lab) Serve(ctx context.Context) error {
	select {
	case <-ctx.Done():
	case <-l.quit:
	}
	return l.Stop()
}

// Stop stops everything the lab started, and takes its files away.
func (l *Lab) Stop() error {
	l.down.Do(func() { l.err = l.shutdown() })
	return l.err
}

func (l *Lab) shutdown() error {
	var errs []error
	if l.control != nil {
		l.control.close()
	}
	if l.stop != nil {
		l.stop()
	}
	l.serving.Wait()
	errs = slice.Map(l.devices, (*device).close)
	for _, v := range l.vcenters {
		v.close()
	}
	if l.guests != nil {
		errs = append(errs, l.guests.Close())
	}
	if l.network != nil {
		l.network.Close()
	}
	errs = append(errs, l.place.Clean(), l.place.Unlock())
	l.log.say("the lab is down")
	return errors.Join(errs...)
}

// wanted notes that the lab is to go down.
func (l *Lab) wanted() { l.ask.Do(func() { close(l.quit) }) }

func (l *Lab) describe() labctl.State {
	s := labctl.State{Warning: labctl.Warning, Version: labctl.Version(), PID: os.Getpid(), Started: time.Now(), Control: l.control.addr(), Token: l.control.token, Lacks: l.lacks}
	for _, d := range l.devices {
		s.Devices = append(s.Devices, labctl.Device{Name: d.name, Kind: d.kind, Block: d.addr, Address: d.address(), User: d.user, Login: cmp.Or(d.login, d.user)})
	}
	for _, v := range l.vcenters {
		s.Devices = append(s.Devices, v.device)
	}
	return s
}

func (l *Lab) find(name string) (*device, error) {
	for _, d := range l.devices {
		if d.name == name || d.addr == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("the lab has no device %s", name)
}

// A logger writes lines with the time.
type logger struct {
	mu sync.Mutex
	w  io.Writer
}

func (l *logger) say(format string, args ...any) {
	if l.w == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.w, time.Now().Format(time.TimeOnly)+" lab: "+format+"\n", args...)
}
