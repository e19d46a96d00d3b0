package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"weft/internal/require"
)

// The transcript in the README is what make demo prints: each part between two
// lines of "…" stands there as it is, in this order, but for what is measured, of
// which the test takes less.
func TestReadmeTranscript(t *testing.T) {
	require.Long(t, "15 s")
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the lab does not run on Windows")
	}
	needAgents(t)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(readme), "```\n$ weft ")
	block, _, ended := strings.Cut(block, "\n```\n")
	if !found || !ended {
		t.Fatal("the README has no transcript")
	}
	weft, err := exec.LookPath("weft") // this test, by that name
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir() // the demo takes the pilot beside it
	text, err := os.ReadFile("../../examples/demo.sh")
	script, pilot := filepath.Join(dir, "demo.sh"), filepath.Join(dir, "pilot")
	if err := errors.Join(err, os.WriteFile(script, text, 0o600), copyFiles("../../examples/pilot", pilot), hurry(pilot, true)); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	demo := exec.Command("sh", script, weft)
	demo.Env = append(os.Environ(), "NO_COLOR=1", "HOME="+t.TempDir(), "TMPDIR="+t.TempDir())
	demo.Stdout, demo.Stderr = &stdout, &stderr
	if err := demo.Run(); err != nil {
		t.Fatalf("the demo: %v\n%s\n%s", err, &stdout, &stderr)
	}
	printed := unmeasured(stdout.String())
	for _, part := range parts("$ weft " + block) {
		for i, line := range part {
			if rest, ok := strings.CutSuffix(line, " 500"); ok {
				part[i] = rest + " 50" // samples, as hurry has them
			}
		}
		at := find(printed, part)
		if at < 0 {
			t.Fatalf("the README has what make demo does not print, or not here:\n%s\n\nIt prints:\n%s", strings.Join(part, "\n"), strings.Join(printed, "\n"))
		}
		printed = printed[at+len(part):]
	}
}

// parts are the runs of lines between lines of "…".
func parts(block string) [][]string {
	var out [][]string
	for part := range strings.SplitSeq(block, "\n…\n") {
		if lines := unmeasured(part); len(lines) > 0 {
			out = append(out, lines)
		}
	}
	return out
}

// find is where a run of lines begins; -1: nowhere.
func find(lines, part []string) int {
	for at := range lines {
		if len(lines)-at >= len(part) && slices.Equal(lines[at:at+len(part)], part) {
			return at
		}
	}
	return -1
}

// unmeasured are the lines of a text that are not empty, without what differs
// from one run to the next: times, pictures of them, checksums, and counts of
// looks and bytes.
func unmeasured(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		line = drawn.ReplaceAllString(strings.TrimRight(line, "\n"), "")
		line = took.ReplaceAllString(line, "T")
		line = figures.ReplaceAllString(line, "N")
		line = looks.ReplaceAllString(line, ", N times")
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			out = append(out, line)
		}
	}
	return out
}

var (
	drawn   = regexp.MustCompile(`[▁▂▃▄▅▆▇█][▁▂▃▄▅▆▇█ ]*$`)
	took    = regexp.MustCompile(`[−-]?[0-9][0-9.]* (ns|µs|ms|s)\b`)
	figures = regexp.MustCompile(`\b([0-9a-f]{12}|[0-9]{6,}|[0-9.]+ MB)\b`)
	looks   = regexp.MustCompile(`, [0-9]+ times\b`)
)
