package language

import (
	"errors"
	"fmt"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// Functions that Terraform has otherwise than cty: here they do what its documentation says.

// coalesceFunction is the first argument that is neither null nor an empty text.
func coalesceFunction() function.Function {
	return function.New(&function.Spec{
		Description: "Returns the first argument that is neither null nor an empty string.",
		VarParam:    &function.Parameter{Name: "vals", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true, AllowNull: true},
		Type:        stdlib.CoalesceFunc.ReturnTypeForValues,
		Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
			for _, arg := range args {
				v, err := convert.Convert(arg, retType)
				switch {
				case err != nil:
					return cty.NilVal, err
				case !v.IsKnown():
					return cty.UnknownVal(retType), nil
				case v.IsNull() || v.Type() == cty.String && v.AsString() == "":
				default:
					return v, nil
				}
			}
			return cty.NilVal, errors.New("every argument is null or an empty text")
		},
	})
}

// indexFunction is the position of a value in a list, as in Terraform, or what a map has for a
// key. With a number in a list it could mean either, and is refused.
func indexFunction() function.Function {
	return function.New(&function.Spec{
		Description: "Returns the position of a value in a list, or the value of a key in a map.",
		Params:      []function.Parameter{{Name: "collection", Type: cty.DynamicPseudoType}, {Name: "value", Type: cty.DynamicPseudoType, AllowDynamicType: true}},
		Type: func(args []cty.Value) (cty.Type, error) {
			list, value := args[0].Type(), args[1]
			switch {
			case !list.IsListType() && !list.IsTupleType():
				return stdlib.IndexFunc.ReturnTypeForValues(args)
			case value.Type() == cty.Number:
				n := "N"
				if value.IsKnown() && !value.IsNull() {
					n = value.AsBigFloat().Text('f', -1)
				}
				return cty.NilType, function.NewArgErrorf(1, "index of a list with a number has two meanings: "+
					"for the item at position %[1]s write LIST[%[1]s] or element(LIST, %[1]s); "+
					"for the position of the value %[1]s, which index means in Terraform, index([for v in LIST : tostring(v)], \"%[1]s\")", n)
			}
			return cty.Number, nil
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			if !args[0].Type().IsListType() && !args[0].Type().IsTupleType() {
				return stdlib.IndexFunc.Call(args)
			}
			for it := args[0].ElementIterator(); it.Next(); {
				at, v := it.Element()
				same, err := stdlib.Equal(v, args[1])
				if err != nil {
					return cty.NilVal, err
				}
				if !same.IsKnown() {
					return cty.UnknownVal(cty.Number), nil
				}
				if same.True() {
					return at, nil
				}
			}
			return cty.NilVal, errors.New("the list has no such item")
		},
	})
}

// lookupFunction is what a map has for a key, or else the default, which may be null.
func lookupFunction() function.Function {
	return function.New(&function.Spec{
		Description: stdlib.LookupFunc.Description(),
		Params:      []function.Parameter{{Name: "inputMap", Type: cty.DynamicPseudoType}, {Name: "key", Type: cty.String}},
		VarParam:    &function.Parameter{Name: "default", Type: cty.DynamicPseudoType, AllowNull: true, AllowUnknown: true, AllowDynamicType: true},
		Type: func(args []cty.Value) (cty.Type, error) {
			ty := args[0].Type()
			switch {
			case len(args) > 3:
				return cty.NilType, fmt.Errorf("it takes a map, a key and one default, not %d arguments", len(args))
			case ty.IsMapType():
				if len(args) == 3 {
					if _, err := convert.Convert(args[2], ty.ElementType()); err != nil {
						return cty.NilType, function.NewArgErrorf(2, "the default value must have the same type as the map elements")
					}
				}
				return ty.ElementType(), nil
			case !ty.IsObjectType():
				return cty.NilType, function.NewArgErrorf(0, "lookup() requires a map as the first argument")
			case !args[1].IsKnown():
				return cty.DynamicPseudoType, nil
			case ty.HasAttribute(args[1].AsString()):
				return ty.AttributeType(args[1].AsString()), nil
			case len(args) == 3:
				return args[2].Type(), nil
			}
			return cty.NilType, function.NewArgErrorf(0, "the given object has no attribute %q: lookup takes a default as its third argument", args[1].AsString())
		},
		Impl: func(args []cty.Value, retType cty.Type) (cty.Value, error) {
			in, key := args[0], args[1].AsString()
			switch {
			case !in.IsWhollyKnown():
				return cty.UnknownVal(retType), nil
			case in.Type().IsObjectType() && in.Type().HasAttribute(key):
				return in.GetAttr(key), nil
			case in.Type().IsMapType() && in.HasIndex(args[1]).True():
				return in.Index(args[1]), nil
			case len(args) == 3:
				return convert.Convert(args[2], retType)
			}
			return cty.NilVal, fmt.Errorf("the map has no key %q: lookup takes a default as its third argument", key)
		},
	})
}
