package prove

import (
	"context"
	"net/netip"
	"slices"

	"weft/internal/remote"
	"weft/internal/slice"
	"weft/inventory"
)

// A Witness asks a machine what it knows of its own connections: of each way whatever can
// be told.
type Witness func(ctx context.Context, h remote.Host, ways []Way) ([]Testimony, error)

// A Way leads from a NIC to a portal.
type Way struct {
	NIC        *inventory.RNIC
	Portal     netip.AddrPort
	Subsystems []string // NQNs
}

// A Testimony is what a machine says of a way, or of its NIC.
type Testimony struct {
	Way     int // of those that were asked for
	OfNIC   bool
	Metric  string
	Verdict Verdict
	Why     string // it does not hold, or is not known
	Note    string // what was looked at
}

// Why nothing was measured from such a machine, or only latency.
const (
	unprobed = "weft's probes do not run there"
	readsOne = "weft's probe there reads over TCP, one command at a time, and does no more"
)

// unprobed says why a flow from a server with a witness is not measured; "": it is.
func (r *run) unprobed(f flow) string {
	switch {
	case !f.plain:
		return unprobed
	case f.wire != "":
		return readsOne
	case !slices.Contains(f.target.Transport, "tcp"):
		return readsOne + ": " + f.target.Addr + " serves no TCP"
	}
	return ""
}

// unasked is why nothing but latency is measured from a server with a witness.
func (r *run) unasked(s *inventory.Server) string {
	if r.agent(s) != nil {
		return readsOne
	}
	return unprobed
}

// agent is the host over which weft-initiator is run on a server with a witness; nil: none
// runs there.
func (r *run) agent(s *inventory.Server) func(remote.Host) remote.Host {
	if r.in.Agent == nil || r.witness(s) == nil {
		return nil
	}
	return r.in.Agent(s)
}

// prober is the host over which weft-initiator is run on a server.
func (r *run) prober(ctx context.Context, s *inventory.Server) (remote.Host, error) {
	host, err := r.hosts.of(ctx, s)
	if over := r.agent(s); over != nil && err == nil {
		return over(host), nil
	}
	return host, err
}

// plain notes the flows whose probes read over TCP only.
func (r *run) plain(all []flow) []flow {
	for i, f := range all {
		all[i].plain = !f.local && r.agent(f.from) != nil
	}
	return all
}

// witness is how a server is asked on which weft's probes do not run as on Linux; nil: they
// do.
func (r *run) witness(s *inventory.Server) Witness {
	if r.in.Witness == nil {
		return nil
	}
	return r.in.Witness(s)
}

// judgeUnprobed judges a flow that no probe measures. It is inconclusive where no other host
// was measured over the same plane.
func judgeUnprobed(res *Result, v *inventory.Validation, m *inventory.Metric, row *Row) Judgement {
	j := Judgement{Validation: v.Name, Metric: m.Name, Pair: row.Pair(), Size: row.Size, Limit: m.Max, Latency: m.Latency(), Verdict: NotMeasured, Why: row.Why,
		Absence: row.Absence}
	if !slices.ContainsFunc(res.Rows, func(other *Row) bool {
		instead := other.flow.plain && !row.flow.plain // TCP of a host that has no more does not stand in for RDMA
		return !other.Unprobed && !instead && other.Why == "" && other.Probe == row.Probe && other.Plane == row.Plane
	}) {
		j.Verdict, j.Why = Inconclusive, row.Why+", and no other host was measured over this plane"
	}
	return j
}

// A peer is a way from a host to another one with which it shares files over RDMA.
type peer struct {
	from *inventory.Server
	way  Way
	row  Row // for its label
}

// smb is the port at which hosts share files.
const smb = 445

// settled reports whether a rollout has left nothing to do about the server of a NIC and the
// switches of its plane: before, nobody is asked what goes over it.
func (r *run) settled(nic *inventory.RNIC) bool {
	return r.in.Settled == nil || r.in.Settled(nic.Server.Addr) && r.standing(nic, inventory.Portal{})
}

// standing reports whether a rollout has left nothing to do about a NIC, the one at the far
// end and the switches of its plane: what comes in a later phase is not judged before.
func (r *run) standing(nic *inventory.RNIC, p inventory.Portal) bool {
	for _, end := range []*inventory.RNIC{nic, p.RNIC} {
		if end != nil && r.in.Ready != nil && slices.ContainsFunc(standsOn(end), func(p [2]string) bool { return !r.in.Ready(p[0], p[1]) }) {
			return false
		}
	}
	return r.in.Settled == nil || nic.Plane == nil || !slices.ContainsFunc(r.in.Model.Switches, func(sw *inventory.Switch) bool {
		return sw.Fabric == nic.Fabric && sw.Plane == nic.Plane.Name && !r.in.Settled(sw.Addr)
	})
}

// standsOn is what packets of a NIC go through on its machine, and on its distributed switch:
// devices and the names of their resources.
func standsOn(nic *inventory.RNIC) [][2]string {
	list := [][2]string{{nic.Server.Addr, nic.Name}}
	if v := nic.VMK; v != nil {
		list = append(list, [2]string{nic.Server.Addr, v.ID}, [2]string{nic.Server.Addr, v.VSwitch})
	}
	if d := nic.DVSwitch; d != nil && d.VCenter != nil {
		list = append(list, [2]string{d.VCenter.Addr, d.Path})
	}
	return list
}

// peers are those of all hosts with a witness, each NIC to those of its plane.
func (r *run) peers() (list []peer) {
	for _, a := range r.in.Model.Servers {
		if a.SMB == nil || r.witness(a) == nil {
			continue
		}
		for _, b := range r.in.Model.Servers {
			for _, nic := range a.RNICs {
				if a == b || b.SMB == nil || nic.Plane == nil || nic.Fabric.Transport == "tcp" {
					continue
				}
				if far := inPlane(b, nic.Plane); far != nil && r.settled(nic) && r.settled(far) {
					at := netip.AddrPortFrom(far.Address.Addr(), smb)
					list = append(list, peer{a, Way{NIC: nic, Portal: at}, Row{Initiator: a.Addr, Target: b.Addr, Plane: nic.Plane.Name}})
				}
			}
		}
	}
	return list
}

// testified asks each server that has a witness about all ways of its initiators, and to
// its peers.
func (r *run) testified(ctx context.Context) (out []Judgement) {
	type asked struct {
		ask    Witness
		ways   []Way
		labels []string
	}
	all, order := map[*inventory.Server]*asked{}, []*inventory.Server{}
	add := func(s *inventory.Server, ask Witness, w Way, row *Row) {
		if all[s] == nil {
			all[s], order = &asked{ask: ask}, append(order, s)
		}
		all[s].ways, all[s].labels = append(all[s].ways, w), append(all[s].labels, row.Pair())
	}
	for _, p := range r.peers() {
		add(p.from, r.witness(p.from), p.way, &p.row)
	}
	for _, i := range r.in.Model.Initiators {
		ask := r.witness(i.Server)
		if ask == nil {
			continue
		}
		for _, t := range i.Reaches() {
			if r.in.There != nil && !r.in.There(i.Server, t) {
				continue
			}
			for _, p := range t.Portals {
				nic := nicTowards(i.Server, p)
				if nic == nil || !r.standing(nic, p) {
					continue
				}
				w := Way{NIC: nic, Portal: p.Address}
				w.Subsystems = slice.Map(t.Subsystems, func(sub *inventory.Subsystem) string { return sub.NQN })
				row := &Row{Initiator: i.Server.Addr, Target: t.Addr}
				row.Plane, row.At = flow{target: t, portal: p}.plane()
				row.Remote = p.Address.String()
				add(i.Server, ask, w, row)
			}
		}
	}
	answers := make([][]Judgement, len(order))
	asking := newQuestions()
	for n, s := range order {
		asking.Go(func() { answers[n] = r.hear(ctx, s, all[s].ask, all[s].ways, all[s].labels) })
	}
	asking.Wait()
	return slices.Concat(answers...)
}

// hear is what one server says. One that says nothing has proven nothing.
func (r *run) hear(ctx context.Context, s *inventory.Server, ask Witness, ways []Way, labels []string) (out []Judgement) {
	h, err := r.hosts.of(ctx, s)
	var says []Testimony
	if err == nil {
		says, err = ask(ctx, h, ways)
	}
	if err != nil {
		return []Judgement{{Validation: pathName, Metric: "connections", Pair: s.Addr, Counted: true, Verdict: Inconclusive, Why: err.Error()}}
	}
	for _, t := range says {
		j := Judgement{Validation: pathName, Metric: t.Metric, Pair: labels[t.Way], Counted: true, Verdict: t.Verdict, Why: t.Why, Note: t.Note}
		if t.OfNIC {
			j.Pair = portOf(ways[t.Way].NIC)
		}
		switch t.Verdict {
		case Fail:
			j.Value = 1
		case NotMeasured:
			j.Absence = r.absent(s)
		}
		out = append(out, j)
	}
	return out
}

// nicTowards is the NIC of a server from which a portal is reached; nil: there is none.
func nicTowards(s *inventory.Server, p inventory.Portal) *inventory.RNIC {
	if r := inPlane(s, p.Plane); r != nil {
		return r
	}
	i := slices.IndexFunc(s.RNICs, func(r *inventory.RNIC) bool {
		return r.Address.IsValid() && r.Address.Masked().Contains(p.Address.Addr())
	})
	if i < 0 {
		return nil
	}
	return s.RNICs[i]
}
