package modules

import (
	"os"
	"strings"
	"testing"
)

// Each kind of resource that servers have has its page; README links all pages
// of this folder.
func TestPages(t *testing.T) {
	for kind := range newKindSet(Kinds()) {
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
