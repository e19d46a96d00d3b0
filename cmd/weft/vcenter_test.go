package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"

	"weft/internal/lab/simvcenter"
)

// labVCenter is the program that simulates the vCenter of labs, as scripts have it.
func labVCenter() {
	if err := simvcenter.Serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// simVCenter makes a SIMULATED vCenter answer until the script ends; its hosts are given as
// NAME=PCI. Where it answers, and the SHA-256 of its certificate, become variables.
func simVCenter(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: simvcenter NAME=PCI...")
	}
	spec := simvcenter.Spec{User: "weft@vsphere.local", Password: "simulated"}
	for _, a := range args {
		name, pci, _ := strings.Cut(a, "=")
		spec.Hosts = append(spec.Hosts, simvcenter.Host{Name: name, NICs: []string{pci}})
	}
	s, err := simvcenter.Start(spec)
	ts.Check(err)
	ts.Defer(s.Close)
	ts.Setenv("WEFT_VAR_port", strconv.Itoa(s.Port))
	ts.Setenv("WEFT_VAR_sha256", s.SHA256)
}
