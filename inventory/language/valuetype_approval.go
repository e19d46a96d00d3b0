package language

import (
	"fmt"

	"github.com/zclconf/go-cty/cty"
)

// maxApprovals is how many people may be asked for.
const maxApprovals = 16

// approval is who must approve a phase: "manual", "none", or an object with count
// and not.
func approval() valueType {
	words := []string{"manual", "none"}
	people := line()
	return valueType{name: `"manual", "none" or an object such as { count = 2, not = ["author"] }`, cty: cty.DynamicPseudoType, check: func(v cty.Value) error {
		if v.Type() == cty.String {
			return checkWord(v.AsString(), words)
		}
		if !v.Type().IsObjectType() && !v.Type().IsMapType() {
			return fmt.Errorf("an object with count and not is required, or %s, not %s", quotedList(words), v.Type().FriendlyName())
		}
		for name, item := range v.AsValueMap() {
			switch {
			case name != "count" && name != "not":
				return fmt.Errorf("%q is neither count nor not", name)
			case item.IsNull():
				return fmt.Errorf("%s is null", name)
			case name == "count" && item.Type() != cty.Number:
				return fmt.Errorf("count is a whole number from 1 to %d", maxApprovals)
			case name == "count":
				if err := checkInteger(item, 1, maxApprovals); err != nil {
					return err
				}
			case !item.CanIterateElements() || item.Type().IsObjectType() || item.Type().IsMapType():
				return fmt.Errorf("not is a list of principals, or \"author\"")
			default:
				for _, who := range item.AsValueSlice() {
					if who.IsNull() || who.Type() != cty.String || who.AsString() == "" {
						return fmt.Errorf("not is a list of principals, or \"author\"")
					}
					if err := people.check(who); err != nil {
						return err
					}
				}
			}
		}
		return nil
	}}
}
