package language

import (
	"errors"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func collectionFunctions() map[string]function.Function {
	return map[string]function.Function{
		"alltrue":                truthFunction(true),
		"anytrue":                truthFunction(false),
		"chunklist":              stdlib.ChunklistFunc,
		"coalesce":               coalesceFunction(),
		"coalescelist":           stdlib.CoalesceListFunc,
		"compact":                stdlib.CompactFunc,
		"concat":                 stdlib.ConcatFunc,
		"contains":               stdlib.ContainsFunc,
		"distinct":               stdlib.DistinctFunc,
		"element":                stdlib.ElementFunc,
		"flatten":                stdlib.FlattenFunc,
		"index":                  indexFunction(),
		"keys":                   stdlib.KeysFunc,
		"length":                 lengthFunction(),
		"lookup":                 lookupFunction(),
		"merge":                  stdlib.MergeFunc,
		"one":                    oneFunction(),
		"range":                  stdlib.RangeFunc,
		"reverse":                stdlib.ReverseListFunc,
		"setintersection":        stdlib.SetIntersectionFunc,
		"setproduct":             bounded(stdlib.SetProductFunc, productLength),
		"setsubtract":            stdlib.SetSubtractFunc,
		"setsymmetricdifference": stdlib.SetSymmetricDifferenceFunc,
		"setunion":               stdlib.SetUnionFunc,
		"slice":                  stdlib.SliceFunc,
		"sort":                   stdlib.SortFunc,
		"tobool":                 stdlib.MakeToFunc(cty.Bool),
		"tolist":                 stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)),
		"tomap":                  stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)),
		"tonumber":               stdlib.MakeToFunc(cty.Number),
		"toset":                  stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
		"tostring":               stdlib.MakeToFunc(cty.String),
		"values":                 stdlib.ValuesFunc,
		"zipmap":                 stdlib.ZipmapFunc,
	}
}

// truthFunction is alltrue, or anytrue: whether any item is not the opposite.
func truthFunction(all bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.List(cty.Bool)}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			unknown := false
			for _, item := range args[0].AsValueSlice() {
				switch {
				case !item.IsKnown():
					unknown = true
				case item.IsNull() && all:
					return cty.False, nil
				case !item.IsNull() && item.True() != all:
					return cty.BoolVal(!all), nil
				}
			}
			if unknown {
				return cty.UnknownVal(cty.Bool), nil
			}
			return cty.BoolVal(all), nil
		},
	})
}

// lengthFunction counts the items of a collection or the characters of a text.
func lengthFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "value", Type: cty.DynamicPseudoType}},
		Type: func(args []cty.Value) (cty.Type, error) {
			ty := args[0].Type()
			if ty == cty.String || ty.IsCollectionType() || ty.IsTupleType() || ty.IsObjectType() {
				return cty.Number, nil
			}
			return cty.NilType, function.NewArgErrorf(0, "length() takes a string, list, map, set or object, not %s", ty.FriendlyName())
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v := args[0]
			switch {
			case v.Type() == cty.String:
				return stdlib.Strlen(v)
			case v.Type().IsObjectType():
				return cty.NumberIntVal(int64(len(v.Type().AttributeTypes()))), nil
			}
			return v.Length(), nil
		},
	})
}

// oneFunction is the only item of a list or a set, or null where there is none.
func oneFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "list", Type: cty.DynamicPseudoType}},
		Type: func(args []cty.Value) (cty.Type, error) {
			ty := args[0].Type()
			switch {
			case ty.IsListType() || ty.IsSetType():
				return ty.ElementType(), nil
			case ty.IsTupleType() && ty.Length() == 1:
				return ty.TupleElementType(0), nil
			case ty.IsTupleType() && ty.Length() == 0:
				return cty.DynamicPseudoType, nil
			}
			return cty.NilType, errors.New("a list or a set of at most one item is required")
		},
		Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
			switch items := args[0].AsValueSlice(); len(items) {
			case 0:
				return cty.NullVal(retType), nil
			case 1:
				return items[0], nil
			}
			return cty.NilVal, errors.New("there is more than one item")
		},
	})
}
