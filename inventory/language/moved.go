package language

import (
	"strings"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
)

func movedSchema() *schema {
	return &schema{attrs: attrs{
		"from": {takes: anything(), raw: true, needed: true},
		"to":   {takes: anything(), raw: true, needed: true},
	}}
}

// origin is the address that an object had before a moved block gave it its own:
// names on devices and in ledgers follow from that one. Blocks are read as they
// stand, those of its module and of those around it.
func (e *evaluator) origin(o *object) string {
	for m := o.in; m != nil; {
		for _, d := range m.moved {
			if from, to, ok := d.body.move(); ok {
				if rest, ok := inventory.Inside(m.prefix+to, o.addr); ok {
					return m.prefix + from + rest
				}
			}
		}
		if m.call == nil {
			break
		}
		m = m.call.in
	}
	return o.addr
}

// move reads both ends of a moved block; false: one of them is none, which is
// reported when the model is built.
func (b *body) move() (from, to string, ok bool) {
	ends := [2]string{}
	for i, name := range []string{"from", "to"} {
		a := b.attrs[name]
		if a == nil {
			return "", "", false
		}
		text, wrong := address(a.Expr)
		if wrong != nil {
			return "", "", false
		}
		ends[i] = text
	}
	return ends[0], ends[1], true
}

// moved makes the moved blocks: what they lead to is declared, what they lead from
// is not, and no two speak of the same.
func (b *builder) moved(all contents) {
	declared := b.declaredAddresses(all)
	ends := map[string]map[string]hcl.Range{"from": {}, "to": {}}
	for _, r := range b.m.Removed {
		ends["from"][r.From] = r.Range
	}
	for _, m := range all.modules {
		for _, d := range m.moved {
			one := &inventory.Moved{Block: b.block(d.object)}
			ok := true
			for _, name := range []string{"from", "to"} {
				a := d.body.attrs[name]
				if a == nil {
					ok = false
					continue
				}
				addr, wrong := address(a.Expr)
				addr = m.prefix + addr
				if wrong == nil {
					wrong = misplaced(name, a.Expr.Range(), addr, declared, ends)
				}
				if wrong != nil {
					b.report(problem.Within(wrong, a.SrcRange))
					ok = false
				}
				ends[name][addr] = d.header
				if name == "from" {
					one.From = addr
				} else {
					one.To = addr
				}
			}
			if ok && kindOf(one.From) != kindOf(one.To) {
				b.report(problem.New(problem.Reference, d.body.attrs["to"].SrcRange, "different block type",
					"%s cannot become %s: a moved block keeps its type.", one.From, one.To))
				ok = false
			}
			if ok {
				b.m.Moved = append(b.m.Moved, one)
			}
		}
	}
}

// misplaced says what is wrong with an end of a moved block.
func misplaced(end string, at hcl.Range, addr string, declared map[string]hcl.Range, ends map[string]map[string]hcl.Range) *hcl.Diagnostic {
	if other, ok := ends[end][addr]; ok {
		if end == "to" {
			return problem.New(problem.Twice, at, "two blocks moved to "+addr, "The other moved block is at %s. Objects on devices can belong to only one of them: use a removed block for the other one.", problem.Where(other))
		}
		return problem.New(problem.Twice, at, "duplicate moved block for "+addr, "The first one is at %s.", problem.Where(other))
	}
	other, there := declared[addr]
	if end == "from" && there {
		return problem.New(problem.Twice, at, addr+" is declared",
			"%s is declared at %s. from must name a block that is no longer declared.", addr, problem.Where(other))
	}
	opposite := map[string]string{"from": "to", "to": "from"}[end]
	if other, ok := ends[opposite][addr]; ok {
		return problem.New(problem.Twice, at, addr+" is moved in two steps",
			"The other one is at %s. Use one moved block, from the first name to the last.", problem.Where(other))
	}
	if end == "to" && !there {
		return problem.New(problem.Reference, at, addr+" is not declared", "to must name a declared block.")
	}
	return nil
}

// kindOf is the type of the block at an address: server of module.a.server.x.
func kindOf(addr string) string {
	kind := "module"
	for strings.HasPrefix(addr, "module.") {
		_, rest, ok := strings.Cut(cutName(strings.TrimPrefix(addr, "module.")), ".")
		if !ok {
			return kind
		}
		addr = rest
	}
	kind, _, _ = strings.Cut(addr, ".")
	return kind
}

// cutName takes a module's name and its key off: .server.x of m["a.b"].server.x.
func cutName(addr string) string {
	end := strings.IndexAny(addr, ".[")
	if end < 0 {
		return ""
	}
	if addr[end] == '[' {
		if _, rest, ok := strings.Cut(addr[end:], "]"); ok {
			return rest
		}
	}
	return addr[end:]
}
