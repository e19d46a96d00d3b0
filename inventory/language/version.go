package language

import (
	"fmt"
	"strconv"
	"strings"

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
		e.report(problem.Within(problem.New(problem.Version, a.Expr.Range(), "not a version constraint", "%v.", err), a.SrcRange))
	case !ok:
		e.report(problem.Within(problem.New(problem.Version, a.Expr.Range(), "another version of weft is needed",
			"The inventory asks for %s; this is weft %s.", want.AsString(), Version), a.SrcRange))
	}
}

// satisfies reports whether a version meets all constraints of a list such as
// ">= 0.1, < 2". A bare version means that very one; ~> 1.2 means at least
// 1.2 and below 2.
func satisfies(version, constraints string) (bool, error) {
	have, err := parseVersion(version)
	if err != nil {
		return false, err
	}
	for c := range strings.SplitSeq(constraints, ",") {
		c = strings.TrimSpace(c)
		digits := strings.TrimLeft(c, "<>=!~")
		operator := c[:len(c)-len(digits)]
		want, err := parseVersion(strings.TrimSpace(digits))
		if err != nil {
			return false, err
		}
		ok, err := compare(have, want, operator)
		if err != nil || !ok {
			return false, err
		}
	}
	return true, nil
}

func compare(have, want []int, operator string) (bool, error) {
	order := orderOf(have, want)
	switch operator {
	case "", "=":
		return order == 0, nil
	case "!=":
		return order != 0, nil
	case ">":
		return order > 0, nil
	case ">=":
		return order >= 0, nil
	case "<":
		return order < 0, nil
	case "<=":
		return order <= 0, nil
	case "~>":
		if order < 0 {
			return false, nil
		}
		n := max(len(want)-1, 1)
		return orderOf(have[:n], want[:n]) == 0, nil
	}
	return false, fmt.Errorf("%q does not compare versions; there are =, !=, >, >=, <, <= and ~>", operator)
}

func orderOf(a, b []int) int {
	for i := range max(len(a), len(b)) {
		var x, y int
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x != y {
			return x - y
		}
	}
	return 0
}

// parseVersion reads one to three numbers with points between them.
func parseVersion(text string) ([]int, error) {
	parts := strings.Split(text, ".")
	if len(parts) > 3 {
		return nil, fmt.Errorf("%q is not a version such as 0.1 or 0.1.2", text)
	}
	var version []int
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 31)
		if err != nil {
			return nil, fmt.Errorf("%q is not a version such as 0.1 or 0.1.2", text)
		}
		version = append(version, int(n))
	}
	return version, nil
}
