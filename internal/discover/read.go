package discover

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/modules/host"
	"weft/modules/vcenter"
	"weft/switches"
)

// A Reach is how devices that are named are reached.
type Reach struct {
	Terminal    func(host string) switches.Dial
	Server      func(m Named, os *host.OS, user string) host.DialHost // user "": the usual one
	VCenter     func(Center) vcenter.Login
	Login       Login
	Systems     []*switches.OS
	HostOS      *host.OS
	OtherOS     []*host.OS    // that a machine which is none of HostOS may have
	Timeout     time.Duration // of a command
	Patience    time.Duration // until a prompt is there
	Parallelism int
	Say         func(host, text string) // progress; may be nil

	// Depth is how far switches are followed that announce themselves with LLDP: 0 asks
	// those that are named. Only in the networks of Within, which name them: nobody else
	// is sent a login.
	Depth  int
	Within []netip.Prefix
}

// mostSwitches is how many switches are followed.
const mostSwitches = 512

// A Named is a machine that a source names.
type Named struct {
	Host string
	Name string // that the source gives it; "": none
	User string // likewise: who logs in

	Password bool // with one, which the files are to ask for
}

// Read asks each device once.
func (r *Reach) Read(ctx context.Context, seeds []string, machines []Named, centers ...Center) *Site {
	site := &Site{}
	var mu sync.Mutex
	slots := make(chan struct{}, max(r.Parallelism, 1))
	each := func(wait *sync.WaitGroup, name string, do func() (keep func(), err error)) {
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			keep, err := do()
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				site.Lost = append(site.Lost, Lost{name, err})
				return
			}
			keep()
			r.say(name, "was read")
		})
	}
	var servers sync.WaitGroup
	for _, m := range machines {
		each(&servers, m.Host, func() (func(), error) {
			s, unread, err := r.readServer(ctx, m)
			return func() { site.serve(s, unread) }, err
		})
	}
	for _, c := range centers {
		each(&servers, c.String(), func() (func(), error) {
			v, err := r.readCenter(ctx, c)
			return func() { site.VCenters = append(site.VCenters, v) }, err
		})
	}
	trail := newTrail(r)
	for next := trail.first(seeds); len(next) > 0; {
		var here sync.WaitGroup
		for _, to := range next {
			each(&here, to.host, func() (func(), error) {
				sw, err := r.readSwitch(ctx, to.host)
				if err != nil && to.from != "" {
					err = hint.Wrap(fmt.Errorf("%s announces that address: %w", to.from, err), "%s", hint.Of(err))
				}
				return func() {
					sw.followed = to.from != ""
					site.Switches = append(site.Switches, sw)
				}, err
			})
		}
		here.Wait()
		mu.Lock()
		next = trail.on(site)
		mu.Unlock()
	}
	servers.Wait()
	site.sorted()
	site.alike()
	return site
}

// serve takes a server in, and what of it could not be read.
func (s *Site) serve(m *Server, unread []error) {
	s.Servers = append(s.Servers, m)
	for _, why := range unread {
		s.found(Error, m.Host, cmp.Or(hint.Of(why), "look at that file before weft is used there"), "%v", why)
	}
}

func (r *Reach) say(host, text string) {
	if r.Say != nil {
		r.Say(host, text)
	}
}

// readSwitch finds out which system a switch has, and shows what plan would read.
func (r *Reach) readSwitch(ctx context.Context, name string) (*Switch, error) {
	dial := r.Terminal(name)
	os, err := switches.Recognise(ctx, name, dial, r.Systems, cmp.Or(r.Patience, 30*time.Second))
	if err != nil {
		return nil, err
	}
	s, err := switches.Open(ctx, name, os, dial, r.Timeout)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	out, err := s.ShowAll(ctx)
	if errors.As(err, new(*switches.UnlikeError)) {
		return nil, err
	}
	var have switches.Reading
	if err == nil {
		have, err = os.Parse(out)
	}
	if err != nil {
		advice := cmp.Or(hint.Of(err), "if it is of another system than "+os.Name+", weft does not speak to it: leave it out")
		return nil, hint.Wrap(fmt.Errorf("it shows the prompt of %s, and does not answer as such a switch: %w", os.Name, err), "%s", advice)
	}
	if err := s.Operating(ctx, &have); err != nil {
		return nil, fmt.Errorf("read what PFC does: %w", err)
	}
	heard, err := s.Neighbours(ctx)
	var unclear *switches.UnclearError
	if err != nil && !errors.As(err, &unclear) && !errors.As(err, new(*switches.WithoutError)) {
		return nil, fmt.Errorf("read the neighbours: %w", err)
	}
	learned, err := s.Stations(ctx)
	var unlearned *switches.UnclearError
	if err != nil && !errors.As(err, &unlearned) {
		return nil, fmt.Errorf("read the MAC addresses that it has learned: %w", err)
	}
	slices.SortStableFunc(heard, func(a, b switches.Neighbour) int { return natural(a.Port, b.Port) })
	sw := &Switch{Host: name, OS: os, Reading: have, Neighbours: heard, Strange: unclear, Stations: learned, Unlearned: unlearned}
	if os.Meaning != nil {
		sw.Meant = os.Meaning(out)
	}
	return sw, nil
}

// readServer takes all there is to read of a machine in one batch. Where it cannot be read
// as one of the usual system, it may be of another.
func (r *Reach) readServer(ctx context.Context, m Named) (_ *Server, unread []error, err error) {
	s, unread, err := r.readAs(ctx, m, r.HostOS)
	if err == nil {
		return s, unread, nil
	}
	other, calls := r.other(ctx, m)
	if other == nil {
		return nil, nil, err
	}
	if s, unread, err = r.readAs(ctx, m, other); err != nil {
		return nil, nil, hint.Wrap(fmt.Errorf("it is %s, and cannot be read: %w", calls, err), "%s", hint.Of(err))
	}
	s.Named = true
	return s, unread, nil
}

func (r *Reach) readAs(ctx context.Context, m Named, os *host.OS) (_ *Server, unread []error, err error) {
	user := r.Login.who(m, os.Name)
	login, hangUp, err := r.Server(m, os, user)(ctx, false)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, hangUp()) }()
	t := os.Open(login)
	seen, err := t.Read(ctx, slices.Concat(os.Who.Looks(), os.Facts.Survey(), os.Memory.Looks("", nil)))
	if err != nil {
		return nil, nil, err
	}
	facts, err := os.Facts.Surveyed(seen)
	if err != nil {
		return nil, nil, err
	}
	kept, err := os.Memory.Parse(seen, "", nil)
	if err != nil {
		return nil, nil, err
	}
	ledgers, unread := host.Remembrances(kept)
	if kept.Unable != nil {
		unread = append(unread, kept.Unable)
	}
	return &Server{Host: m.Host, Name: m.Name, User: user, Password: m.Password && user == m.User, System: os, MachineID: os.Who.Parse(seen).MachineID, Facts: facts, Ledgers: ledgers}, unread, nil
}

// other is which other system a machine is of that lets weft in and cannot be read, and
// what that calls itself; nil: it is of none. Only the looks at who a machine is are sent.
func (r *Reach) other(ctx context.Context, m Named) (os *host.OS, calls string) {
	for _, o := range r.OtherOS {
		login, hangUp, err := r.Server(m, o, r.Login.who(m, o.Name))(ctx, false)
		if err != nil {
			continue
		}
		seen, err := o.Open(login).Read(ctx, o.Who.Looks())
		_ = hangUp() // it was only looked at
		if err != nil {
			continue
		}
		if id := o.Who.Parse(seen); id.MachineID != "" {
			return o, cmp.Or(id.System, o.Name)
		}
	}
	return nil, ""
}

// alike leaves out what answers under two names: written twice it would be changed
// twice.
func (s *Site) alike() {
	serials := map[string]string{}
	for _, sw := range s.Switches { // those that were named keep their names
		if serial := sw.Reading.Facts.Serial; !sw.followed && serials[serial] == "" {
			serials[serial] = sw.Host
		}
	}
	s.Switches = slices.DeleteFunc(s.Switches, func(sw *Switch) bool {
		serial := sw.Reading.Facts.Serial
		first := serials[serial]
		switch {
		case serial == "" || first == sw.Host:
			return false
		case first == "":
			serials[serial] = sw.Host
			return false
		case !sw.followed:
			s.found(Error, sw.Host, "name it once", "it is the switch that answers as %s, too: serial %s", first, serial)
		}
		return true
	})
	machines := map[string]*Server{}
	s.Servers = slices.DeleteFunc(s.Servers, func(m *Server) bool {
		first := machines[m.MachineID]
		if m.MachineID == "" || first == nil {
			machines[m.MachineID] = m
			return false
		}
		if first.sameHardware(m) {
			s.found(Error, m.Host, "name it once", "it is the machine that answers as %s, too: its machine id and its NICs are the same", first.Host)
			return true
		}
		s.found(Error, m.Host, "give each its own: remove /etc/machine-id and run systemd-machine-id-setup, then restart", "it has the machine id of %s, and other NICs: one was cloned from the other", first.Host)
		return false
	})
}

// sameHardware reports whether two machines have a NIC in common.
func (s *Server) sameHardware(other *Server) bool {
	return slices.ContainsFunc(s.Facts.NICs, func(a host.NICFacts) bool {
		return a.MAC != "" && slices.ContainsFunc(other.Facts.NICs, func(b host.NICFacts) bool { return strings.EqualFold(a.MAC, b.MAC) })
	})
}
