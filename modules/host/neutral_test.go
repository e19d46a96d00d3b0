package host

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// No host system stands out here: where it keeps things, how it is asked and what it
// is told is in a package of its own.
func TestNoSystemStandsOut(t *testing.T) {
	known := regexp.MustCompile(`/proc\b|/sys\b|/etc/|/var/|/run/|/tmp\b|"sh"|/bin/sh|systemctl|systemd`)
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) < 15 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if found := known.FindString(line); found != "" {
				t.Errorf("%s:%d names %s", file, n+1, found)
			}
		}
	}
}
