package main

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var permits = regexp.MustCompile(`^\s*rule [0-9]+ permit command (.+)$`)

// restrict gives the user of a simulated switch the role that weft doctor --privileges
// lists for its system: restrict HOST OS.
func restrict(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: restrict HOST OS")
	}
	ts.Check(ts.Exec("weft", "doctor", "--privileges", "--json"))
	var p privileges
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &p))
	var lines []string
	for _, s := range p.Switches {
		for _, line := range s.Role {
			if m := permits.FindStringSubmatch(line); m != nil && s.OS == args[1] {
				lines = append(lines, m[1])
			}
		}
	}
	if lines == nil {
		ts.Fatalf("no role of %s permits anything", args[1])
	}
	ts.Check(ts.Exec("weft", "lab", "fault", args[0], "role="+strings.Join(lines, ";")))
}
