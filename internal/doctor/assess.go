package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/text"
	"weft/inventory"
	"weft/inventory/catalogue"
)

// A Fitness says whether something is fit for a rollout.
type Fitness string

// What something can be; the worst of the parts of a device is its own, and Needs is
// worse than Unknown: it is known what has to be done.
const (
	Ready   Fitness = "ready"
	Unknown Fitness = "unknown"
	Needs   Fitness = "needs"
)

// An Answer is one thing about a device, and who says so.
type Answer struct {
	What   string  `json:"what"`           // catalogue, system, pcie, rdma, drives, model, pfc, ecn, nvme-of
	Part   string  `json:"part,omitempty"` // the NIC that it is about
	State  Fitness `json:"state"`
	Text   string  `json:"text"` // of Needs: what is needed
	Source string  `json:"source"`
	Aside  bool    `json:"aside,omitempty"` // it does not decide on the device
}

// A Subject is one device that is assessed.
type Subject struct {
	Device   string   `json:"device"`
	Kind     string   `json:"kind"`               // server, switch or array
	At       string   `json:"at,omitempty"`       // in the files
	State    Fitness  `json:"state"`              // by its answers
	Flavours []string `json:"flavours,omitempty"` // of RDMA that it can do
	Unsure   bool     `json:"unsure,omitempty"`   // it may do others that nobody knows of
	Answers  []Answer `json:"answers"`

	host   *Host             // nil: it is no server that was read
	target *inventory.Target // of the files, where it is an array
	place  Place
}

// A Flavour is one kind of RDMA, and who can do it.
type Flavour struct {
	Name    string   `json:"name"`
	Can     []string `json:"can,omitempty"`
	Cannot  []string `json:"cannot,omitempty"`
	Unknown []string `json:"unknown,omitempty"`
}

// Shared reports whether all ends are known to do it.
func (f Flavour) Shared() bool { return len(f.Can) > 0 && len(f.Cannot)+len(f.Unknown) == 0 }

// An Assessment is the first step of a rollout: what there is, and what it is fit for.
type Assessment struct {
	Owner     string    `json:"owner,omitempty"`
	Simulated bool      `json:"simulated"`
	Subjects  []Subject `json:"subjects"`
	Flavours  []Flavour `json:"flavours"`
	Choice    string    `json:"choice"` // the flavour that all ends share; "": none
	Why       string    `json:"why"`    // it is that one, or none
	Pair      *Pair     `json:"pair,omitempty"`
	NoPair    string    `json:"no_pair,omitempty"` // why there is none
}

// Unread is a device that was not read, and why. System is what runs on it, by its
// name for people, where that is known.
type Unread struct{ Device, Kind, System, Why string }

// flavours are the kinds of RDMA, the one that weft prefers first: it is what most
// cards and arrays do.
func flavours() []string { return []string{"rocev2", "infiniband", "iwarp"} }

// Assess judges what devices are fit for. arrays are storage arrays by their id in the
// catalogue, which nobody can log in to.
func Assess(s *Site, unread []Unread, arrays []string) *Assessment {
	if s.Hardware == nil {
		s.Hardware = &catalogue.Catalogue{}
	}
	s.match()
	out := &Assessment{Subjects: []Subject{}}
	for _, h := range s.Hosts {
		out.add(s.server(h))
	}
	for _, sw := range s.Switches {
		out.add(s.leaf(sw))
	}
	if s.Model != nil {
		for _, t := range s.Model.Targets {
			if t.Engine == "external" {
				out.add(s.external(t))
			}
		}
	}
	for _, id := range arrays {
		out.add(s.array(id))
	}
	for _, u := range unread {
		a := Answer{What: "system", State: Unknown, Text: "not read: " + u.Why, Source: "the login"}
		if u.System != "" {
			a.Text = u.System + ": " + u.Why
		}
		out.add(Subject{Device: u.Device, Kind: u.Kind, Unsure: true, Answers: []Answer{a}})
	}
	out.choose(s)
	out.pair(s)
	return out
}

// add takes a subject in, whose state follows from its answers.
func (a *Assessment) add(x Subject) {
	x.State = Ready
	for _, one := range x.Answers {
		if !one.Aside && (one.State == Needs || one.State == Unknown && x.State == Ready) {
			x.State = one.State
		}
	}
	a.Subjects = append(a.Subjects, x)
}

func (x *Subject) say(what string, state Fitness, source, format string, args ...any) {
	x.Answers = append(x.Answers, Answer{What: what, State: state, Source: source, Text: fmt.Sprintf(format, args...)})
}

// on moves the last answer to a part of the device.
func (x *Subject) on(part string) { x.Answers[len(x.Answers)-1].Part = part }

// server judges one machine.
func (s *Site) server(h *Host) Subject {
	x := Subject{Device: h.Name, Kind: "server", At: h.place().At(), place: h.place(), host: h}
	if row := s.Hardware.Server(h.Facts.Vendor, h.Facts.Model); row != nil {
		x.say("catalogue", Ready, row.PCIeGeneration.From(), "%s %s is %s%s", h.Facts.Vendor, h.Facts.Model, row.ID, slots(row))
	} else {
		x.say("catalogue", Unknown, h.Origins.Model, "%s is not in the catalogue: only its own facts count", cmp.Or(strings.TrimSpace(h.Facts.Vendor+" "+h.Facts.Model), "its model"))
	}
	x.Answers[0].Aside = true
	switch {
	case h.System == "" && h.Facts.Kernel == "":
		x.say("system", Unknown, h.Origins.System, "it does not report its system")
	default:
		x.say("system", Ready, h.Origins.System, "%s", cmp.Or(strings.TrimSpace(h.Facts.System+" "+h.Facts.Kernel), h.System))
	}
	ends := s.candidates(h)
	if len(ends) == 0 {
		x.say("rdma", Needs, h.Origins.RDMA, "an RDMA NIC: none of its %d ports has an RDMA device or is in the catalogue", len(h.NICs))
	}
	for _, e := range ends {
		from := len(x.Answers)
		s.slot(&x, e)
		s.rdma(&x, e)
		for i := from; i < len(x.Answers); i++ {
			x.Answers[i].Part, x.Answers[i].Aside = e.place().Part, h.beside(e)
		}
	}
	s.drives(&x, h)
	return x
}

func slots(row *catalogue.Server) string {
	if !row.PCIeGeneration.Known {
		return ""
	}
	return fmt.Sprintf(", with slots up to PCIe %d", row.PCIeGeneration.Value)
}

// drives counts those that a machine could export.
func (s *Site) drives(x *Subject, h *Host) {
	models := map[string]int{}
	count := 0
	for _, c := range h.Controllers {
		if c.Transport == "pcie" {
			models[cmp.Or(strings.TrimSpace(c.Model), "of unknown model")]++
			count++
		}
	}
	wanted, missing := h.wanted(s)
	switch {
	case !h.Origins.Serves:
		x.say("drives", Ready, h.Origins.System, "not needed: weft runs no target on this system; it can be an initiator")
	case wanted > 0 && h.Disks == nil:
		x.say("drives", Unknown, h.Origins.Drives, "its pools name %d drives, but its drives could not be read", wanted)
	case len(missing) > 0:
		x.say("drives", Needs, h.Origins.Drives, "missing drives of its pools: %s", text.List(missing, mostPlaces))
	case wanted > 0:
		x.say("drives", Ready, h.Origins.Drives, "all %d drives of its pools exist", wanted)
	case count == 0:
		x.say("drives", Ready, h.Origins.Drives, "none: it can be an initiator")
	default:
		var list []string
		for model, n := range models {
			list = append(list, fmt.Sprintf("%d × %s", n, model))
		}
		slices.Sort(list)
		x.say("drives", Ready, h.Origins.Drives, "%s", strings.Join(list, ", "))
	}
}

// wanted is how many drives the pools of a machine name, and which of them it lacks.
func (h *Host) wanted(s *Site) (count int, missing []string) {
	if s.Model == nil || h.Server == nil {
		return 0, nil
	}
	for _, p := range s.Model.Pools {
		if p.Server != h.Server {
			continue
		}
		for _, d := range p.Drives {
			count++
			if !slices.Contains(h.Disks, d) {
				missing = append(missing, d)
			}
		}
	}
	return count, missing
}

// external judges an array that the files connect to: by what its initiators see of it.
func (s *Site) external(t *inventory.Target) Subject {
	x := Subject{Device: t.Addr, Kind: "array", At: (Place{Range: t.Range}).At(), place: Place{Range: t.Range}, target: t}
	for _, transport := range t.Transport {
		if transport == "rdma" {
			x.Unsure = true // of which kind is not said
		}
	}
	for _, h := range s.Hosts {
		for _, c := range h.paths() {
			if slices.ContainsFunc(t.Subsystems, func(sub *inventory.Subsystem) bool { return sub.NQN == c.NQN }) {
				state, text := Ready, "%s is connected to it by NVMe over %s (%s)"
				if c.State != "live" {
					state, text = Needs, "the path of %s by NVMe over %s restored: it is %s"
				}
				x.say("nvme-of", state, "/sys/class/nvme of "+h.Name, text, h.Name, c.Transport, c.State)
				x.on(c.Name)
			}
		}
	}
	if len(x.Answers) == 0 {
		x.say("nvme-of", Unknown, "the files", "no server is connected to it, and weft does not log in to arrays; the files declare %s", cmp.Or(strings.Join(t.Transport, ", "), "no transport"))
	}
	return x
}

// array is what the catalogue knows of one.
func (s *Site) array(id string) Subject {
	x := Subject{Device: id, Kind: "array"}
	i := slices.IndexFunc(s.Hardware.Arrays, func(a *catalogue.Array) bool { return a.ID == id })
	if i < 0 {
		x.Unsure = true
		x.say("nvme-of", Unknown, "the catalogue", "not in the catalogue")
		return x
	}
	row := s.Hardware.Arrays[i]
	name := row.Vendor + " " + row.Model
	x.can(row.Transports.Value...)
	switch {
	case !row.Transports.Known:
		x.Unsure = true
		x.say("nvme-of", Unknown, "the catalogue", "%s: its NVMe transports are unknown", name)
	case len(x.Flavours) == 0:
		x.say("nvme-of", Needs, row.Transports.From(), "a fabric over TCP: %s supports NVMe over %s only", name, strings.Join(row.Transports.Value, ", "))
	default:
		x.say("nvme-of", Ready, row.Transports.From(), "%s supports NVMe over %s", name, strings.Join(row.Transports.Value, ", "))
	}
	if row.Since.Known {
		x.say("release", Unknown, row.Since.From(), "NVMe over Fabrics requires %s; the installed version is not read", row.Since.Value)
	}
	return x
}
