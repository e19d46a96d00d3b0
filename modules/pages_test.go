package modules

import (
	"os"
	"strings"
	"testing"
)

// Each kind of resource that servers have has its page; README links all pages
// of this folder.
func TestPages(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	for kind := range newKindSet(Kinds()) {
		if link := "](modules/" + kind + ".md)"; !strings.Contains(string(readme), link) {
			t.Errorf("README does not link the page of %s", kind)
		}
		text, err := os.ReadFile(kind + ".md")
		if err != nil {
			t.Errorf("%s has no page: %v", kind, err)
			continue
		}
		if !strings.HasPrefix(string(text), "# "+kind+"\n") {
			t.Errorf("%s.md begins with another title", kind)
		}
	}
}
