package language

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/go-version"

	"weft/inventory/problem"
)

// checkVersion compares required_version with Version.
func (e *evaluator) checkVersion() {
	if e.root.weft == nil {
		return
	}
	want := e.attr(e.root.weft.object, "required_version")
	if !want.IsKnown() || want.IsNull() {
		return
	}
	a := e.root.weft.body.attrs["required_version"]
	switch ok, err := satisfies(Version, want.AsString()); {
	case err != nil:
		e.report(problem.Within(problem.New(problem.Version, a.Expr.Range(), "invalid version constraint", "%v.", err), a.SrcRange))
	case !ok:
		e.report(problem.Within(problem.New(problem.Version, a.Expr.Range(), "another version of weft is required",
			"The inventory requires %s; this is weft %s.", want.AsString(), Version), a.SrcRange))
	}
}

// versionForm is a list of constraints of one to three numbers each.
var versionForm = regexp.MustCompile(`^ *([<>]=?|!?=|~>)? *[0-9]+(\.[0-9]+){0,2} *(, *([<>]=?|!?=|~>)? *[0-9]+(\.[0-9]+){0,2} *)*$`)

// satisfies reports whether a version meets all constraints of a list such as
// ">= 0.1, < 2". A bare version means that very one; ~> 1.2 means at least
// 1.2 and below 2.
func satisfies(have, constraints string) (bool, error) {
	if !versionForm.MatchString(constraints) {
		return false, fmt.Errorf("%q is not a list of versions such as 0.1 or 0.1.2, each behind one of =, !=, >, >=, <, <= and ~>", constraints)
	}
	is, err := version.NewVersion(have)
	if err != nil {
		return false, err
	}
	want, err := version.NewConstraint(constraints)
	if err != nil {
		return false, err
	}
	return want.Check(is), nil
}
