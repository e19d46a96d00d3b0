package language

import (
	"io/fs"
	"path"
	"runtime"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

// warnExposed warns of files that a sensitive attribute reads although every
// user of this machine may do so. The files are not opened. header is where the
// warning points: the line of the attribute would be shown.
func (e *evaluator) warnExposed(a *hclsyntax.Attribute, from *directory, scope *hcl.EvalContext, header hcl.Range) {
	if runtime.GOOS == "windows" {
		return // modes say nothing there
	}
	scope = from.secretScope(scope)
	_ = hclsyntax.VisitAll(a.Expr, func(n hclsyntax.Node) hcl.Diagnostics { // the visitor never fails
		call, ok := bare(n).(*callExpr)
		if !ok || call.Name != "file" && call.Name != "templatefile" || len(call.Args) == 0 {
			return nil
		}
		e.spent = weight{}
		v, diags := call.Args[0].Value(scope)
		if diags.HasErrors() || v.IsMarked() || !v.IsKnown() || v.IsNull() || v.Type() != cty.String {
			return nil // reading it says what is wrong
		}
		name := path.Clean(from.secrets.path(v.AsString()))
		if !fs.ValidPath(name) {
			return nil
		}
		if is, err := fs.Stat(from.secrets.fsys, name); err == nil && is.Mode().Perm()&0o004 != 0 {
			d := problem.New(problem.Readable, header, "secret readable by every local user",
				"%s (%s) is read from %s, which has mode %04o: run chmod 600 %s", a.Name, problem.Where(a.SrcRange), name, is.Mode().Perm(), name)
			d.Severity = hcl.DiagWarning
			e.report(d)
		}
		return nil
	})
}
