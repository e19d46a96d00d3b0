package discover

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"weft/inventory"
)

// What stands on devices and can be no block of its own beside files that stand, because a
// block of these has the place, is written by a person: discover says where, and what.

// An insert is a block within one that stands in the files.
type insert struct {
	host   string
	grave  Severity
	what   string           // for people: what stands there
	within *inventory.Block // an instance of the block that it goes into
	inner  *inventory.Block // a block within that one, which it goes into; nil: into itself
	of     string           // what inner is called
	lines  *block
}

// ByHand is how many findings have lines for a person to add to files that stand.
func (r *Result) ByHand() (n int) {
	for _, f := range r.Findings {
		if f.Add {
			n++
		}
	}
	return n
}

// wholly tells of an instance of a block that stands in the files, without that instance.
func (d *draft) wholly(n *node, one instance) {
	first := d.stands.labels[inventory.BlockOf(one.address.String())]
	text, hint := fmt.Sprintf("%s exists, but is in no file", one.address), "write it by hand after its references are in the files"
	if first != nil {
		text = fmt.Sprintf("%s exists, but is in no file: %s at %s has the name, but no such instance", one.address, inventory.BlockOf(first.Addr), at(first))
		hint = "a new block would have another name on the device: add an instance with these values"
		if one.keyed {
			hint = fmt.Sprintf("a new block would have another name on the device: add the key %[2]s to for_each at %[1]s, with these values", placed(first.At("for_each")), quoted(one.key))
		}
	}
	d.site.add(Finding{Add: true, Severity: Error, Device: n.Host, Text: text, Hint: hint, Lines: literal(one.block)})
}

// into has a block be told that goes into another one.
func (d *draft) into(i insert) { d.inserts = append(d.inserts, i) }

// tellInserts tells the inserts of a round: what all instances of a block lack alike, once.
func (d *draft) tellInserts() {
	groups := map[string][]insert{}
	var order []string
	for _, i := range d.inserts {
		key := inventory.BlockOf(i.within.Addr) + " " + i.of + " " + strings.Join(i.lines.labels, " ") + "\n" + i.lines.shape()
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i)
	}
	d.inserts = nil
	for _, key := range order {
		if !d.alike(groups[key]) {
			for _, i := range groups[key] {
				d.tellInsert(i)
			}
		}
	}
}

// alike tells what goes into all instances of a block with the same words; false: it does not.
func (d *draft) alike(list []insert) bool {
	var of []instance
	for _, i := range list {
		a, ok := parseAddress(i.within.Addr)
		if !ok || !a.keyed {
			return false
		}
		of = append(of, instance{a, i.lines})
	}
	if len(of) < 2 || len(of) != d.stands.instances[inventory.BlockOf(list[0].within.Addr)] {
		return false
	}
	each := newLoop(of)
	for _, slot := range each.vary {
		each.write[slot] = each.byKey(slot)
	}
	w := &printer{}
	w.write(of[0].block, nil, &each)
	first := list[0]
	d.site.add(Finding{Add: true, Severity: first.grave, Device: first.host, Text: fmt.Sprintf("%s, and so it is of all instances of %s: no file has it", first.what, inventory.BlockOf(first.within.Addr)),
		Hint: "add the lines to " + first.place(), Lines: formatted(w)})
	return true
}

// tellInsert tells one, for one instance.
func (d *draft) tellInsert(i insert) {
	hint := "add the lines to " + i.place()
	if block := inventory.BlockOf(i.within.Addr); block != i.within.Addr && d.stands.instances[block] > 1 {
		hint += fmt.Sprintf(": they apply to %s, but the block covers all %d instances", i.within.Addr, d.stands.instances[block])
	}
	d.site.add(Finding{Add: true, Severity: i.grave, Device: i.host, Text: i.what + ", and no file has it", Hint: hint, Lines: literal(i.lines)})
}

// place is where it goes.
func (i insert) place() string {
	if i.inner != nil {
		return fmt.Sprintf("%s of %s, at %s", i.of, inventory.BlockOf(i.within.Addr), at(i.inner))
	}
	return fmt.Sprintf("%s, at %s", inventory.BlockOf(i.within.Addr), at(i.within))
}

// at is where a block begins.
func at(b *inventory.Block) string { return placed(b.Range) }

func placed(r hcl.Range) string { return fmt.Sprintf("%s:%d", r.Filename, r.Start.Line) }

// literal is a block as files have it, with its own values.
func literal(b *block) []string {
	w := &printer{}
	w.block(b)
	return formatted(w)
}

func formatted(w *printer) []string {
	return strings.Split(strings.TrimSpace(string(hclwrite.Format([]byte(w.out.String())))), "\n")
}
