package prove

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/internal/lossless"
	"weft/internal/remote"
	"weft/internal/topology"
	"weft/inventory"
	"weft/modules/host"
	"weft/switches"
)

// losslessName is the metric of what hops do to lossless classes.
const losslessName = "lossless"

// A Configuration is what the devices on declared paths were set to at one time.
type Configuration struct {
	Time time.Time
	lossless.Readings
}

// Settings asks a server what its NICs are set to.
type Settings func(context.Context, remote.Host) (*host.Reading, error)

// lossless judges every hop of every declared path: NIC, leaf ports, ports between switches,
// and NIC. In a gate hops that are not rolled out yet are left out.
func (r *run) lossless(ctx context.Context, res *Result) []Judgement {
	m := r.in.Model
	if r.in.Configured == nil || !slices.ContainsFunc(m.Fabrics, (*inventory.Fabric).Lossless) {
		return nil
	}
	cover := topology.Cover(m, topology.Of(m), nil)
	cover.Places = slices.DeleteFunc(cover.Places, func(p topology.Place) bool {
		return !p.Fabric.Lossless() || !r.rolledOut(p)
	})
	if len(cover.Places) == 0 {
		return nil
	}
	res.Configuration = r.in.Configuration
	if res.Configuration == nil {
		res.Configuration = r.configuration(ctx, cover.Places)
	}
	var out []Judgement
	for _, x := range lossless.Judge(m.Name, cover.Places, &res.Configuration.Readings) {
		out = append(out, r.hop(x))
	}
	if r.in.Ready != nil {
		return out // what the files do not say is not a matter of this phase
	}
	for _, g := range cover.Gaps {
		j := Unmeasured(pathName, losslessName, g.At, g.Why+over(g.Paths))
		j.Absence = r.absentAt(strings.Fields(g.At)[0])
		j.Undeclared = g.External
		out = append(out, j)
	}
	return out
}

// peersOnly reports whether the declared paths of a lossless fabric are only those between
// hosts, such as of vSAN.
func (r *run) peersOnly() bool {
	m := r.in.Model
	return r.in.Configured != nil && len(m.Initiators) == 0 && slices.ContainsFunc(topology.Cover(m, topology.Of(m), nil).Places, func(p topology.Place) bool { return p.Fabric.Lossless() })
}

// Unread are the switches on paths of lossless fabrics that weft does not read and that no
// validation allows to go without a measurement.
func Unread(m *inventory.Model) (out []string) {
	for _, sw := range topology.Cover(m, topology.Of(m), nil).Unmanaged() {
		if !slices.ContainsFunc(m.Validations, func(v *inventory.Validation) bool {
			return slices.Contains(v.AllowUnmeasured, sw.Addr) || sw.OS != "" && slices.Contains(v.AllowUnmeasured, sw.OS)
		}) {
			out = append(out, sw.Addr)
		}
	}
	return out
}

// rolledOut reports whether a rollout that is under way has left nothing to do about a place.
// Where a system sets a NIC through objects with names of their own, as ESXi does with
// virtual switches, the whole server has to be done.
func (r *run) rolledOut(p topology.Place) bool {
	if p.RNIC != nil && r.witness(p.RNIC.Server) != nil && r.in.Settled != nil && !r.in.Settled(p.Device()) {
		return false
	}
	return r.in.Ready == nil || r.in.Ready(p.Device(), p.Part())
}

// hop makes a judgement of what was found at one place.
func (r *run) hop(x lossless.Result) Judgement {
	j := Judgement{Validation: pathName, Metric: losslessName, Pair: x.String(), Counted: true, Verdict: Pass, IDs: x.IDs()}
	switch {
	case x.Broken():
		j.Verdict, j.Value, j.Where, j.Why = Fail, 1, "at "+x.String(), x.Text()+over(x.Paths)+numbered(j.IDs)
	case x.Unknown():
		j.Verdict, j.Why = NotMeasured, x.Text()+over(x.Paths)
		if j.Absence = r.absentAt(x.Device); j.System == "" && x.System != "" {
			j.Lacks = append(j.Lacks, x.System) // of a switch
		}
		if x.NIC && !slices.ContainsFunc(x.Findings, func(f lossless.Finding) bool { return f.Aspect != lossless.ECN }) {
			j.Lacks, j.System = append(j.Lacks, inventory.NICECN), "ECN of NICs"
		}
	}
	return j
}

// numbered are the checks of weft doctor that report the same.
func numbered(ids []string) string { return " [" + strings.Join(ids, ", ") + "]" }

func over(paths int) string {
	if paths == 1 {
		return " (on 1 path)"
	}
	return fmt.Sprintf(" (on %d paths)", paths)
}

// configuration reads each device of some places once.
func (r *run) configuration(ctx context.Context, places []topology.Place) *Configuration {
	out := &Configuration{Time: time.Now(), Readings: lossless.Readings{Switches: map[string]*switches.Reading{}, Servers: map[string]*host.Reading{}, Unread: map[string]string{}}}
	var mu sync.Mutex
	asking, asked := newQuestions(), map[string]bool{}
	ask := func(device string, read func() (keep func(), err error)) {
		if asked[device] {
			return
		}
		asked[device] = true
		asking.Go(func() {
			keep, err := read()
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				keep()
				return
			}
			out.Unread[device] = err.Error()
			if h := hint.Of(err); h != "" {
				out.Unread[device] += " (" + h + ")"
			}
		})
	}
	for _, p := range places {
		switch sw := p.Port.Switch; {
		case p.RNIC != nil:
			ask(p.Device(), func() (func(), error) {
				read, err := r.settings(ctx, p.RNIC.Server)
				return func() { out.Servers[p.Device()] = read }, err
			})
		case !sw.Unmanaged:
			ask(sw.Addr, func() (func(), error) {
				read, err := r.in.Configured(ctx, sw)
				return func() { out.Switches[sw.Addr] = read }, err
			})
		}
	}
	asking.Wait()
	return out
}

func (r *run) settings(ctx context.Context, s *inventory.Server) (*host.Reading, error) {
	read, err := r.in.Settings(s)
	if err != nil {
		return nil, err
	}
	h, err := r.hosts.of(ctx, s)
	if err != nil {
		return nil, err
	}
	return read(ctx, h)
}
