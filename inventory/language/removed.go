package language

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"
)

func removedSchema() *schema {
	return &schema{attrs: attrs{
		"from": {takes: anything(), raw: true, needed: true},
		"mode": need(oneOf("prune", "forget")),
	}}
}

// removable are the types of blocks of which something may be left on devices.
func removable() []string {
	return []string{"module", "fabric", "switch", "server", "vcenter", "link", "pool", "volume", "target", "initiator"}
}

// removed makes the removed blocks, whose addresses must not be declared.
func (b *builder) removed(all contents) {
	if !slices.ContainsFunc(all.modules, func(m *module) bool { return len(m.removed) > 0 }) {
		return
	}
	declared := b.declaredAddresses(all)
	seen := map[string]hcl.Range{}
	for _, m := range all.modules {
		for _, d := range m.removed {
			r := &inventory.Removed{Block: b.block(d.object), Mode: b.text(d.object, "mode")}
			b.m.Removed = append(b.m.Removed, r)
			a := d.body.attrs["from"]
			if a == nil {
				continue
			}
			from, wrong := address(a.Expr)
			if wrong == nil {
				r.From = m.prefix + from
				wrong = notGone(a.Expr.Range(), r.From, declared, seen)
				seen[r.From] = d.header
			}
			if wrong != nil {
				b.report(problem.Within(wrong, a.SrcRange))
			}
		}
	}
}

// declaredAddresses is where each block and each of its instances stands.
func (b *builder) declaredAddresses(all contents) map[string]hcl.Range {
	declared := map[string]hcl.Range{}
	for _, m := range all.modules {
		for _, d := range m.decls {
			declared[m.prefix+d.kind+"."+d.name] = d.header
			for _, o := range d.objects {
				declared[o.addr] = d.header
			}
		}
	}
	return declared
}

func notGone(at hcl.Range, from string, declared, seen map[string]hcl.Range) *hcl.Diagnostic {
	if other, ok := declared[from]; ok {
		return problem.New(problem.Twice, at, from+" is declared",
			"%s is declared at %s. A removed block is for objects that are no longer declared; to prune a declared block, set enabled = false.", from, problem.Where(other))
	}
	if other, ok := seen[from]; ok {
		return problem.New(problem.Twice, at, "a second removed block for "+from, "The first one is at %s.", problem.Where(other))
	}
	return nil
}

// address reads the address of a block or of an instance as it is written:
// module.x.server.node["st1"].
func address(x hcl.Expression) (string, *hcl.Diagnostic) {
	t, diags := hcl.AbsTraversalForExpr(x)
	if diags.HasErrors() {
		return "", problem.New(problem.Reference, x.Range(), "not an address",
			`Write the address without quotes and functions, as in server.node["st1"].`)
	}
	var text []string
	for len(t) > 0 {
		kind := stepName(t[0])
		if !slices.Contains(removable(), kind) {
			if kind == "dvswitch" || kind == "vm" {
				return "", problem.New(problem.Reference, t[0].SourceRange(), "identified by its path", "weft identifies a %s by its path in vCenter, so it needs neither a moved nor a removed block.", kind)
			}
			return "", problem.New(problem.Reference, t[0].SourceRange(), "not a block type",
				"%q has no objects on devices.%s An address starts with %s.", kind, problem.DidYouMean(kind, removable()), problem.OrList(removable()))
		}
		if len(t) < 2 || stepName(t[1]) == "" {
			return "", problem.New(problem.Reference, x.Range(), "not an address", "Add a name after %s, as in %s.NAME.", kind, kind)
		}
		part := kind + "." + stepName(t[1])
		t = t[2:]
		if len(t) > 0 {
			if index, ok := t[0].(hcl.TraverseIndex); ok {
				part += indexText(index.Key)
				t = t[1:]
			}
		}
		text = append(text, part)
		if kind != "module" && len(t) > 0 {
			return "", problem.New(problem.Reference, t.SourceRange(), "part of an object", "%s can only be removed as a whole.", strings.Join(text, "."))
		}
	}
	return strings.Join(text, "."), nil
}

// stepName is the name in a step; "" for an index.
func stepName(s hcl.Traverser) string {
	switch s := s.(type) {
	case hcl.TraverseRoot:
		return s.Name
	case hcl.TraverseAttr:
		return s.Name
	}
	return ""
}

// indexText is the key of an instance as addresses show it.
func indexText(key cty.Value) string {
	if key.Type() == cty.String {
		return "[" + strconv.Quote(key.AsString()) + "]"
	}
	return fmt.Sprintf("[%s]", key.AsBigFloat().Text('f', -1))
}
