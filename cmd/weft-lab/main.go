//go:build unix

// Command weft-lab simulates the switches, servers and vCenters of a configuration. weft starts
// it for weft lab up and weft rehearse; it is a separate program so that weft does not carry the
// simulators.
package main

import (
	"fmt"
	"os"
	"slices"

	"weft/internal/lab"
	"weft/internal/lab/simvcenter"
	"weft/internal/labctl"
)

// vcenter is the argument with which weft-lab starts itself to simulate one vCenter.
const vcenter = "vcenter"

func main() {
	if slices.Equal(os.Args[1:], []string{vcenter}) {
		fail(simvcenter.Serve(os.Stdin, os.Stdout))
		return
	}
	self, err := os.Executable()
	fail(err)
	os.Exit(lab.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, []string{self, vcenter}))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", labctl.Name, err)
		os.Exit(1)
	}
}
