package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"weft/internal/findings"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/view"
	"weft/inventory"
	"weft/plan"
)

// labVars is the file that examples keep the values of variables for the lab in.
const labVars = "lab.weftvars"

// A shortfall is what files need that the SIMULATED lab does not have.
type shortfall struct {
	rdma     []*inventory.Target // whose first transport is RDMA, and which TCP may not replace
	external []*inventory.Target // that weft does not run: there is no such array in the lab
}

// shortOf says what files need that the simulated lab does not have. Guests with real kernels
// do RDMA in software.
func shortOf(m *inventory.Model, real bool) (s shortfall) {
	for _, t := range m.Targets {
		switch {
		case t.Engine == "external":
			s.external = append(s.external, t)
		case !real && needsRDMA(t):
			s.rdma = append(s.rdma, t)
		}
	}
	return s
}

// needsRDMA reports whether a target works with RDMA only, on a machine that the lab simulates
// without it.
func needsRDMA(t *inventory.Target) bool {
	if t.Server == nil || len(t.Transport) == 0 || t.Transport[0] != "rdma" {
		return false
	}
	return !slices.Contains(t.Transport, "tcp") || !t.AllowDegraded
}

// lines say what is missing and what to do about it: first what stops an apply.
func (s shortfall) lines(m *inventory.Model, dir string) (out []string) {
	if len(s.rdma) > 0 {
		out = append(out, fmt.Sprintf("the simulated lab has no RDMA, which %s (%s): %s", need(s.rdma), view.Place(s.rdma[0].At("transport")), overTCP(m, s.rdma[0], dir)))
	}
	if len(s.external) > 0 {
		out = append(out, fmt.Sprintf("the lab does not simulate %s (%s), which %s external: connections to it fail there; weft rehearse leaves them out",
			targetNames(s.external), view.Place(s.external[0].Range), text.Plural(len(s.external), "is", "are")))
	}
	return out
}

func need(list []*inventory.Target) string {
	if len(list) == 1 {
		return targetNames(list) + " needs"
	}
	return targetNames(list) + " need"
}

func targetNames(list []*inventory.Target) string {
	return findings.Fold(slice.Map(list, func(t *inventory.Target) string { return t.Addr }), 3)
}

// overTCP says what to write or to set so that a target works over TCP in the lab.
func overTCP(m *inventory.Model, t *inventory.Target, dir string) string {
	values := map[string]string{"transport": `["rdma", "tcp"]`, "allow_degraded": "true"}
	var write, vars []string
	for _, attr := range []string{"transport", "allow_degraded"} {
		if name := variableOf(m, t.At(attr)); name != "" && t.Writes(attr) {
			vars = append(vars, fmt.Sprintf("--var '%s=%s'", name, values[attr]))
		} else {
			write = append(write, attr+" = "+values[attr])
		}
	}
	var parts []string
	if len(vars) > 0 {
		parts = append(parts, "set "+strings.Join(vars, " "))
		if _, err := os.Stat(filepath.Join(dir, labVars)); err == nil && len(write) == 0 {
			return "set --var-file " + labVars + ", or " + strings.Join(vars, " ")
		}
	}
	if len(write) > 0 {
		parts = append(parts, "write "+strings.Join(write, " and ")+" in "+t.Addr)
	}
	return strings.Join(parts, " and ")
}

// variableOf is the variable that an attribute is set to, by the range of the attribute; "":
// it is set to something else.
func variableOf(m *inventory.Model, at hcl.Range) (name string) {
	file := m.Files[at.Filename]
	if file == nil {
		return ""
	}
	parsed, diags := hclsyntax.ParseConfig(file.Bytes, at.Filename, hcl.InitialPos) // the model's own expressions compute and show no names
	if diags.HasErrors() {
		return ""
	}
	body, ok := parsed.Body.(*hclsyntax.Body)
	if !ok {
		return ""
	}
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		attr, ok := n.(*hclsyntax.Attribute)
		if !ok || attr.SrcRange.Start.Byte > at.Start.Byte || attr.SrcRange.End.Byte < at.End.Byte {
			return nil
		}
		for _, v := range attr.Expr.Variables() {
			if v.RootName() == "var" && len(v) > 1 {
				if step, ok := v[1].(hcl.TraverseAttr); ok {
					name = step.Name
				}
			}
		}
		return nil
	})
	return name
}

// inTwin says what a rehearsal does instead.
func (s shortfall) inTwin(m *inventory.Model, dir string) (out []string) {
	if len(s.rdma) > 0 {
		out = append(out, fmt.Sprintf("the twin has no RDMA, which %s (%s): storage goes over TCP there, as if you %s; with --real it goes over RDMA in software", need(s.rdma),
			view.Place(s.rdma[0].At("transport")), overTCP(m, s.rdma[0], dir)))
	}
	if len(s.external) > 0 {
		out = append(out, fmt.Sprintf("the twin has no %s (%s), which %s external: connections to it are left out", targetNames(s.external), view.Place(s.external[0].Range), text.Plural(len(s.external), "is", "are")))
	}
	return out
}

// tellShortfall says first what the lab cannot do of what files declare.
func (f *fabric) tellShortfall(m *inventory.Model) {
	for _, text := range shortOf(m, f.guests()).lines(m, f.opts.dir) {
		f.out.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: text})
	}
}
