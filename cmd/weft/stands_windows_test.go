package main

import "github.com/rogpeppe/go-internal/testscript"

// stands has nothing to look at: labs do not run on Windows.
func stands(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("no lab stands on Windows") }

// labMain simulates nothing.
func labMain() int { return 1 }
