package inventory

import "github.com/hashicorp/hcl/v2"

// check applies the rules over the whole model.
func check(m *Model) hcl.Diagnostics {
	return nil
}
