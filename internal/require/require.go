// Package require is for tests that need something which not every machine
// has: a tool, a kernel, recordings. They skip, and say what is missing; where
// WEFT_REQUIRE, a list of words, demands it, they fail.
package require

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The words of WEFT_REQUIRE.
const (
	Transcripts = "transcripts" // recorded output of real devices
	Clients     = "clients"     // libraries of others that drive switches
	Lab         = "lab"         // guests with real kernels
	OpenSSH     = "openssh"     // its server and its tools
	Chromium    = "chromium"    // a browser that opens the report and the page of runs
	OpenSM      = "opensm"      // a subnet manager and a simulated subnet
	GitLab      = "gitlab"      // its schema of pipelines, which make deps brings
	OpenSSL     = "openssl"     // its s_server and s_client
	Agents      = "agents"      // the agents inside weft, which make build puts there
	Tools       = "tools"       // programs that scripts of tests call: script, ssh, jq and others
)

// Demanded reports whether WEFT_REQUIRE holds the word.
func Demanded(word string) bool {
	return slices.Contains(strings.Split(os.Getenv("WEFT_REQUIRE"), ","), word)
}

// Long skips a test that takes seconds in a plain go test of packages, which is for people
// who wait for it. It runs where all are wanted, as make test does by WEFT_LONG, where
// WEFT_REQUIRE demands anything, and where -run picks tests.
func Long(t testing.TB, takes string) {
	t.Helper()
	if !AllWanted() {
		t.Skip(TakesLong(takes))
	}
}

// AllWanted reports whether tests that take long are run.
func AllWanted() bool {
	picked := flag.Lookup("test.run")
	return os.Getenv("WEFT_LONG") != "" || os.Getenv("WEFT_REQUIRE") != "" || picked != nil && picked.Value.String() != ""
}

// TakesLong is what a test says that is skipped for its length.
func TakesLong(takes string) string {
	return "takes " + takes + ": make test, or WEFT_LONG=1, or pick it by -run"
}

// Missing skips a test, or fails it where the word is demanded.
func Missing(t testing.TB, word, format string, args ...any) {
	t.Helper()
	if Demanded(word) {
		t.Fatalf("WEFT_REQUIRE demands "+word+": "+format, args...)
	}
	t.Skipf(format, args...)
}

// Tool is the path of a program, without which the test is Missing.
func Tool(t testing.TB, word, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Missing(t, word, "%v", err)
	}
	return path
}

// Transcript is what a real device printed. The collection stands beside the
// repository; without it the test is Missing.
func Transcript(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	for ; err == nil; dir = filepath.Dir(dir) {
		if _, late := os.Stat(filepath.Join(dir, "go.mod")); late == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "..", "shared", "transcripts", filepath.FromSlash(name)))
	if err != nil {
		Missing(t, Transcripts, "missing transcript: %v", err)
	}
	return string(text)
}
