package language

import (
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
)

// quick computes functions that are called with a whole map or list for each of
// thousands of instances, such as lookup(local.hosts, each.key, 0): cty looks
// at everything in a collection, several times, before each call. It reports
// false for what has not the usual form; that is left to the function itself.
func quick(name string, args []cty.Value) (cty.Value, bool) {
	for _, a := range args {
		if a.IsMarked() || !a.IsKnown() || a.IsNull() {
			return cty.NilVal, false
		}
	}
	switch {
	case name == "length" && len(args) == 1:
		return quickLength(args[0])
	case name == "lookup" && len(args) == 3 && args[1].Type() == cty.String:
		return quickLookup(args[0], args[1], args[2])
	case name == "contains" && len(args) == 2 && args[1].Type() == cty.String:
		return quickContains(args[0], args[1])
	}
	return cty.NilVal, false
}

// isQuick reports whether quick knows the function.
func isQuick(name string) bool { return name == "length" || name == "lookup" || name == "contains" }

func quickLength(v cty.Value) (cty.Value, bool) {
	switch ty := v.Type(); {
	case ty.IsObjectType():
		return cty.NumberIntVal(int64(len(ty.AttributeTypes()))), true
	case ty.IsListType() || ty.IsMapType() || ty.IsTupleType():
		return cty.NumberIntVal(int64(v.LengthInt())), true
	}
	return cty.NilVal, false
}

func quickLookup(v, key, other cty.Value) (cty.Value, bool) {
	switch ty := v.Type(); {
	case ty.IsObjectType():
		if ty.HasAttribute(key.AsString()) {
			return v.GetAttr(key.AsString()), true
		}
		return other, true
	case ty.IsMapType():
		other, err := convert.Convert(other, ty.ElementType())
		if err != nil {
			return cty.NilVal, false
		}
		if v.HasIndex(key).True() {
			return v.Index(key), true
		}
		return other, true
	}
	return cty.NilVal, false
}

func quickContains(v, text cty.Value) (cty.Value, bool) {
	ty := v.Type()
	if !ty.IsTupleType() && !ty.IsListType() {
		return cty.NilVal, false
	}
	found := false
	for it := v.ElementIterator(); it.Next(); {
		_, item := it.Element()
		if item.IsMarked() || item.Type() != cty.String || !item.IsKnown() || item.IsNull() {
			return cty.NilVal, false
		}
		found = found || item.AsString() == text.AsString()
	}
	return cty.BoolVal(found), true
}
