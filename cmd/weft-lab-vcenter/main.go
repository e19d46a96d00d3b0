// Command weft-lab-vcenter is the SIMULATED vCenter of weft's lab, in a process of its own:
// weft would be half as large again with it. weft lab up starts it where it lies beside weft.
package main

import (
	"fmt"
	"os"

	"weft/internal/lab/simvcenter"
)

func main() {
	if err := simvcenter.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "weft-lab-vcenter:", err)
		os.Exit(1)
	}
}
