package main

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// newFindings demands that a report of doctor in JSON has all findings of an earlier one,
// and besides just those of a list, which is a file or none: new-findings EARLIER REPORT LIST.
func newFindings(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: new-findings EARLIER REPORT LIST")
	}
	before, have := findingsIn(ts, args[0]), findingsIn(ts, args[1])
	for _, f := range before {
		if !slices.Contains(have, f) {
			ts.Fatalf("it does not find %s any more", f)
		}
	}
	have = slices.DeleteFunc(have, func(f string) bool { return slices.Contains(before, f) })
	var want []string
	if args[2] != "none" {
		want = strings.Split(strings.TrimSpace(ts.ReadFile(args[2])), "\n")
	}
	slices.Sort(have)
	slices.Sort(want)
	if !slices.Equal(have, want) {
		ts.Fatalf("it found\n%s\nwanted\n%s", strings.Join(have, "\n"), strings.Join(want, "\n"))
	}
}

// findings are those of a report, each with severity, id, place and file.
func findingsIn(ts *testscript.TestScript, name string) (list []string) {
	var doc struct {
		Findings []struct {
			ID, Severity, At string
			Place            struct{ Device, Part string }
		}
	}
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &doc))
	for _, f := range doc.Findings {
		file, _, _ := strings.Cut(f.At, ":")
		list = append(list, strings.Join(strings.Fields(strings.Join([]string{f.Severity, f.ID, f.Place.Device, f.Place.Part, file}, " ")), " "))
	}
	return list
}

// sameUnknowns demands that two reports of doctor list the same as not known.
func sameUnknowns(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same-unknowns REPORT REPORT")
	}
	part := func(name string) string {
		_, text, ok := strings.Cut(ts.ReadFile(name), "Unknown, which is not a pass\n")
		if !ok {
			ts.Fatalf("%s lists nothing as not known", name)
		}
		text, _, _ = strings.Cut(text, "\n\n")
		return text
	}
	if a, b := part(args[0]), part(args[1]); a != b {
		ts.Fatalf("not known are\n%s\nand\n%s", a, b)
	}
}
