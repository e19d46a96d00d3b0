package switches

import (
	"slices"
	"strings"
)

// Unmanaged lists the objects for quality of service that were read and are not
// of who wishes want: the names by what they are. System defaults that the
// configuration does not show are not among them.
func (c Reading) Unmanaged(want Intent) map[string][]string {
	if c.read == nil {
		return nil
	}
	heads := slices.Clone(c.read.Others)
	for _, b := range c.read.Global {
		if object := Object(b.Head()); len(b.Path) == 1 && object != "" && !c.read.OS.Mine(want, object) {
			heads = append(heads, b.Head())
		}
	}
	slices.Sort(heads)
	var out map[string][]string
	for _, head := range slices.Compact(heads) {
		kind, name := c.read.OS.kindOf(head)
		if out == nil {
			out = map[string][]string{}
		}
		out[kind] = append(out[kind], name)
	}
	return out
}

// kindOf divides a header into what it opens, and which.
func (o *OS) kindOf(head string) (kind, name string) {
	for _, kind := range o.Lines.Objects {
		if name, ok := strings.CutPrefix(head, kind+" "); ok {
			return kind, name
		}
	}
	return head, ""
}
