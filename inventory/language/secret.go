package language

import (
	"errors"
	"fmt"

	"weft/inventory"
	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// secret captures a sensitive attribute. Nothing is evaluated before Read.
func (e *evaluator) secret(o *object, name string) *inventory.Secret {
	a := o.body.attrs[name]
	if a == nil || isNull(a.Expr) {
		return nil
	}
	e.warnExposed(a, o.in.from, o.scope, *o.header)
	return inventory.NewSecret(secretSource(a.Expr), func() (string, error) {
		if e.denied != nil {
			return "", fmt.Errorf("read %s (%s): the files are untrusted, so no secret is read", a.Name, problem.Where(a.SrcRange))
		}
		e.reading.Lock()
		defer e.reading.Unlock()
		e.inSecret, e.spent = true, weight{}
		defer func() { e.inSecret = false }()
		return e.readSecret(a, o.in.from.secretScope(o.scope))
	})
}

func (e *evaluator) readSecret(a *hclsyntax.Attribute, scope *hcl.EvalContext) (string, error) {
	at := fmt.Sprintf("%s (%s)", a.Name, problem.Where(a.SrcRange))
	v, diags := a.Expr.Value(scope)
	if diags.HasErrors() {
		return "", fmt.Errorf("read %s: %w", at, quiet(diags[0]))
	}
	v, _ = v.UnmarkDeep()
	if !v.IsKnown() {
		return "", fmt.Errorf("read %s: it depends on a value with an error", at)
	}
	text, err := convert.Convert(v, cty.String)
	if err != nil {
		return "", fmt.Errorf("read %s: it is not a string", at)
	}
	if text.IsNull() {
		return "", fmt.Errorf("read %s: %w", at, errors.New("it is null"))
	}
	return text.AsString(), nil
}

// quiet is an error without anything of the secret. Only what reads it may
// say more: its arguments are names.
func quiet(d *hcl.Diagnostic) error {
	call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
	if ok && call.FunctionCallError() != nil && readsSecrets(call.CalledFunctionName()) {
		return call.FunctionCallError()
	}
	if d.Subject == nil {
		return errors.New(d.Summary)
	}
	return fmt.Errorf("%s at %s", d.Summary, problem.Where(*d.Subject))
}

// checkSecrets refuses secrets that stand in the files or in variables whose
// values are shown.
func (e *evaluator) checkSecrets() {
	all := e.contents()
	for _, d := range all.decls {
		for name, spec := range d.body.schema.attrs {
			if a := d.body.attrs[name]; spec.secret && a != nil {
				e.checkSecret(d.in, d.header, a)
			}
		}
	}
	for _, m := range all.modules {
		for _, v := range m.order {
			if v.sensitive && v.given != nil && v.given.input != nil {
				e.checkSecret(m.call.in, *m.call.header, v.given.input)
				e.warnExposed(v.given.input, m.call.in.from, m.call.scope, *m.call.header)
			}
		}
	}
}

// checkSecret points at the block, not the attribute: its line would be shown.
func (e *evaluator) checkSecret(in *module, header hcl.Range, a *hclsyntax.Attribute) {
	if isNull(a.Expr) {
		return
	}
	from := &secretSources{}
	_ = hclsyntax.Walk(a.Expr, from) // the walker never fails
	at := problem.Where(a.SrcRange)
	if from.literal || !from.reads && len(from.names) == 0 {
		e.report(problem.New(problem.Literal, header, "literal secret",
			"All or part of %s (%s) is written in the file. Read it completely with env(\"NAME\"), file(\"PATH\") or exec(\"COMMAND\", …).", a.Name, at))
	}
	for _, name := range from.names {
		if v := in.variables[name]; v != nil && !v.sensitive {
			e.report(problem.New(problem.Exposed, header, "secret in a variable that is not sensitive",
				"%s (%s) uses var.%s, whose value is shown in plans: set sensitive = true in that variable.", a.Name, at, name))
		}
	}
}

func isNull(x hclsyntax.Expression) bool {
	literal, ok := x.(*hclsyntax.LiteralValueExpr)
	return ok && literal.Val.IsNull()
}

// secretSources is where an expression takes its value from.
type secretSources struct {
	reads   bool     // it calls env, file or exec
	literal bool     // it holds a text next to the arguments of those
	names   []string // the variables it uses, "" for anything else
	inCall  int      // nodes entered from a call of those
}

// Enter looks at one node. What env, file and exec are called with is no
// secret.
func (s *secretSources) Enter(n hclsyntax.Node) hcl.Diagnostics {
	if s.inCall > 0 {
		s.inCall++
		return nil
	}
	switch n := bare(n).(type) {
	case *callExpr:
		if readsSecrets(n.Name) || n.Name == "templatefile" {
			s.reads = true
			s.inCall = 1
		}
	case *scopeExpr:
		name, _ := secondName(n.Traversal)
		if n.Traversal.RootName() != "var" {
			name = ""
		}
		s.names = append(s.names, name)
	case *hclsyntax.LiteralValueExpr:
		s.literal = s.literal || n.Val.Type() == cty.String && !n.Val.IsNull()
	}
	return nil
}

// Exit leaves one node.
func (s *secretSources) Exit(hclsyntax.Node) hcl.Diagnostics {
	if s.inCall > 0 {
		s.inCall--
	}
	return nil
}

func secondName(t hcl.Traversal) (string, bool) {
	if len(t) < 2 {
		return "", false
	}
	step, ok := t[1].(hcl.TraverseAttr)
	return step.Name, ok
}

// secretSource names how a secret is read. Only a plain call is quoted:
// another expression may hold a part of the secret.
func secretSource(x hclsyntax.Expression) string {
	if call, ok := x.(*callExpr); ok && readsSecrets(call.Name) && len(call.Args) > 0 {
		name, ok := plainText(call.Args[0])
		switch {
		case ok && len(call.Args) == 1:
			return fmt.Sprintf("%s(%q)", call.Name, name)
		case ok:
			return fmt.Sprintf("%s(%q, …)", call.Name, name)
		}
	}
	return "the expression at " + problem.Where(x.Range())
}
