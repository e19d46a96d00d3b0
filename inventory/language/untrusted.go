package language

import (
	"errors"
	"io/fs"

	"weft/inventory/problem"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// denies reports whether a function is refused because the files are not
// trusted: all that look beyond the files.
func (e *evaluator) denies(function string) bool {
	return e.denied != nil && (function == "env" || function == "exec")
}

// deny says once for each place what was refused there. Nothing can catch it: try
// and can would make a guess of it.
func (e *evaluator) deny(at hcl.Range, function string) {
	if e.denied[at] {
		return
	}
	e.denied[at] = true
	e.report(problem.New(problem.Untrusted, at, function+"() in untrusted files",
		"%s() would expose data of this machine to untrusted files. Use a variable instead, with its value in weft.weftvars, or run weft without --untrusted.", function))
}

// escaped reports what a function says of a file that is there and cannot be
// read, such as one outside of the directory, also where try would pass it over.
func (e *evaluator) escaped(diags hcl.Diagnostics) {
	if e.denied == nil {
		return
	}
	for _, d := range diags {
		call, ok := hcl.DiagnosticExtra[hclsyntax.FunctionCallDiagExtra](d)
		if !ok || call.CalledFunctionName() != "file" && call.CalledFunctionName() != "templatefile" {
			continue
		}
		err := call.FunctionCallError()
		if path := new(fs.PathError); !errors.As(err, &path) || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if at := *d.Subject; !e.denied[at] {
			e.denied[at] = true
			e.report(problem.New(problem.Untrusted, at, call.CalledFunctionName()+"() in untrusted files", "%v: only files in the directory are read.", err))
		}
	}
}

// withholds reports whether the value of a variable is not known because nothing
// secret is read for files that are not trusted.
func (e *evaluator) withholds(v *variable) bool {
	if e.denied == nil || !v.sensitive {
		return false
	}
	return v.given == nil && v.body.attrs["default"] == nil || v.given != nil && v.given.input != nil
}
