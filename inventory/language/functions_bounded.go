package language

import (
	"math"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
)

// bounded is a function that refuses arguments with which its result would be
// too long. length is about how many bytes or items that would be; it is asked
// about known values that are not null.
func bounded(f function.Function, length func(args []cty.Value) int) function.Function {
	return function.New(&function.Spec{
		Description: f.Description(),
		Params:      f.Params(),
		VarParam:    f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			for _, a := range args {
				if !a.IsKnown() || a.IsNull() {
					return f.ReturnTypeForValues(args)
				}
			}
			if length(args) > maxText {
				return cty.NilType, tooLong()
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) { return f.Call(args) },
	})
}

// joinLength is how much the separators of join add.
func joinLength(args []cty.Value) int {
	items := 0
	for _, list := range args[1:] {
		items += list.LengthInt()
	}
	return items * len(args[0].AsString())
}

// indentLength is how much indent adds.
func indentLength(args []cty.Value) int {
	n, _ := args[0].AsBigFloat().Float64()
	return int(min(n*float64(strings.Count(args[1].AsString(), "\n")), math.MaxInt32))
}

// partsLength is how much values may take that are made of a text, the last
// argument: as many as it has characters in the worst case.
func partsLength(args []cty.Value) int {
	return len(args[len(args)-1].AsString()) * (maxText / maxFileSize)
}

// productLength is how many items setproduct makes, as bytes.
func productLength(args []cty.Value) int {
	n := 1.0
	for _, set := range args {
		if set.CanIterateElements() {
			n *= float64(set.LengthInt())
		}
	}
	return int(min(n*float64(len(args))*(maxText/maxItems), math.MaxInt32))
}

// formatLength is how long format makes a text at most, with every verb for
// the longest argument and for every item of a list.
func formatLength(args []cty.Value) int {
	longest, items := 0, 1
	for _, a := range args[1:] {
		w := weight{}
		w.add(a)
		longest = max(longest, w.text)
		if a, _ := a.Unmark(); a.IsKnown() && !a.IsNull() && a.CanIterateElements() {
			items = max(items, a.LengthInt())
		}
	}
	if f, _ := args[0].Unmark(); f.IsKnown() && !f.IsNull() {
		return strings.Count(f.AsString(), "%")*longest + items*len(f.AsString())
	}
	return 0
}
