package switches

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// A reading is what a switch printed, as far as weft manages it.
type reading struct {
	name    string
	classes []Class
	dog     string // Watchdog
	ports   map[string]Port
	global  []block            // all but the ports
	port    map[string][]block // by port
	maps    map[string]map[int]int
	facts   Facts
	others  []string // headers of objects that carry no name of weft's
}

// observed reports whether classes and name still stand as they were read.
func (c Config) observed() bool {
	return c.read != nil && c.Name == c.read.name && c.Watchdog == c.read.dog && reflect.DeepEqual(c.Classes, c.read.classes)
}

// observedPort reports whether the port still stands as it was read.
func (c Config) observedPort(p Port) bool {
	if c.read == nil {
		return false
	}
	was, ok := c.read.ports[p.Name]
	return ok && reflect.DeepEqual(was, p)
}

// seal remembers the state of c as the one that was read.
func (c Config) seal() Config {
	r := *c.read
	for i := range c.Classes {
		c.Classes[i].read = true
	}
	r.name, r.dog, r.classes, r.ports = c.Name, c.Watchdog, slices.Clone(c.Classes), map[string]Port{}
	for i := range c.Ports {
		c.Ports[i].read = true
		r.ports[c.Ports[i].Name] = c.Ports[i]
	}
	c.read = &r
	return c
}

func (c Config) port(name string) (Port, bool) {
	i := slices.IndexFunc(c.Ports, func(p Port) bool { return p.Name == name })
	if i < 0 {
		return Port{Name: name}, false
	}
	return c.Ports[i], true
}

// For fits what was read to a wish: the ports that want names come first and
// in its order, then those that carry something of its name; classes that the
// OS keeps without a name are named; what is as good as wished reads as wished
// (a longer frame, a depth that is the same number of cells); Foreign and
// Warnings speak of the places that want needs.
func (c Config) For(want Config) Config {
	if c.read == nil {
		return c
	}
	have := c
	have.Classes = slices.Clone(c.Classes)
	have.Ports = nil
	for _, w := range want.Ports {
		p, _ := c.port(w.Name)
		have.Ports = append(have.Ports, p)
	}
	for _, p := range c.Ports {
		if _, wanted := want.port(p.Name); !wanted && carries(c.read.port[p.Name], want) {
			have.Ports = append(have.Ports, p)
		}
	}
	have.Warnings = slices.Clone(c.Warnings)
	if want.Watchdog == "" {
		have.Watchdog = "" // nobody's business
	}
	for i := range have.Classes {
		fitClass(&have.Classes[i], want, c.Facts)
	}
	for i, p := range have.Ports {
		if w, ok := want.port(p.Name); ok {
			have.Ports[i] = fitPort(p, w, want, c.Facts)
		}
	}
	have.fitPerPort(want)
	have.Warnings = append(have.Warnings, cellWarnings(want, c.Facts)...)
	have.Foreign = foreignNames(have, want)
	return have.seal()
}

func fitClass(h *Class, want Config, f Facts) {
	i := slices.IndexFunc(want.Classes, func(w Class) bool { return w.Priority == h.Priority })
	if i < 0 {
		return
	}
	w := want.Classes[i]
	if strings.HasPrefix(h.Name, anonymous) {
		h.Name = w.Name
	}
	if sameECN(h.ECN, w.ECN, f) {
		h.ECN = w.ECN
	}
}

func fitPort(p, w Port, want Config, f Facts) Port {
	if p.Frame >= w.MTU {
		p.MTU = max(p.MTU, p.Frame)
	}
	if p.Classes != nil {
		p.Queue = sameSchedule(p.Classes, want.Classes, f)
		p.PFC = p.PFC && slices.Equal(lossless(p.Classes), lossless(want.Classes))
	}
	return p
}

// fitPerPort fills in what classes do where the OS says so port by port: as
// wished if one of the ports does that, else as the first of them does. Without
// a port nothing is done otherwise than wished.
func (c *Config) fitPerPort(want Config) {
	var from []Class
	if c.read.maps != nil && len(c.Ports) == 0 {
		from = want.Classes
	}
	for _, p := range c.Ports {
		if p.Classes == nil {
			continue
		}
		if from == nil {
			from = p.Classes
		}
		if p.Queue && p.PFC == (len(lossless(want.Classes)) > 0) {
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

func lossless(cs []Class) (out []int) {
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
		if h.Bandwidth != w.Bandwidth || h.Strict != w.Strict || !sameECN(h.ECN, w.ECN, f) {
			return false
		}
	}
	return len(want) > 0
}

func sameECN(a, b *ECN, f Facts) bool {
	if a == nil || b == nil {
		return a == b
	}
	unit := int64(max(f.CellBytes, 1))
	return a.Min/unit == b.Min/unit && a.Max/unit == b.Max/unit && a.Probability == b.Probability
}

// cellWarnings makes the conversion of depths into cells visible.
func cellWarnings(want Config, f Facts) (out []string) {
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

// attachment returns the name of the object that a line attaches, or "".
func attachment(line string) string {
	for _, prefix := range []string{"service-policy ", "qos wred apply "} {
		if strings.HasPrefix(line, prefix) {
			name := line[strings.LastIndexByte(line, ' ')+1:]
			if !strings.HasPrefix(name, "default-") { // what the OS itself attaches
				return name
			}
		}
	}
	return ""
}

// ours reports whether an object that is attached belongs to the prefix name.
func ours(object, name string) bool {
	if name == "" {
		return false
	}
	role, ok := strings.CutPrefix(object, name)
	return ok && (role == "" || slices.Contains(roles(), role))
}

// roles are what follows a name in the names of objects that are attached.
func roles() []string { return []string{nxosIn, nxosOut, nxosNQ, nxosHR} }

// owner returns the prefix that an object belongs to: the longest of those
// whose policies are there, and of name itself.
func owner(object, name string, bs []block) string {
	best := ""
	try := func(prefix string) {
		if len(prefix) > len(best) && (object == prefix || strings.HasPrefix(object, prefix+"-")) {
			best = prefix
		}
	}
	try(name)
	for _, b := range bs {
		if !strings.HasPrefix(b.head(), "policy-map ") {
			continue
		}
		for _, role := range roles() {
			if prefix, ok := strings.CutSuffix(objectOf(b.head()), role); ok {
				try(prefix)
			}
		}
	}
	return best
}

// mine reports whether an object belongs to whoever wishes c: it is of its
// name, or of another name of its owner.
func (c Config) mine(object string) bool {
	if ours(object, c.Name) {
		return true
	}
	return c.Owner.owns(object)
}

// needs reports whether c has something to put in the place of a line that
// attaches an object.
func (c Config) needs(line string) bool {
	return !strings.HasPrefix(line, nxosAttachHR) || slices.ContainsFunc(c.Ports, func(p Port) bool { return p.Headroom })
}

// An Owner is one of those whose objects may be on a switch.
type Owner struct {
	Name string // as written on the switch; "" is nobody
	// Others are the other owners that are known there. Where names may be of
	// either, as with "a" and "a-b", they are taken to be of the other.
	Others []string
}

func (o Owner) owns(object string) bool {
	if o.Name == "" || !strings.HasPrefix(object, objectPrefix+o.Name+"-") {
		return false
	}
	return !slices.ContainsFunc(o.Others, func(other string) bool {
		return len(other) > len(o.Name) && strings.HasPrefix(object, objectPrefix+other+"-")
	})
}

// carries reports whether the blocks attach something of who wishes want.
func carries(bs []block, want Config) bool {
	for _, b := range bs {
		for _, line := range b.lines {
			if n := attachment(line); n != "" && want.mine(n) {
				return true
			}
		}
	}
	return false
}

// foreignNames lists attachments of others where want needs the place.
func foreignNames(have, want Config) (out []string) {
	if want.Name == "" || want.Adopt {
		return nil
	}
	list := func(place string, bs []block) {
		for _, b := range bs {
			for _, line := range b.lines {
				if n := attachment(line); n != "" && !want.mine(n) && want.needs(line) {
					out = append(out, place+": "+line)
				}
			}
		}
	}
	if len(want.Classes) > 0 {
		for _, b := range have.read.global {
			list(b.head(), []block{b})
		}
	}
	for _, w := range want.Ports {
		list(w.Name, have.read.port[w.Name])
	}
	return out
}

const (
	anonymous  = "priority-" // what classes are called on an OS that keeps no names
	allOther   = "default"   // the class of all other traffic
	maxName    = 31          // of objects on a switch
	priorities = 8
)

// checkClasses reports everything about wished classes that no switch can do.
func checkClasses(c Config) error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	prio, dscp, sum := map[int]string{}, map[int]string{}, 0
	for _, k := range c.Classes {
		if len(c.Name+"-"+k.Name) > maxName {
			fail("%s-%s is longer than %d characters", c.Name, k.Name, maxName)
		}
		if k.Priority < 0 || k.Priority >= priorities {
			fail("class %s: priority %d is not in 0 to 7", k.Name, k.Priority)
		}
		if other, ok := prio[k.Priority]; ok {
			fail("class %s: priority %d is that of class %s", k.Name, k.Priority, other)
		}
		prio[k.Priority] = k.Name
		for _, d := range k.DSCP {
			if other, ok := dscp[d]; ok || d < 0 || d > 63 {
				fail("class %s: dscp %d is out of range or already of class %s", k.Name, d, other)
			}
			dscp[d] = k.Name
		}
		if k.Name == allOther && (k.Priority != 0 || len(k.DSCP) > 0 || k.PFC) {
			fail("class default: other traffic stays in queue 0 of the switch, lossy and whatever its dscp")
		}
		if k.Name != allOther && (k.Priority == 0 || len(k.DSCP) == 0) {
			fail("class %s: needs a dscp and a priority from 1 to 7; queue 0 is that of all other traffic", k.Name)
		}
		if e := k.ECN; e != nil && (e.Min <= 0 || e.Max < e.Min || e.Probability < 1 || e.Probability > 100) {
			fail("class %s: ecn needs 0 < min <= max and a probability of 1 to 100 percent", k.Name)
		}
		if h := k.Headroom; h != nil && (!k.PFC || h.Xon <= 0 || h.Xoff <= h.Xon || h.Size < h.Xoff) {
			fail("class %s: headroom needs pfc and 0 < xon < xoff <= size", k.Name)
		}
		sum += k.Bandwidth
	}
	if len(c.Classes) > 0 && sum != 100 {
		fail("bandwidth of the classes adds up to %d percent, not 100", sum)
	}
	if len(c.Classes) > 0 && c.Name == "" {
		fail("classes need a name to be kept under")
	}
	return errors.Join(errs...)
}

// ranges writes numbers as a list of ranges: 24-31,48.
func ranges(ns []int) string {
	ns = slices.Sorted(slices.Values(ns))
	var words []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		word := strconv.Itoa(ns[i])
		if j > i {
			word += "-" + strconv.Itoa(ns[j])
		}
		words = append(words, word)
		i = j + 1
	}
	return strings.Join(words, ",")
}

// parseRanges reads what ranges writes, and single numbers apart; number
// reads one of them. What it cannot read is left out.
func parseRanges(s string, number func(string) (int, bool)) (out []int) {
	for word := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(word), "-")
		a, ok := number(lo)
		b := a
		if isRange && ok {
			b, ok = number(hi)
		}
		for n := a; ok && n <= b && n < 64; n++ {
			out = append(out, n)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

func byPriority(a, b Class) int { return cmp.Compare(a.Priority, b.Priority) }

func sortedKeys[V any](m map[int]V) []int { return slices.Sorted(maps.Keys(m)) }
