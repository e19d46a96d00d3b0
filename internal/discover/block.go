package discover

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"
)

// An address is what files call an instance: server.node["st1"].
type address struct {
	kind, label, key string
	keyed, number    bool // number: the key is one, of count
}

func (a address) String() string {
	switch {
	case !a.keyed:
		return a.kind + "." + a.label
	case a.number:
		return a.kind + "." + a.label + "[" + a.key + "]"
	}
	return a.kind + "." + a.label + "[" + strconv.Quote(a.key) + "]" // as the language has it: no template is escaped
}

// under is the address of another block that has an instance for each of a.
func (a address) under(kind, label string) address {
	a.kind, a.label = kind, label
	return a
}

var addressForm = regexp.MustCompile(`^([a-z]+)\.([A-Za-z_][A-Za-z0-9_-]*)(?:\[(?:"((?:[^"\\]|\\.)*)"|([0-9]+))\])?$`)

// parseAddress reads that of a block as ledgers and files have it. Those in modules are none.
func parseAddress(text string) (address, bool) {
	m := addressForm.FindStringSubmatch(text)
	if m == nil || strings.Contains(m[3], `\`) {
		return address{}, false
	}
	a := address{kind: m[1], label: m[2], key: m[3] + m[4], number: m[4] != ""}
	a.keyed = strings.HasSuffix(text, "]")
	return a, true
}

// An expr is an expression in pieces: what is the same in every instance of a block,
// and values that may differ.
type expr []piece

type piece struct {
	text   string
	slot   bool   // text is a value that may differ
	number bool   // the value is no string
	name   string // of the value in for_each; "": that of its attribute
}

// named gives a value another name in for_each than that of its attribute.
func (e expr) named(name string) expr {
	e[0].name = name
	return e
}

func str(s string) expr   { return expr{{text: s, slot: true}} }
func raw(s string) expr   { return expr{{text: s}} }
func number(n int64) expr { return expr{{text: fmt.Sprint(n), slot: true, number: true}} }
func boolean(b bool) expr { return raw(fmt.Sprint(b)) }
func strs(list []string) expr {
	out := raw("[")
	for i, s := range list {
		if i > 0 {
			out = append(out, raw(", ")...)
		}
		out = append(out, str(s)...)
	}
	return append(out, raw("]")...)
}

// to refers to an instance, and to what of it rest names: .rnic.p0.
func to(a address, rest string) expr {
	if !a.keyed {
		return raw(a.kind + "." + a.label + rest)
	}
	return expr{{text: a.kind + "." + a.label + "["}, {text: a.key, slot: true, number: a.number}, {text: "]" + rest}}
}

// A block is one instance of a block, or a block within.
type block struct {
	kind   string
	labels []string
	body   []item
}

type item struct {
	name  string // of an attribute
	value expr
	in    *block
	note  string // a comment behind the attribute
}

func (b *block) set(name string, value expr) { b.body = append(b.body, item{name: name, value: value}) }

func (b *block) setNoted(name string, value expr, note string) {
	b.body = append(b.body, item{name: name, value: value, note: note})
}

func (b *block) add(kind string, labels ...string) *block {
	in := &block{kind: kind, labels: labels}
	b.body = append(b.body, item{in: in})
	return in
}

// An instance is a block with its address.
type instance struct {
	address
	*block
}

func newInstance(a address) instance {
	return instance{a, &block{kind: a.kind, labels: []string{a.label}}}
}

// shape is a block without its values: instances of one block have one shape.
func (b *block) shape() string {
	var s strings.Builder
	for _, it := range b.body {
		if it.in != nil {
			fmt.Fprintf(&s, "%s %q {%s}\n", it.in.kind, it.in.labels, it.in.shape())
			continue
		}
		s.WriteString(it.name + "=")
		for _, p := range it.value {
			if p.slot {
				s.WriteString("\x00")
			} else {
				s.WriteString(p.text)
			}
		}
		s.WriteString("\n")
	}
	return s.String()
}

// slots are the values of a block, in order, each with the name it has in for_each.
func (b *block) slots(within string, out *[]piece, names *[]string) {
	for _, it := range b.body {
		if it.in != nil {
			it.in.slots(strings.Join(append([]string{within}, it.in.labels...), " "), out, names)
			continue
		}
		for _, p := range it.value {
			if p.slot {
				*out = append(*out, p)
				*names = append(*names, strings.ReplaceAll(label(within+" "+cmp.Or(p.name, it.name), "v"), "-", "_"))
			}
		}
	}
}

// quoted is a string as the files write it.
func quoted(s string) string { return string(hclwrite.TokensForValue(cty.StringVal(s)).Bytes()) }

func (p piece) literal() string {
	if p.number {
		return p.text
	}
	return quoted(p.text)
}

// printer writes instances as a person would: those that differ in values only as one
// block with for_each.
type printer struct {
	out     strings.Builder
	refused map[refusal]string // what is left out

	unlike []address // instances that their block cannot be written with

	lines   map[int]source // what the lines of out are written from
	path    []string       // of the block that is being written
	of      []instance     // it is written for
	line    int            // lines of out up to counted
	counted int
}

// instances prints all of one kind and label, which are in order.
func (w *printer) instances(list []instance) error {
	if list = w.kept(list); len(list) == 0 {
		return nil
	}
	first := list[0]
	if !first.keyed {
		for _, one := range list {
			if one.keyed || len(list) > 1 {
				return fmt.Errorf("%s next to %s: a block either has keys or none", first.address, list[1].address)
			}
		}
		w.write(first.block, nil, nil)
		return nil
	}
	list = w.alike(list)
	first = list[0]
	each := newLoop(list)
	if first.number {
		if err := each.counted(); err != nil {
			return err
		}
		w.out.WriteString(each.locals())
	}
	head := []string{each.header()}
	w.of = list
	w.write(first.block, head, &each)
	w.of = nil
	return nil
}

// alike are the instances that one block can be written for: the most that have the same
// attributes. The others are noted.
func (w *printer) alike(list []instance) (out []instance) {
	type form struct {
		shape  string
		number bool
	}
	of := func(one instance) form { return form{one.shape(), one.number} }
	usual := most(list, of, form{})
	for _, one := range list {
		if of(one) == usual {
			out = append(out, one)
		} else {
			w.unlike = append(w.unlike, one.address)
		}
	}
	return out
}

// block prints one block without what is left out of it, if anything of it is written.
func (w *printer) block(b *block) {
	if b = w.without(b, nil); b != nil {
		w.write(b, nil, nil)
	}
}

// write prints one block; where it is a loop, values come from it.
func (w *printer) write(b *block, head []string, each *loop) {
	w.path = append(w.path, b.name())
	w.mark("")
	w.out.WriteString(b.kind)
	for _, l := range b.labels {
		w.out.WriteString(" " + quoted(l))
	}
	w.out.WriteString(" {\n")
	for _, line := range head {
		w.out.WriteString(line + "\n")
	}
	for i, it := range b.body {
		if it.in != nil {
			if i > 0 || len(head) > 0 {
				w.out.WriteString("\n")
			}
			w.write(it.in, nil, each)
			continue
		}
		w.mark(it.name)
		w.out.WriteString(it.name + " = ")
		for _, p := range it.value {
			switch {
			case p.slot && each != nil:
				w.out.WriteString(each.next())
			case p.slot:
				w.out.WriteString(p.literal())
			default:
				w.out.WriteString(p.text)
			}
		}
		if it.note != "" {
			w.out.WriteString(" # " + oneLine(it.note))
		}
		w.out.WriteString("\n")
	}
	w.mark("")
	w.out.WriteString("}\n")
	w.path = w.path[:len(w.path)-1]
}

// oneLine is a text that ends no comment.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x2028 || r == 0x2029 || r == 0x85 {
			return ' '
		}
		return r
	}, s)
}
