package main

import (
	"os"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// renamed gives blocks in a file other names: renamed FILE WAS IS...
func renamed(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || len(args)%2 == 0 {
		ts.Fatalf("usage: renamed FILE WAS IS...")
	}
	text := ts.ReadFile(args[0])
	for i := 1; i < len(args); i += 2 {
		if !strings.Contains(text, args[i]) {
			ts.Fatalf("%s has no %s", args[0], args[i])
		}
		text = strings.ReplaceAll(text, args[i], args[i+1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// hinted writes the moved blocks that the last command printed, as they stand, to a file.
func hinted(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: hinted FILE")
	}
	blocks := regexp.MustCompile(`(?m)^ *moved \{\n[^}]*\}\n`).FindAllString(ts.ReadFile("stdout"), -1)
	if blocks == nil {
		ts.Fatalf("no moved block was printed")
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(blocks, "\n")), 0o600))
}
