package inventory

import (
	"slices"

	"github.com/hashicorp/hcl/v2"
)

// cut stands where a text was cut out of a source.
const cut = `null /* sensitive */`

// cutSources copies the texts of the files into the model, without sensitive
// attributes and without the defaults of sensitive variables.
func (e *evaluator) cutSources(m *Model, files []*sourceFile) {
	var ranges []hcl.Range
	for _, d := range e.decls {
		for name, a := range d.body.attrs {
			if d.body.schema.attrs[name].secret {
				ranges = append(ranges, a.Expr.Range())
			}
		}
	}
	for _, v := range e.order {
		if a := v.body.attrs["default"]; a != nil && v.sensitive {
			ranges = append(ranges, a.Expr.Range())
		}
	}
	slices.SortFunc(ranges, func(a, b hcl.Range) int { return b.Start.Byte - a.Start.Byte })
	for _, f := range files {
		if f.file == nil {
			continue
		}
		text := slices.Clone(f.file.Bytes)
		for _, r := range ranges { // from the end, so that places stay valid
			if r.Filename == f.name {
				text = slices.Replace(text, r.Start.Byte, r.End.Byte, []byte(cut)...)
			}
		}
		m.Sources[f.name] = text
	}
}
