package prove

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/internal/tally"
	"weft/inventory"
)

// A Counter is something that a switch port or a NIC counts, in the words of
// package switches for both.
type Counter struct {
	Device   string `json:"device"`   // HCL address
	Port     string `json:"port"`     // of a switch, or the name of the rnic block
	Priority int    `json:"priority"` // 802.1p; tally.AllPriorities
	Name     string `json:"name"`
}

// A Sample is what a counter stood at.
type Sample struct {
	Counter
	Time   time.Time `json:"time"`
	Value  uint64    `json:"value"`
	Line   string    `json:"line"`             // what was typed to see it
	Off    string    `json:"off,omitempty"`    // why nothing is counted there: Value says nothing
	Untold bool      `json:"untold,omitempty"` // the system of the device does not report it
}

// A Missing is a counter that could not be read, and why.
type Missing struct {
	Device string `json:"device"`
	Port   string `json:"port,omitempty"` // "": none of the device
	Name   string `json:"name,omitempty"` // "": none of the port
	Why    string `json:"why"`
}

// A Snapshot is the counters of switches and NICs at one time.
type Snapshot struct {
	Samples []Sample  `json:"samples"`
	Missing []Missing `json:"missing,omitempty"`

	// Agents are when the weft-target of each server was started, by the clock
	// there, where it was asked.
	Agents map[string]time.Time `json:"agents,omitempty"`
}

// join is what two snapshots of different devices hold; nil where there is none.
func (r *Snapshot) join(other *Snapshot) *Snapshot {
	if r == nil || other == nil {
		return cmp.Or(r, other)
	}
	all := &Snapshot{Samples: slices.Concat(r.Samples, other.Samples), Missing: slices.Concat(r.Missing, other.Missing), Agents: map[string]time.Time{}}
	maps.Copy(all.Agents, r.Agents)
	maps.Copy(all.Agents, other.Agents)
	return all
}

// Since is what the next look counts on from: what could not be read now stands
// as it did in the reading before, so that a device that was away for a while is
// judged by all that it has counted meanwhile. Nil where there is no reading.
func (r *Snapshot) Since(before *Snapshot) *Snapshot {
	if r == nil || before == nil {
		return r
	}
	next := &Snapshot{Samples: slices.Clone(r.Samples), Missing: r.Missing, Agents: maps.Clone(before.Agents)}
	read := make(map[Counter]bool, len(r.Samples))
	for _, s := range r.Samples {
		read[s.Counter] = true
	}
	for _, s := range before.Samples {
		if !read[s.Counter] {
			next.Samples = append(next.Samples, s)
		}
	}
	if next.Agents == nil {
		next.Agents = map[string]time.Time{}
	}
	maps.Copy(next.Agents, r.Agents)
	return next
}

// find is the sample of a counter, or what kept it from being read.
func (r *Snapshot) find(c Counter) (s Sample, ok bool, why string) {
	if r == nil {
		return Sample{}, false, "no device was asked"
	}
	if i := slices.IndexFunc(r.Samples, func(s Sample) bool { return s.Counter == c }); i >= 0 {
		return r.Samples[i], true, ""
	}
	for _, m := range r.Missing {
		if m.Device == c.Device && (m.Port == "" || m.Port == c.Port) && (m.Name == "" || m.Name == c.Name) {
			return Sample{}, false, m.Why
		}
	}
	return Sample{}, false, "the device does not say"
}

// places are the ports and NICs whose counters a reading asks for.
type places struct {
	switches map[*inventory.Switch][]string
	servers  map[*inventory.Server][]*inventory.RNIC
}

// cabled are the ports of managed switches that links name, and the NICs of a
// fabric.
func cabled(m *inventory.Model) places {
	p := places{map[*inventory.Switch][]string{}, map[*inventory.Server][]*inventory.RNIC{}}
	for _, l := range m.Links {
		for _, end := range []inventory.LinkEnd{l.From, l.To} {
			if sw := end.Switch; sw != nil && !sw.Unmanaged && sw.Fabric != nil && !slices.Contains(p.switches[sw], end.Port) {
				p.switches[sw] = append(p.switches[sw], end.Port)
			}
		}
	}
	for s, r := range m.RNICs() {
		if r.Fabric != nil {
			p.servers[s] = append(p.servers[s], r)
		}
	}
	return p
}

// atOnce is how many devices are asked at once.
const atOnce = 16

// questions are what devices are asked, atOnce of them at the same time.
type questions struct {
	slots chan struct{}
	open  sync.WaitGroup
}

func newQuestions() *questions { return &questions{slots: make(chan struct{}, atOnce)} }

// Go asks, once it is its turn.
func (q *questions) Go(ask func()) {
	q.slots <- struct{}{}
	q.open.Go(func() {
		defer func() { <-q.slots }()
		ask()
	})
}

// Wait waits for all answers.
func (q *questions) Wait() { q.open.Wait() }

// read asks all devices what they have counted.
func (r *run) read(ctx context.Context) *Snapshot { return r.readAt(ctx, cabled(r.in.Model)) }

// readAt asks some. A device that does not answer is missing, and no error.
func (r *run) readAt(ctx context.Context, p places) *Snapshot {
	out := &Snapshot{}
	var mu sync.Mutex
	asking := newQuestions()
	ask := func(device string, read func() ([]Sample, []Missing, error)) {
		asking.Go(func() {
			samples, missing, err := read()
			if err != nil {
				why := err.Error()
				if h := hint.Of(err); h != "" {
					why += " (" + h + ")"
				}
				missing = append(missing, Missing{Device: device, Why: why})
			}
			mu.Lock()
			defer mu.Unlock()
			out.Samples, out.Missing = append(out.Samples, samples...), append(out.Missing, missing...)
		})
	}
	for _, sw := range r.in.Model.Switches {
		if ports := p.switches[sw]; ports != nil {
			ask(sw.Addr, func() ([]Sample, []Missing, error) { return r.readSwitch(ctx, sw, ports) })
		}
	}
	for _, s := range r.in.Model.Servers {
		if nics := p.servers[s]; nics != nil {
			ask(s.Addr, func() ([]Sample, []Missing, error) { return r.readServer(ctx, s, nics) })
		}
	}
	asking.Wait()
	slices.SortStableFunc(out.Samples, func(a, b Sample) int {
		if c := strings.Compare(a.Device, b.Device); c != 0 {
			return c
		}
		return strings.Compare(a.Port, b.Port)
	})
	return out
}

func (r *run) readSwitch(ctx context.Context, sw *inventory.Switch, ports []string) (samples []Sample, missing []Missing, err error) {
	if r.in.Switch == nil {
		return nil, nil, errors.New("switches are not asked")
	}
	return told(sw.Addr)(r.in.Switch(ctx, sw, ports))
}

// readServer asks a server what its NICs have counted.
func (r *run) readServer(ctx context.Context, s *inventory.Server, nics []*inventory.RNIC) (samples []Sample, missing []Missing, err error) {
	if r.in.NICs == nil {
		return nil, nil, errors.New("servers are not asked")
	}
	count, err := r.in.NICs(s)
	if err != nil {
		return nil, nil, err
	}
	host, err := r.hosts.of(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	return told(s.Addr)(count(ctx, host, nics))
}

// told makes samples of what a device has counted.
func told(device string) func(*tally.Ports, error) ([]Sample, []Missing, error) {
	return func(ports *tally.Ports, err error) (samples []Sample, missing []Missing, _ error) {
		if err != nil {
			return nil, nil, err
		}
		now := time.Now()
		for _, c := range ports.Counts {
			samples = append(samples, Sample{Counter{device, c.Port, c.Priority, c.Name}, now, c.Value, c.Line, c.Off, c.Untold})
		}
		for _, g := range ports.Gaps {
			missing = append(missing, Missing{device, g.Port, g.Name, g.Why})
		}
		return samples, missing, nil
	}
}
