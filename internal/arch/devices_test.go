package arch

import (
	"go/ast"
	"go/types"
	"testing"
)

// deviceInterfaces are the contracts of a device. What a device supports is a value,
// Capabilities, or an error that wraps errors.ErrUnsupported.
var deviceInterfaces = map[string][]string{
	"weft/plan":    {"Device", "Keeper", "Marker"},
	"weft/modules": {"Device", "Maintenance"},
}

// checkDeviceAssertions finds type assertions and type switches on devices.
func checkDeviceAssertions(t *testing.T, all []*typed) {
	var contracts []*types.Interface
	for _, p := range all {
		for _, name := range deviceInterfaces[p.path] {
			contracts = append(contracts, p.pkg.Scope().Lookup(name).Type().Underlying().(*types.Interface))
		}
	}
	if len(contracts) != 5 {
		t.Fatalf("%d device interfaces", len(contracts))
	}
	for _, p := range all {
		for _, f := range p.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if a, ok := n.(*ast.TypeAssertExpr); ok && isDevice(p.info.TypeOf(a.X), contracts) {
					t.Errorf("%s: a type assertion on a device: use its methods and Capabilities", p.at(a))
				}
				return true
			})
		}
	}
}

// isDevice reports whether a type is an interface with the methods of one of the contracts.
func isDevice(x types.Type, contracts []*types.Interface) bool {
	if x == nil || !types.IsInterface(x) {
		return false
	}
	for _, c := range contracts {
		if same(x.Underlying().(*types.Interface), c) {
			return true
		}
	}
	return false
}

// same reports whether an interface has all methods of a contract, by name. Each package sees its own copy
// of the types.
func same(x, contract *types.Interface) bool {
	for i := range contract.NumMethods() {
		found := false
		for n := range x.NumMethods() {
			found = found || x.Method(n).Name() == contract.Method(i).Name()
		}
		if !found {
			return false
		}
	}
	return true
}
