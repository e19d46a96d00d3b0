package main

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weft/internal/require"
)

// A script leaves out, without a word, what needs a program that is not here ([exec:script]): what
// is left out is said here, and WEFT_REQUIRE=tools demands it.
func TestTools(t *testing.T) {
	wanted := wantedTools(t)
	if len(wanted["script"]) == 0 || len(wanted["ssh"]) == 0 {
		t.Fatalf("scripts call %v", wanted)
	}
	var without []string
	for _, tool := range slices.Sorted(maps.Keys(wanted)) {
		if _, err := exec.LookPath(tool); err != nil {
			without = append(without, fmt.Sprintf("%v: not run whole: %s", err, strings.Join(wanted[tool], ", ")))
		}
	}
	if len(without) > 0 {
		require.Missing(t, require.Tools, "%s", strings.Join(without, "\n"))
	}
}

// wantedTools are the programs that conditions of scripts ask for, and the scripts.
func wantedTools(t *testing.T) map[string][]string {
	condition := regexp.MustCompile(`(?m)^(?:\[[^]]*\] )*\[!?exec:([^]]+)\]`)
	files, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	wanted := map[string][]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range condition.FindAllStringSubmatch(string(text), -1) {
			if tool, name := m[1], filepath.Base(file); !slices.Contains(wanted[tool], name) {
				wanted[tool] = append(wanted[tool], name)
			}
		}
	}
	return wanted
}
