package language

import (
	"errors"
	"maps"

	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions returns all functions of the language.
func functions(r *outside) map[string]function.Function {
	all := map[string]function.Function{
		"try": tryfunc.TryFunc,
		"can": tryfunc.CanFunc,
	}
	for _, group := range []map[string]function.Function{
		collectionFunctions(), textFunctions(), numberFunctions(), networkFunctions(), r.functions(),
	} {
		maps.Copy(all, group)
	}
	return all
}

func numberFunctions() map[string]function.Function {
	return map[string]function.Function{
		"abs":      stdlib.AbsoluteFunc,
		"ceil":     stdlib.CeilFunc,
		"floor":    stdlib.FloorFunc,
		"int":      stdlib.IntFunc,
		"log":      stdlib.LogFunc,
		"max":      stdlib.MaxFunc,
		"min":      stdlib.MinFunc,
		"parseint": stdlib.ParseIntFunc,
		"pow":      stdlib.PowFunc,
		"signum":   stdlib.SignumFunc,
		"sum":      sumFunction(),
	}
}

func sumFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "numbers", Type: cty.List(cty.Number)}},
		Type:   function.StaticReturnType(cty.Number),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			total := cty.Zero
			for _, n := range args[0].AsValueSlice() {
				if n.IsNull() {
					return cty.NilVal, errors.New("null is not a number")
				}
				if !n.IsKnown() {
					return cty.UnknownVal(cty.Number), nil
				}
				total = total.Add(n)
			}
			return total, nil
		},
	})
}
