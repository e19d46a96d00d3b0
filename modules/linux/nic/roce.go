package nic

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/internal/traffic"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// RoCE keeps what the connection manager of the kernel gives to connections of
// one NIC port that do not choose themselves: the mode of RoCE, and the ToS.
//
// The kernel shows both in a directory of configfs, which another process has to make.
// A plan makes none: what they are is then unknown, and apply writes down what
// it finds before it changes anything.
type RoCE struct {
	PCI       string // address of the NIC port: 0000:41:00.0
	Interface string `json:"-"` // observed: the name it has today
	Device    string `json:"-"` // observed: the RDMA device
	Known     bool   // the directory is there
	Mode      string // RoCE v2, IB/RoCE v1
	ToS       int    // 0–255; -1 is whichever it is

	Gone *int `json:",omitempty"` // the ToS that weft set before, and that is declared no more

	past host.Past[RoCE] // what there was in the place of Gone; zero: not known

	Software string `json:",omitempty"` // the device that is made before, where there is none
	Port     int    `json:"-"`          // observed: of the device
}

// RoCEKind is the kind roce.
func RoCEKind() *host.Kind[RoCE] {
	return &host.Kind[RoCE]{
		Name: "roce", Lasting: true,
		Looks: (*RoCE).Looks, Parse: (*RoCE).Parse, Diff: (*RoCE).Diff, Steps: (*RoCE).Steps,
		About: (*RoCE).About, Boot: (*RoCE).Boot, Advice: (*RoCE).Advice,
		Partial: host.Partial[RoCE]{Follow: (*RoCE).follow, Settle: (*RoCE).settle},
	}
}

func NewRoCE(pci string, tos int) *RoCE {
	return &RoCE{PCI: pci, Known: true, Mode: "RoCE v2", ToS: tos}
}

const cmDir = "/sys/kernel/config/rdma_cm"

// cmLook prints the values of all ports whose directories are there.
func cmLook() remote.Look {
	return remote.Look{Own: true, Args: []string{"sh", "-c", `cd ` + cmDir + ` 2>/dev/null || exit 0; ` +
		`for f in */ports/*/default_roce_*; do if [ -e "$f" ]; then echo "$f $(cat "$f")"; fi; done`}}
}

func (r *RoCE) Looks() []remote.Look {
	return append(rdmaPortLooks(r.PCI), cmLook())
}

func (r *RoCE) Parse(s remote.Seen) (*RoCE, error) {
	name, err := see.Netdev(s, r.PCI)
	if err != nil {
		return nil, err
	}
	port, err := rdmaPortOf(s, r.PCI, name)
	if err != nil {
		return nil, err
	}
	have := &RoCE{PCI: r.PCI, Interface: name, ToS: -1, Port: 1}
	switch {
	case port != nil:
		have.Device, have.Port = port.Device, port.Port
	case r.Software != "":
		have.Device = r.Software
	default:
		return nil, hint.Wrap(fmt.Errorf("%s has no RDMA device yet whose connections could get a ToS", name),
			"where rdma_link can bring it about, apply that first: weft apply --target SERVER/rdma_link.NAME")
	}
	text, err := see.Output(s, cmLook())
	if err != nil {
		return nil, err
	}
	return have, have.read(string(text))
}

// read takes the values of the port out of what cmLook prints.
func (r *RoCE) read(text string) error {
	dir := fmt.Sprintf("%s/ports/%d/default_roce_", r.Device, r.Port)
	for line := range strings.Lines(text) {
		file, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch file {
		case dir + "mode":
			r.Known, r.Mode = true, value
		case dir + "tos":
			n, err := strconv.ParseUint(value, 10, 8)
			if err != nil {
				return fmt.Errorf("the default ToS of %s is %q", r.Device, value)
			}
			r.ToS = int(n)
		}
	}
	return nil
}

// towards is the state with what becomes of Gone, where other is what is there.
func (r *RoCE) towards(other *RoCE) *RoCE {
	if r.Gone == nil || !host.Some(r.past.Former).Known || !r.past.Firm && other.ToS != *r.Gone {
		return r
	}
	out := *r
	out.ToS = r.past.Former.ToS
	return &out
}

func (r *RoCE) follow(p host.Past[RoCE]) {
	r.Gone, r.past = nil, p
	switch {
	case r.ToS >= 0 || p.Applied.Mode == "":
	case p.Applied.ToS >= 0:
		r.Gone = &p.Applied.ToS
	default:
		r.Gone = p.Applied.Gone
	}
}

func (r *RoCE) settle(*RoCE) { r.Gone = nil }

// Diff: new connections get the values, those there are keep
// theirs.
func (r *RoCE) Diff(have *RoCE) []plan.Change {
	r, have = r.towards(have), have.towards(r)
	switch {
	case !r.Known && !have.Known:
		return nil
	case !r.Known:
		return []plan.Change{{Path: "mode", Before: have.Mode, After: "as it was found", Impact: plan.ImpactNone},
			{Path: "tos", Before: have.tos(), After: "as it was found", Impact: plan.ImpactNone}}
	case !have.Known && r.ToS < 0:
		return plan.Changed("mode", plan.Unknown, r.Mode, plan.ImpactNone)
	case !have.Known:
		return append(plan.Changed("mode", plan.Unknown, r.Mode, plan.ImpactNone), plan.Changed("tos", plan.Unknown, r.tos(), plan.ImpactNone)...)
	}
	out := plan.Changed("mode", have.Mode, r.Mode, plan.ImpactNone)
	if r.ToS >= 0 {
		out = append(out, plan.Changed("tos", have.tos(), r.tos(), plan.ImpactNone)...)
	}
	return out
}

// tos says which DSCP it stands for, as people know that.
func (r *RoCE) tos() string {
	if r.ToS < 0 {
		return "none"
	}
	return fmt.Sprintf("%d (DSCP %d)", r.ToS, traffic.DSCP(r.ToS))
}

func (r *RoCE) dir() string  { return cmDir + "/" + r.Device }
func (r *RoCE) port() string { return fmt.Sprintf("%s/ports/%d", r.dir(), max(1, r.Port)) }

func (r *RoCE) Steps(have *RoCE) []remote.Step {
	if len(r.Diff(have)) == 0 {
		return nil
	}
	r, have = r.towards(have), have.towards(r)
	at := &RoCE{Device: cmp.Or(have.Device, r.Device, r.Software), Port: max(have.Port, r.Port)}
	if !r.Known {
		return []remote.Step{put.RestoreValues(at.port(), put.KeptFile("roce", at.Device), at.dir())}
	}
	var steps []remote.Step
	if !have.Known {
		steps = append(steps, host.Run("modprobe", "rdma_cm"), host.Run("mkdir", "-p", at.dir()),
			put.KeepValues(at.port(), put.KeptFile("roce", at.Device), "default_roce_mode", "default_roce_tos"))
	}
	if r.Mode != have.Mode {
		steps = append(steps, put.Set(at.port()+"/default_roce_mode", r.Mode))
	}
	if r.ToS >= 0 && r.ToS != have.ToS {
		steps = append(steps, put.Set(at.port()+"/default_roce_tos", strconv.Itoa(r.ToS)))
	}
	return steps
}

func (r *RoCE) Advice(reply string) string {
	switch {
	case strings.Contains(reply, "No such device"):
		return "the RDMA device went away, or has another name now: rdma link show; plan again"
	case strings.Contains(reply, "Invalid argument"):
		return "the device does not do RoCE v2; see its firmware"
	case strings.Contains(reply, "default_roce_tos"):
		return "the kernel keeps no default ToS: it does since 4.11"
	}
	return ""
}

func (r *RoCE) Boot() []string {
	at := &RoCE{Device: anyRDMA}
	lines := slice.Map(r.Steps(at), func(s remote.Step) string { return "do_ " + remote.Quote(s.Args...) })
	return onRDMA(r.PCI, lines)
}

func (r *RoCE) About() string { return r.PCI }
