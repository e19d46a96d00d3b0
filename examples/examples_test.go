package examples

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	if !slices.Contains(Names(), "pilot") {
		t.Errorf("there are %q, and not the pilot", Names())
	}
	for _, name := range []string{"", ".", "..", "pilot/", "pilot/..", "nothing"} {
		if _, ok := Open(name); ok {
			t.Errorf("%q is an example", name)
		}
	}
}

// TestWhole makes sure that weft init writes all of an example: whatever lies
// in its directory is embedded, but for what weft itself leaves there.
func TestWhole(t *testing.T) {
	for _, name := range Names() {
		example, ok := Open(name)
		if !ok {
			t.Fatalf("%s does not open", name)
		}
		err := fs.WalkDir(os.DirFS(name), ".", func(p string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case p != "." && strings.HasPrefix(d.Name(), ".") && d.IsDir():
				return fs.SkipDir
			case d.IsDir() || path.Ext(p) == ".weftplan" || strings.HasPrefix(d.Name(), "."):
				return nil
			}
			if _, err := fs.Stat(example, p); err != nil {
				t.Errorf("%s/%s is not embedded: extend the pattern in examples.go", name, p)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
