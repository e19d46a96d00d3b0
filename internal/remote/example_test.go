package remote_test

import (
	"fmt"

	"weft/internal/remote"
)

// Commands are argument vectors; Quote makes the one line that a shell reads.
func ExampleQuote() {
	fmt.Println(remote.Quote("ip", "link", "set", "dev", "p 0", "up"))
	// Output: ip link set dev 'p 0' up
}
