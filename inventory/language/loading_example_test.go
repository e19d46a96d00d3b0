package language_test

import (
	"fmt"
	"os"

	"weft/inventory/language"
)

// Load reads the files of a folder. Nothing is asked of any device.
func ExampleLoad() {
	m, diags := language.Load(os.DirFS("../../examples/two-hosts"), language.Options{})
	fmt.Println(diags.HasErrors(), len(m.Servers), "servers")
	// Output: false 2 servers
}
