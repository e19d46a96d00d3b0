package switches_test

import (
	"fmt"

	"weft/switches"
)

// What a switch prints is shown without its secrets.
func ExampleRedact() {
	fmt.Println(switches.Redact("hostname leaf-a\nsnmp-server community opensesame ro"))
	// Output:
	// hostname leaf-a
	// snmp-server community REDACTED ro
}
