package discover

import (
	"fmt"
	"strings"

	"weft/internal/text"
)

// tuned tells what others keep in the kernels of servers, once for all that are tuned
// alike. Where no boot entry of weft keeps a setting a block for it would change something.
func (d *draft) tuned() {
	alike := map[string][]*node{}
	var order []string
	for _, n := range d.ordered() {
		what := tuningOf(n)
		if what == "" {
			continue
		}
		if alike[what] == nil {
			order = append(order, what)
		}
		alike[what] = append(alike[what], n)
	}
	for _, what := range order {
		first := alike[what][0]
		var also []string
		for _, n := range alike[what][1:] {
			also = append(also, n.Host)
		}
		if also != nil {
			what += "; so have " + text.Few(also, ", ")
		}
		d.site.found(Info, first.Host, "a block sysctl has weft keep a setting; a kernel line has no block", "others have tuned its kernel: %s: it is not written", what)
		first.seen = append(first.seen, "tuned: "+what)
	}
}

// tuningOf is what others keep in the kernel of a server, in words; "": nothing.
func tuningOf(n *node) string {
	t := n.Facts.Tuning
	if t == nil {
		return ""
	}
	var list []string
	for _, s := range t.Sysctls {
		list = append(list, fmt.Sprintf("%s = %s (%s)", s.Key, s.Value, s.File))
	}
	for _, file := range t.Unread {
		list = append(list, file+", which only root may read")
	}
	if len(t.KernelLine) > 0 {
		list = append(list, "started with "+strings.Join(t.KernelLine, " "))
	}
	return strings.Join(list, ", ")
}
