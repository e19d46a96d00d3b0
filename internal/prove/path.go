package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/tally"
	"weft/inventory"
)

// pathName is what judgements about the way of packets stand under.
const pathName = "path"

// A leg is one pair over one plane, with what lies between.
type leg struct {
	from, to *inventory.RNIC
	portal   inventory.Portal
	target   *inventory.Target
	parts    []string // NICs and switch ports, in their order
	label    string
	direct   bool // a cable joins the two NICs: no switch is between them
}

// legs are the pairs of a model over the planes that both ends have.
func legs(m *inventory.Model, there func(*inventory.Server, *inventory.Target) bool) []leg {
	port := map[*inventory.RNIC]inventory.LinkEnd{}
	joined := map[*inventory.RNIC]*inventory.RNIC{}
	for _, l := range m.Links {
		joined[l.From.RNIC], joined[l.To.RNIC] = l.To.RNIC, l.From.RNIC
		for _, e := range [][2]inventory.LinkEnd{{l.From, l.To}, {l.To, l.From}} {
			if e[0].RNIC != nil && e[1].Switch != nil {
				port[e[0].RNIC] = e[1]
			}
		}
	}
	var out []leg
	for _, i := range m.Initiators {
		for _, t := range i.Reaches() {
			if t.Server == nil || there != nil && !there(i.Server, t) {
				continue
			}
			for _, p := range t.Portals {
				if from := inPlane(i.Server, p.Plane); from != nil && p.RNIC != nil {
					row := &Row{Initiator: i.Server.Addr, Target: t.Addr, Plane: p.Plane.Name}
					l := leg{from: from, to: p.RNIC, portal: p, target: t, label: row.Pair(), direct: joined[from] == p.RNIC}
					l.parts = append(l.parts, portOf(from))
					for _, end := range []*inventory.RNIC{from, p.RNIC} {
						if e, ok := port[end]; ok {
							l.parts = append(l.parts, e.Switch.Addr+" "+e.Port)
						}
					}
					l.parts = append(l.parts, portOf(p.RNIC))
					out = append(out, l)
				}
			}
		}
	}
	return out
}

func portOf(r *inventory.RNIC) string { return r.Server.Addr + " " + r.Name }

// inPlane is the NIC that a server has in a plane; nil: none.
func inPlane(s *inventory.Server, p *inventory.Plane) *inventory.RNIC {
	i := slices.IndexFunc(s.RNICs, func(r *inventory.RNIC) bool { return p != nil && r.Plane == p && r.Address.IsValid() })
	if i < 0 {
		return nil
	}
	return s.RNICs[i]
}

// locate says where something is wrong that some ways have and others have not:
// what all of the bad ones share and none of the good ones touches.
func locate(bad, good [][]string) string {
	if len(bad) == 0 {
		return ""
	}
	shared := slices.Clone(bad[0])
	for _, way := range bad[1:] {
		shared = slices.DeleteFunc(shared, func(part string) bool { return !slices.Contains(way, part) })
	}
	for _, way := range good {
		shared = slices.DeleteFunc(shared, func(part string) bool { return slices.Contains(way, part) })
	}
	switch len(shared) {
	case 0:
		if len(bad) == 1 {
			return "" // it is the way as a whole: each part of it serves others
		}
		return "in more than one place"
	case 1:
		return "at " + shared[0]
	}
	return "undecided between " + strings.Join(shared[:len(shared)-1], ", ") + " and " + shared[len(shared)-1]
}

// jumbo proves for every pair and plane that packets as long as the NICs may
// send them arrive whole, and says where they do not.
func (r *run) jumbo(ctx context.Context, all []leg) []Judgement {
	out := make([]Judgement, len(all))
	asking := newQuestions()
	for i, l := range all {
		asking.Go(func() {
			out[i] = r.ping(ctx, l)
		})
	}
	asking.Wait()
	planes := map[*inventory.Plane][2][][]string{} // ways that fail, and ways that pass
	for i, l := range all {
		ways := planes[l.portal.Plane]
		switch out[i].Verdict {
		case Fail:
			ways[0] = append(ways[0], l.parts)
		case Pass:
			ways[1] = append(ways[1], l.parts)
		}
		planes[l.portal.Plane] = ways
	}
	for i, l := range all {
		if out[i].Verdict == Fail {
			ways := planes[l.portal.Plane]
			out[i].Where = locate(ways[0], ways[1])
		}
	}
	return out
}

// ipHeader is what an IPv4 packet has before the data of a ping, and ip6Header
// what an IPv6 packet has.
const ipHeader, ip6Header = 28, 48

// ping sends the longest packet that need not be taken apart, and where that
// does not arrive a short one.
func (r *run) ping(ctx context.Context, l leg) Judgement {
	mtu := 1500
	if l.from.Fabric != nil && l.from.Fabric.HostMTU > 0 {
		mtu = l.from.Fabric.HostMTU
	}
	j := Judgement{Validation: pathName, Metric: "jumbo", Pair: l.label, Counted: true, Verdict: Inconclusive, Note: fmt.Sprintf("packets of %d bytes that nobody takes apart", mtu)}
	host, err := r.hosts.of(ctx, l.from.Server)
	if err != nil {
		j.Why = err.Error()
		return j
	}
	to, header := l.portal.Address.Addr(), ipHeader
	if to.Is6() {
		header = ip6Header
	}
	try := func(size int) (arrived bool, said string, err error) {
		out, err := host.Run(ctx, remote.Cmd{Args: []string{"ping", "-c", "2", "-W", "2", "-M", "do", "-s", strconv.Itoa(size), "-I", l.from.Address.Addr().String(), to.String()}})
		var exit *remote.ExitError
		if errors.As(err, &exit) && (exit.Code == 1 || exit.Code == 2) && exit.Code != 127 {
			return false, lastLine(string(exit.Output.Stdout) + "\n" + string(exit.Output.Stderr)), nil
		}
		return err == nil, lastLine(string(out.Stdout)), err
	}
	arrived, said, err := try(mtu - header)
	switch {
	case err != nil:
		j.Why = "ping: " + err.Error()
		return j
	case arrived:
		j.Verdict = Pass
		return j
	}
	short, _, err := try(56)
	switch {
	case err != nil:
		j.Why = "ping: " + err.Error()
	case short:
		j.Verdict, j.Value, j.Why = Fail, 1, fmt.Sprintf("short packets arrive, those of %d bytes do not: %s", mtu, said)
	default:
		j.Verdict, j.Value, j.Why = Fail, 1, "nothing arrives, of any length: "+said
	}
	return j
}

// lastLine is the last line of a text that says something.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for _, line := range lines {
		if strings.Contains(line, "too long") || strings.Contains(line, "needed") || strings.Contains(line, "rror") {
			return strings.TrimSpace(line)
		}
	}
	for _, line := range slices.Backward(lines) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "rtt") {
			return strings.TrimSpace(line)
		}
	}
	return "no answer"
}

// classified proves for what was measured in lossless fabrics that NICs marked it as the
// class of its transport, and that every switch on its way put it into the queue of that
// class. It goes by what ports and NICs have counted.
func (r *run) classified(res *Result, all []leg) (out []Judgement) {
	for _, l := range all {
		for _, j := range r.classifiedOn(res, all, l) {
			j.early = !r.reached(l)
			out = append(out, j)
		}
	}
	return out
}

func (r *run) classifiedOn(res *Result, all []leg, l leg) []Judgement {
	class := l.class()
	if class == nil || !l.from.Fabric.Lossless() {
		return nil
	}
	if _, ok := moved(res, l); !ok {
		return nil // it is judged already why nothing was read
	}
	// Ports and NICs count all pairs that they are on the way of.
	back := together(res, all, func(o leg) bool { return o.to == l.to })
	sent, why := res.grown(Counter{l.to.Server.Addr, l.to.Name, class.Priority, tally.TxBytes})
	kept := ""
	if old := res.keptClass(l, class, sent, back); old != nil {
		kept = "; warning: as before " + class.Name + " was the class of TCP: carries = [\"tcp\"] in a traffic_class of " + l.from.Fabric.Addr + " says which it is"
		class, sent = old, back
	}
	j := Judgement{Validation: pathName, Metric: "marked", Pair: l.label, Counted: true, Note: "as " + class.Name + dscps(class) + kept, Verdict: Inconclusive}
	if l.first() == inventory.RDMA && degraded(res, l) {
		j.Note += "; TCP in place of RDMA"
	}
	if why != "" {
		j.Why, j.unread = l.parts[len(l.parts)-1]+": "+why, res.unread(l.to.Server.Addr)
		return r.markedUnseen(res, all, l, class, j)
	}
	marked := sent >= back
	switch {
	case marked:
		j.Verdict = Pass
	case degraded(res, l):
		j.Why = "it was measured over TCP, and the NIC sent less of priority " + strconv.Itoa(class.Priority) + " than was read"
	default:
		j.Verdict, j.Value, j.Where = Fail, 1, "at "+l.parts[len(l.parts)-1]
		j.Why = fmt.Sprintf("the NIC sent %d bytes of priority %d, and %d were read", sent, class.Priority, back)
	}
	if !marked || l.direct {
		return []Judgement{j}
	}
	q := r.queued(res, l, class, together(res, all, func(o leg) bool { return o.from == l.from }))
	if q.Verdict == Fail {
		q.Why = "it was marked, but " + q.Why
	}
	return []Judgement{j, q}
}

// markedUnseen judges a leg whose NIC does not count by priority. What the
// switch has found in the queue of the class was marked, too; what it has not is
// wrong at one of the two.
func (r *run) markedUnseen(res *Result, all []leg, l leg, class *inventory.TrafficClass, j Judgement) []Judgement {
	if l.direct {
		return []Judgement{j}
	}
	q := r.queued(res, l, class, together(res, all, func(o leg) bool { return o.from == l.from }))
	switch {
	case q.Verdict == Pass:
		j.Verdict, j.Note = Pass, j.Note+"; the NIC does not count that, the switch has found the mark"
	case q.Verdict == Fail && degraded(res, l):
		q.Verdict, q.Where = Inconclusive, ""
		q.Why = "it was measured over TCP, and whether it was marked is not known; " + q.Why
	case q.Verdict == Fail:
		q.Where = "undecided between " + l.parts[len(l.parts)-1] + " and " + strings.TrimPrefix(q.Where, "at ")
		q.Why = "not marked, or not classified: " + q.Why
	}
	return []Judgement{j, q}
}

// queued judges the switch port where what was read leaves for the initiator.
func (r *run) queued(res *Result, l leg, class *inventory.TrafficClass, back uint64) Judgement {
	j := Judgement{Validation: pathName, Metric: "classified", Pair: l.label, Counted: true, Note: fmt.Sprintf("as %s, queue %d", class.Name, class.Priority), Verdict: Inconclusive}
	if len(l.parts) < 3 {
		j.Why = "no cable of its initiator is declared"
		return j
	}
	device, port, _ := strings.Cut(l.parts[1], " ")
	got, why := res.grown(Counter{device, port, class.Priority, tally.TxBytes})
	switch {
	case why != "":
		j.Why, j.unread = l.parts[1]+": "+why, res.unread(device)
	case got >= back:
		j.Verdict = Pass
	default:
		j.Verdict, j.Value, j.Where = Fail, 1, "at "+device
		j.Why = fmt.Sprintf("%d of %d bytes left %s in queue %d", got, back, l.parts[1], class.Priority)
		for q := range 8 {
			if n, why := res.grown(Counter{device, port, q, tally.TxBytes}); q != class.Priority && why == "" && n >= back {
				j.Why += fmt.Sprintf("; queue %d carried %d", q, n)
			}
		}
	}
	return j
}

// moved is how much was read over a leg; ok is false where a read failed.
func moved(res *Result, l leg) (sum uint64, ok bool) {
	for _, row := range res.Rows {
		if row.Probe != "" || row.Initiator != l.from.Server.Addr || row.Target != l.target.Addr || row.Plane != l.portal.Plane.Name {
			continue
		}
		if row.Why != "" || row.Errors > 0 {
			return 0, false
		}
		sum += row.Bytes
	}
	return sum, sum > 0
}

// together is how much was read over the legs that are chosen.
func together(res *Result, all []leg, chosen func(leg) bool) (sum uint64) {
	for _, l := range all {
		if chosen(l) {
			n, _ := moved(res, l)
			sum += n
		}
	}
	return sum
}

func degraded(res *Result, l leg) bool {
	return slices.ContainsFunc(res.Rows, func(row *Row) bool {
		return row.Initiator == l.from.Server.Addr && row.Target == l.target.Addr && row.Plane == l.portal.Plane.Name && (row.Degraded || row.flow.plain)
	})
}

// grown is by how much a counter has grown; why says what keeps that from being
// known.
func (res *Result) grown(c Counter) (n uint64, why string) {
	a, okA, whyA := res.After.find(c)
	b, okB, whyB := res.Before.find(c)
	switch {
	case !okA:
		return 0, whyA
	case !okB:
		return 0, "before: " + whyB
	case a.Off != "" || b.Off != "":
		return 0, cmp.Or(a.Off, b.Off)
	case a.Value < b.Value:
		return 0, "its counter went back"
	}
	return a.Value - b.Value, ""
}

// place says of reads that failed where the fault is, as far as the pairs that
// were read without tell.
func place(res *Result, all []leg) {
	way := func(row *Row) *leg {
		i := slices.IndexFunc(all, func(l leg) bool {
			return row.Initiator == l.from.Server.Addr && row.Target == l.target.Addr && row.Plane == l.portal.Plane.Name
		})
		if i < 0 {
			return nil
		}
		return &all[i]
	}
	type ways struct{ bad, good [][]string }
	planes := map[string]ways{}
	for _, row := range res.Rows {
		l := way(row)
		if l == nil || row.Why != "" {
			continue
		}
		w := planes[row.Plane]
		if parts := append(slices.Clone(l.parts), row.Target); row.Errors > 0 {
			w.bad = append(w.bad, parts)
		} else if row.whole() {
			w.good = append(w.good, parts)
		}
		planes[row.Plane] = w
	}
	for i := range res.Judgements {
		j := &res.Judgements[i]
		if j.Metric != "errors" || j.Verdict != Fail {
			continue
		}
		for _, row := range res.Rows {
			if row.Pair() == j.Pair && way(row) != nil {
				j.Where = locate(planes[row.Plane].bad, planes[row.Plane].good)
			}
		}
	}
}
