package modules

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/modules/host"
	"weft/modules/linux"
)

// Each kind of resource that servers have has its page; README links all pages
// of these folders.
func TestPages(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind := range host.NewKindSet(linux.Kinds()) {
		pages, err := filepath.Glob("linux/*/" + kind + ".md")
		if err != nil || len(pages) != 1 {
			t.Errorf("%s has %d pages: %v", kind, len(pages), err)
			continue
		}
		if link := "](modules/" + filepath.ToSlash(pages[0]) + ")"; !strings.Contains(string(readme), link) {
			t.Errorf("README does not link the page of %s", kind)
		}
		text, err := os.ReadFile(pages[0])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(text), "# "+kind+"\n") {
			t.Errorf("%s begins with another title", pages[0])
		}
	}
}
