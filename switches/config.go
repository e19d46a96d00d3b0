package switches

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A Text is what a switch printed, as far as weft manages it. The system fills
// it in; comparing and restoring are done with it, to the letter.
type Text struct {
	OS      *OS
	Own     any                // what only its OS knows of
	Global  []Block            // all but the ports
	Port    map[string][]Block // by port
	Bundles map[string]string  // by port that is a member of one
	Others  []string           // headers of objects that carry no name of weft's

	name    string
	classes []Class
	dog     string // Watchdog
	lldp    bool
	tagged  bool
	ports   map[string]Port
	facts   Facts
	notes   map[string]*noted // lines worth a remark, by what is said of them

	strangers []stranger // lines that are not understood
}

// Text begins to read a printed configuration: what is worth a remark, and what is
// not understood, is noted; the sections are for the system to go through.
func (o *OS) Text(running string, own any) (*Text, []*Node) {
	r := &Text{OS: o, Own: own, Port: map[string][]Block{}, Bundles: map[string]string{}}
	tree := parseTree(running)
	r.understand(o.Lines.Words(), tree)
	return r, tree
}

// Reading is c as it was read from the text, which is complete.
func (r *Text) Reading(c Reading) Reading {
	r.facts, c.read = c.Facts, r
	c = r.OS.Lines.Under(c, attachedName(r, func(string) bool { return true }))
	c.fitPerPort(Intent{})
	return c.seal()
}

// PortNames are the ports that were read, in the order of their names.
func (r *Text) PortNames() []string { return slices.Sorted(maps.Keys(r.Port)) }

// Text is what the switch printed.
func (c Reading) Text() *Text { return c.read }

// observed reports whether classes and name still stand as they were read.
func (c state) observed() bool {
	return c.read != nil && c.Name == c.read.name && c.Watchdog == c.read.dog && c.LLDP == c.read.lldp && c.Tagged == c.read.tagged && reflect.DeepEqual(c.Classes, c.read.classes)
}

// observedPort reports whether the port still stands as it was read.
func (c state) observedPort(p Port) bool {
	if c.read == nil {
		return false
	}
	was, ok := c.read.ports[p.Name]
	return ok && reflect.DeepEqual(was, p)
}

// seal remembers the state of c as the one that was read.
func (c Reading) seal() Reading {
	r := *c.read
	for i := range c.Classes {
		c.Classes[i].read = true
	}
	r.name, r.dog, r.lldp, r.tagged, r.classes, r.ports = c.Name, c.Watchdog, c.LLDP, c.Tagged, slices.Clone(c.Classes), map[string]Port{}
	for i := range c.Ports {
		c.Ports[i].read = true
		r.ports[c.Ports[i].Name] = c.Ports[i]
	}
	c.read = &r
	return c
}

// Port is the port of that name.
func (c Intent) Port(name string) (Port, bool) { return portNamed(c.Ports, name) }

// Port is the port of that name.
func (c Reading) Port(name string) (Port, bool) { return portNamed(c.Ports, name) }

func portNamed(ports []Port, name string) (Port, bool) {
	i := slices.IndexFunc(ports, func(p Port) bool { return p.Name == name })
	if i < 0 {
		return Port{Name: name}, false
	}
	return ports[i], true
}

// For fits what was read to a wish: the ports that want names come first and
// in its order, then those that carry something of its name; classes that the
// OS keeps without a name are named; what is as good as wished reads as wished
// (a longer frame, a depth that is the same number of cells); Foreign and
// Warnings speak of the places that want needs.
func (c Reading) For(want Intent) Reading {
	if c.read == nil {
		return c
	}
	c = c.whose(want)
	have := c
	have.Classes = slices.Clone(c.Classes)
	have.Ports = nil
	for _, w := range want.Ports {
		p, _ := c.Port(w.Name)
		have.Ports = append(have.Ports, p)
	}
	for _, p := range c.Ports {
		if _, wanted := want.Port(p.Name); !wanted && c.read.OS.Carries(c.read.Port[p.Name], want) {
			have.Ports = append(have.Ports, p)
		}
	}
	have.Warnings = slices.Clone(c.Warnings)
	if want.Watchdog == "" {
		have.Watchdog = "" // nobody's business
	}
	have.LLDP = have.LLDP && want.LLDP // neither is this
	have.Tagged = have.Tagged && want.Tagged
	for i := range have.Classes {
		fitClass(&have.Classes[i], want, c.Facts)
	}
	for i, p := range have.Ports {
		if w, ok := want.Port(p.Name); ok {
			have.Ports[i] = fitPort(p, w, want, c.Facts)
		}
	}
	have.fitPerPort(want)
	have.Warnings = append(have.Warnings, cellWarnings(want, c.Facts)...)
	have.Warnings = append(have.Warnings, c.remarks(want)...)
	if starving := c.read.OS.Lines.Starving; starving != nil {
		taken, waiting := starving(c, want)
		have.Starved, have.Warnings = taken, append(have.Warnings, waiting...)
	}
	have.Foreign = foreignNames(have, want)
	have.NotUnderstood = c.notUnderstood(want)
	return have.seal()
}

// whose leaves the objects of another owner to him: they are not what want
// replaces, unless it wishes just that.
func (c Reading) whose(want Intent) Reading {
	if want.Name == "" || want.Adopt || c.Name == "" || c.read.OS.Mine(want, c.Name) {
		return c
	}
	os := c.read.OS
	return os.Lines.Under(c, attachedName(c.read, func(object string) bool { return os.Mine(want, object) }))
}

// attachedName is the prefix of the objects of weft's that are attached, of the
// system before the ports, as far as they are whose they shall be.
func attachedName(r *Text, mine func(object string) bool) string {
	places := slices.Clone(r.Global)
	for _, name := range r.PortNames() {
		places = append(places, r.Port[name]...)
	}
	for _, b := range places {
		for _, line := range b.Lines {
			object := r.OS.Attached(line)
			if !strings.HasPrefix(object, objectPrefix) || !mine(object) {
				continue
			}
			for _, role := range r.OS.Lines.Roles {
				if name, ok := strings.CutSuffix(object, role); ok {
					return name
				}
			}
			if len(r.OS.Lines.Roles) == 0 {
				return object
			}
		}
	}
	return ""
}

// PortNames are the ports that were read, as the switch calls them, in no
// order of importance.
func (c Reading) PortNames() []string {
	if c.read == nil {
		return nil
	}
	return c.read.PortNames()
}

func fitClass(h *Class, want Intent, f Facts) {
	i := slices.IndexFunc(want.Classes, func(w Class) bool { return w.Priority == h.Priority })
	if i < 0 {
		return
	}
	w := want.Classes[i]
	if strings.HasPrefix(h.Name, anonymous) {
		h.Name = w.Name
	}
	if SameECN(h.ECN, w.ECN, f) {
		h.ECN = w.ECN
	}
}

func fitPort(p, w Port, want Intent, f Facts) Port {
	if p.Frame >= w.MTU {
		p.MTU = max(p.MTU, p.Frame)
	}
	if p.Classes != nil {
		p.Queue = sameSchedule(p.Classes, want.Classes, f)
		p.PFC = p.PFC && slices.Equal(Lossless(p.Classes), Lossless(want.Classes))
	}
	return p
}

// fitPerPort fills in what classes do where the OS says so port by port: as
// wished if one of the ports does that, else as the first of them does. Without
// a port nothing is done otherwise than wished.
func (c *Reading) fitPerPort(want Intent) {
	var from []Class
	if c.read.OS.Lines.PerPort && len(c.Ports) == 0 {
		from = want.Classes
	}
	for _, p := range c.Ports {
		if p.Classes == nil {
			continue
		}
		if from == nil {
			from = p.Classes
		}
		if p.Queue && p.PFC == (len(Lossless(want.Classes)) > 0) {
			from = want.Classes
			break
		}
	}
	for i := range c.Classes {
		h := &c.Classes[i]
		j := slices.IndexFunc(from, func(x Class) bool { return x.Priority == h.Priority })
		if j < 0 {
			continue
		}
		x := from[j]
		h.Bandwidth, h.Strict, h.PFC, h.ECN = x.Bandwidth, x.Strict, x.PFC, x.ECN
		fitClass(h, want, c.Facts)
	}
}

// Lossless are the priorities of lossless classes, ascending.
func Lossless(cs []Class) (out []int) {
	for _, c := range cs {
		if c.PFC {
			out = append(out, c.Priority)
		}
	}
	slices.Sort(out)
	return out
}

// sameSchedule reports whether a port does with each class what is wanted.
func sameSchedule(have, want []Class, f Facts) bool {
	for _, w := range want {
		i := slices.IndexFunc(have, func(h Class) bool { return h.Priority == w.Priority })
		if i < 0 {
			return false
		}
		h := have[i]
		if h.Bandwidth != w.Bandwidth || h.Strict != w.Strict || !SameECN(h.ECN, w.ECN, f) {
			return false
		}
	}
	return len(want) > 0
}

// SameECN reports whether two curves are the same number of cells.
func SameECN(a, b *ECN, f Facts) bool {
	if a == nil || b == nil {
		return a == b
	}
	unit := int64(max(f.CellBytes, 1))
	return a.Min/unit == b.Min/unit && a.Max/unit == b.Max/unit && a.Probability == b.Probability
}

// cellWarnings makes the conversion of depths into cells visible.
func cellWarnings(want Intent, f Facts) (out []string) {
	if f.CellBytes == 0 {
		return nil
	}
	unit := int64(f.CellBytes)
	for _, c := range want.Classes {
		if c.ECN == nil {
			continue
		}
		lo, hi := c.ECN.Min/unit, c.ECN.Max/unit
		text := fmt.Sprintf("class %s: ecn min %d and max %d bytes become %d and %d cells of %d bytes (%d and %d bytes)",
			c.Name, c.ECN.Min, c.ECN.Max, lo, hi, unit, lo*unit, hi*unit)
		if f.CellAssumed {
			text += fmt.Sprintf("; that limits count cells, and their size, is assumed for %s", f.Model)
		}
		out = append(out, text)
	}
	return out
}
