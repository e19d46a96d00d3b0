package switches

import (
	"slices"
	"strings"
)

// ours reports whether an object that is attached belongs to the prefix name.
func (o *OS) ours(object, name string) bool {
	if name == "" {
		return false
	}
	role, ok := strings.CutPrefix(object, name)
	return ok && (role == "" || slices.Contains(o.Lines.Roles, role))
}

// owner returns the prefix that an object belongs to: the longest of those
// whose policies are there, and of name itself.
func (o *OS) owner(object, name string, bs []Block) string {
	best := ""
	try := func(prefix string) {
		if len(prefix) > len(best) && (object == prefix || strings.HasPrefix(object, prefix+"-")) {
			best = prefix
		}
	}
	try(name)
	for _, b := range bs {
		if !strings.HasPrefix(b.Head(), "policy-map ") {
			continue
		}
		for _, role := range o.Lines.Roles {
			if prefix, ok := strings.CutSuffix(Object(b.Head()), role); ok {
				try(prefix)
			}
		}
	}
	return best
}

// Mine reports whether an object belongs to whoever wishes want: it is of its
// name, or of another name of its owner.
func (o *OS) Mine(want Intent, object string) bool {
	return o.ours(object, want.Name) || want.Owner.owns(object)
}

// Needs reports whether want has something to put in the place of a line that
// attaches an object.
func (o *OS) needs(want Intent, line string) bool {
	return o.Lines.Needs == nil || o.Lines.Needs(want, line)
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

// Carries reports whether the blocks attach something of who wishes want.
func (o *OS) Carries(bs []Block, want Intent) bool {
	for _, b := range bs {
		for _, line := range b.Lines {
			if n := o.Attached(line); n != "" && o.Mine(want, n) {
				return true
			}
		}
	}
	return false
}

// foreignNames lists attachments of others where want needs the place.
func foreignNames(have Reading, want Intent) (out []string) {
	if want.Name == "" || want.Adopt {
		return nil
	}
	o := have.read.OS
	list := func(place string, bs []Block) {
		for _, b := range bs {
			for _, line := range b.Lines {
				if n := o.Attached(line); n != "" && !o.Mine(want, n) && o.needs(want, line) {
					out = append(out, place+": "+line)
				}
			}
		}
	}
	if len(want.Classes) > 0 {
		for _, b := range have.read.Global {
			list(b.Head(), []Block{b})
		}
	}
	for _, w := range want.Ports {
		list(w.Name, have.read.Port[w.Name])
	}
	return out
}
