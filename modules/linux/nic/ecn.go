package nic

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// ECN keeps congestion control of RoCE (DCQCN) on one NIC port: that it answers
// packets marked on the way with notifications (CNPs), and slows down when it
// gets some, for the priorities given; and how its CNPs are marked themselves.
// Each driver has its own way to it, see ecnways.go.
type ECN struct {
	PCI        string    // address of the NIC port: 0000:41:00.0
	Interface  string    `json:"-"`          // observed: the name it has today
	Priorities []int     `json:",omitempty"` // wanted: with it on, ascending; others stay as they are
	Storage    *Marking  `json:",omitempty"` // wanted: of storage's packets, for cards that have one class
	CNP        *Marking  `json:",omitempty"` // wanted: of CNPs; nil: as it is
	Lossy      bool      `json:",omitempty"` // wanted: nothing but this keeps the fabric from losing packets
	Way        string    `json:",omitempty"` // observed: by which the values are set; "" is none
	Values     ecnValues `json:",omitempty"` // observed: of attributes, where they can be seen
	Hidden     bool      `json:",omitempty"` // observed: they cannot be seen before apply
	Gone       ecnValues `json:",omitempty"` // that weft set before, and that are declared no more

	past     host.Past[ECN] // what there was in the place of Gone; zero: not known
	device   string         // observed: RDMA device
	function string         // observed: its PCI function
	left     string         // observed: what is not as wanted, or not known to be, and why
}

// ECNKind is the kind ecn.
func ECNKind() *host.Kind[ECN] {
	return &host.Kind[ECN]{
		Name: "ecn", Lasting: true,
		Looks: (*ECN).Looks, Parse: (*ECN).Parse, Diff: (*ECN).Diff, Steps: (*ECN).Steps,
		About: (*ECN).About, Boot: (*ECN).Boot, Left: (*ECN).Left, Advice: (*ECN).Advice,
		Partial: host.Partial[ECN]{Follow: (*ECN).follow, Settle: (*ECN).settle},
	}
}

// ecnValues are numbers by the attributes of a way.
type ecnValues map[string]int

// newECN is what the classes of a fabric ask for; nil: nothing.
func NewECN(pci string, f *inventory.Fabric) *ECN {
	e := &ECN{PCI: pci, Lossy: !f.Lossless()}
	for _, c := range f.Classes {
		if c.ECN != nil {
			e.Priorities = append(e.Priorities, c.Priority)
		}
		if c.CNP() && len(c.DSCP) > 0 {
			e.CNP = &Marking{c.DSCP[0], c.Priority}
		}
	}
	if len(e.Priorities) == 0 {
		return nil
	}
	if c := f.ClassOf(inventory.RDMA); c != nil && len(c.DSCP) > 0 {
		e.Storage = &Marking{c.DSCP[0], c.Priority}
	}
	slices.Sort(e.Priorities)
	return e
}

func (e *ECN) look() remote.Look {
	args := []string{"sh", "-c", ecnByMAC, "sh", "{if}"}
	if function, _, _ := strings.Cut(e.PCI, "@"); function != "" {
		args = []string{"sh", "-c", ecnScript, "sh", "{if}", function}
	}
	return remote.Look{PCI: e.PCI, Root: true, Own: true, Args: args}
}

func (e *ECN) Looks() []remote.Look { return append(rdmaPortLooks(e.PCI), e.look()) }

// Parse: in a fabric that drops packets a card without
// congestion control is refused; in one that does not, it is left as it is.
func (e *ECN) Parse(s remote.Seen) (*ECN, error) {
	name, err := see.Netdev(s, e.PCI)
	if err != nil {
		return nil, err
	}
	port, err := rdmaPortOf(s, e.PCI, name)
	if err != nil {
		return nil, err
	}
	text, err := see.Output(s, e.look())
	if err != nil {
		return nil, err
	}
	have := &ECN{PCI: e.PCI, Interface: name, function: functionOf(s, e.PCI)}
	if port != nil {
		have.device = port.Device
	}
	if err := have.read(string(text), driver(s, e.PCI)); err != nil {
		return nil, err
	}
	if have.Way == "" && e.Lossy {
		return nil, hint.Wrap(fmt.Errorf("%s: %s", name, have.left),
			`a lossy fabric rests on congestion control: use mode = "lossless", or take ecn out of its classes`)
	}
	if have.Way == wayBnxt && e.Way == "" && e.Storage == nil {
		return nil, fmt.Errorf("%s knows one class of RoCE traffic, and more than one of the fabric could be that of storage", name)
	}
	return have, nil
}

func (e *ECN) Left() string { return e.left }

// by is the attributes of a way: as they were observed, or as they are wanted
// where other is what is there.
func (e *ECN) by(way string, other *ECN) ecnValues {
	switch e.Way {
	case "":
		return e.towards(e.wanted(way), host.Some(other).Values)
	case way:
		return e.Values
	}
	return nil
}

// towards adds to what is wanted what becomes of Gone.
func (e *ECN) towards(wanted, is ecnValues) ecnValues {
	for a, ours := range e.Gone {
		now, seen := is[a]
		was, known := host.Some(e.past.Former).Values[a]
		if seen && known && (e.past.Firm || now == ours) {
			wanted[a] = was
		}
	}
	return wanted
}

func (e *ECN) follow(p host.Past[ECN]) {
	gone, now := maps.Clone(p.Applied.Gone), ecnValues{}
	if gone == nil {
		gone = ecnValues{}
	}
	for _, way := range []string{wayOFED, wayInbox, wayBnxt} { // whose attributes have other names
		maps.Copy(gone, p.Applied.wanted(way))
		maps.Copy(now, e.wanted(way))
	}
	maps.DeleteFunc(gone, func(a string, _ int) bool { _, declared := now[a]; return declared })
	e.Gone, e.past = nil, p
	if len(gone) > 0 {
		e.Gone = gone
	}
}

func (e *ECN) settle(*ECN) { e.Gone = nil }

// Diff: one of the two states at least was observed, and so has
// a way.
func (e *ECN) Diff(have *ECN) []plan.Change {
	way := cmp.Or(have.Way, e.Way)
	target, is := e.by(way, have), have.by(way, e)
	if e.Hidden && !have.Hidden && len(is) > 0 {
		return []plan.Change{{Path: "values", Before: is.String(), After: "as they were found", Impact: plan.ImpactTraffic}}
	}
	var out []plan.Change
	for _, a := range slices.Sorted(maps.Keys(target)) {
		before, seen := is[a]
		switch {
		case seen:
			out = append(out, plan.Changed(a, before, target[a], plan.ImpactTraffic)...)
		case have.Hidden:
			out = append(out, plan.Changed(a, plan.Unknown, strconv.Itoa(target[a]), plan.ImpactTraffic)...)
		case have.Way != "":
			out = append(out, plan.Changed(a, "none", strconv.Itoa(target[a]), plan.ImpactTraffic)...)
		}
	}
	return out
}

func (v ecnValues) String() string {
	words := slice.Map(slices.Sorted(maps.Keys(v)), func(a string) string { return fmt.Sprintf("%s %d", a, v[a]) })
	return strings.Join(words, ", ")
}

func (e *ECN) Steps(have *ECN) []remote.Step {
	changes := e.Diff(have)
	if len(changes) == 0 {
		return nil
	}
	at := ecnPlace{netdev: cmp.Or(have.Interface, e.Interface), pci: cmp.Or(have.function, e.function, e.PCI), device: cmp.Or(have.device, e.device)}
	if e.Hidden {
		return at.hide()
	}
	way := cmp.Or(have.Way, e.Way)
	values := ecnValues{}
	for _, c := range changes {
		values[c.Path] = e.by(way, have)[c.Path]
	}
	if have.Hidden {
		return slices.Concat(at.reveal(), at.set(way, values))
	}
	return at.set(way, values)
}

func (e *ECN) Advice(reply string) string {
	switch {
	case strings.Contains(reply, "Permission denied"), strings.Contains(reply, "Operation not permitted"):
		return "a kernel that is locked down (Secure Boot) allows no writes there: cat /sys/kernel/security/lockdown"
	case strings.Contains(reply, "Invalid argument"):
		return "the card's firmware does not take that: see dmesg"
	case strings.Contains(reply, "No such device"):
		return "the RDMA device went away, or has another name now: rdma link show; plan again"
	}
	return ""
}

// Boot: which way the server has is seen when it starts.
func (e *ECN) Boot() []string {
	nic := `"$(nic ` + remote.Quote(e.PCI) + `)"`
	at := ecnPlace{netdev: anyNIC, pci: strings.SplitN(e.PCI, "@", 2)[0], device: anyRDMA}
	if at.pci == "" { // known by the interface only
		at.pci = anyFunction
	}
	function := `"$(basename "$(readlink -f /sys/class/net/` + nic + `/device)")"`
	lines := func(steps []remote.Step) []string {
		var out []string
		for _, s := range steps {
			line := strings.ReplaceAll(remote.Quote(s.Args...), anyNIC, nic)
			line = strings.ReplaceAll(line, anyFunction, function)
			out = append(out, "\tdo_ "+strings.ReplaceAll(line, anyRDMA, `"$rdma"`))
		}
		return out
	}
	return slices.Concat(
		[]string{"if [ -d /sys/class/net/" + nic + "/ecn ]; then"}, lines(at.set(wayOFED, e.wanted(wayOFED))),
		[]string{"elif [ -d " + strings.ReplaceAll(at.debug(), anyFunction, function) + " ]; then"}, lines(at.set(wayInbox, e.wanted(wayInbox))), []string{"\t:"},
		[]string{"elif [ -d " + bnxtDir + ` ] && rdma=$(rdma_of ` + nic + `); then`},
		lines(slices.Concat(at.reveal(), at.set(wayBnxt, e.wanted(wayBnxt)))), []string{"fi"},
	)
}

func (e *ECN) About() string { return e.PCI }
