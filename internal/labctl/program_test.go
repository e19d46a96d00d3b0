//go:build unix

package labctl

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProgram: weft-lab is found beside weft and in folders of PATH, but in none that the files
// or the current directory choose, and none that another user could have put it in.
func TestProgram(t *testing.T) {
	const me, other = 1000, 1001
	file := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil { // whatever the umask is
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		at      string // where weft-lab is
		path    string // PATH
		mode    os.FileMode
		root    bool
		foreign bool   // weft-lab belongs to another user
		want    string // "": at; else what the error says
	}{
		"beside weft":                   {at: "bin/weft-lab"},
		"beside weft, as root":          {at: "bin/weft-lab", root: true},
		"in PATH":                       {at: "usr/weft-lab", path: "/nowhere:$DIR/usr"},
		"in PATH, as root":              {at: "usr/weft-lab", path: "$DIR/usr", root: true, want: "the only place where root may start it"},
		"in the configuration's folder": {at: "files/weft-lab", path: "$DIR/files", want: "neither beside weft"},
		"there, by another name":        {at: "files/weft-lab", path: "$DIR/usr/../files/", want: "neither beside weft"},
		"there, through a link":         {at: "files/weft-lab", path: "$DIR/link", want: "neither beside weft"},
		"in the current directory":      {at: "cwd/weft-lab", path: "$DIR/cwd", want: "neither beside weft"},
		"in an empty entry of PATH":     {at: "cwd/weft-lab", path: ":/nowhere", want: "neither beside weft"},
		"in a relative entry of PATH":   {at: "cwd/sub/weft-lab", path: "sub:./sub", want: "neither beside weft"},
		"nowhere":                       {at: "usr/other", path: "$DIR/usr", want: "make build makes both"},
		"written by every user":         {at: "bin/weft-lab", mode: 0o777, want: "every user may write it"},
		"of another user":               {at: "bin/weft-lab", foreign: true, want: "it belongs to user"},
		"of another user, in PATH":      {at: "usr/weft-lab", path: "$DIR/usr", foreign: true, want: "it belongs to user"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, name := range []string{"bin", "usr", "files", "cwd/sub"} {
				if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(filepath.Join(dir, "files"), filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			t.Chdir(filepath.Join(dir, "cwd"))
			file(filepath.Join(dir, "bin", "weft"), 0o755)
			mode := c.mode
			if mode == 0 {
				mode = 0o755
			}
			at := filepath.Join(dir, c.at)
			file(at, mode)
			s := search{weft: filepath.Join(dir, "bin", "weft"), path: strings.ReplaceAll(c.path, "$DIR", dir), untrusted: []string{".", filepath.Join(dir, "files")}}
			s.owner = func(info os.FileInfo) int {
				switch {
				case info.Name() == Name && c.foreign:
					return other
				case info.Name() == "weft":
					return 0
				}
				return me
			}
			if s.uid = me; c.root {
				s.uid = 0
				s.owner = func(os.FileInfo) int { return 0 }
			}
			got, err := s.program()
			switch {
			case c.want == "" && (err != nil || got != at):
				t.Errorf("%q, %v; want %s", got, err, at)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")):
				t.Errorf("%q, %v; want %q, in one line", got, err, c.want)
			}
		})
	}
}
