package outfile

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRegular(t *testing.T) {
	big := bytes.Repeat([]byte("x"), 1<<20)
	for _, c := range []struct {
		name string
		was  fs.FileMode // of the file before; 0: there was none
		o    Options
		mode fs.FileMode
	}{
		{"new", 0, Options{}, 0o600},
		{"new with a mode", 0, Options{Mode: 0o640}, 0o640},
		{"new secret", 0, Options{Secret: true, Mode: 0o644}, 0o600},
		{"mode is kept", 0o644, Options{}, 0o644},
		{"mode of its owner is kept", 0o400, Options{Mode: 0o644}, 0o400},
		{"secret becomes private", 0o644, Options{Secret: true}, 0o600},
		{"must be new", 0, Options{New: true}, 0o600},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			name := filepath.Join(dir, "file")
			if c.was != 0 {
				put(t, name, c.was)
			}
			if err := Write(t.Context(), name, big, c.o); err != nil {
				t.Fatal(err)
			}
			holds(t, name, string(big))
			if info, err := os.Stat(name); err != nil || info.Mode().Perm() != c.mode && os.PathSeparator == '/' {
				t.Errorf("mode %v, want %v (%v)", info.Mode(), c.mode, err)
			}
			alone(t, dir, "file")
		})
	}
}

func TestRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	put(t, file, 0o600)
	for _, c := range []struct {
		name string
		o    Options
		want string
	}{
		{dir, Options{}, "is a directory"},
		{dir + string(filepath.Separator), Options{}, "is a directory"},
		{filepath.Join(dir, "."), Options{}, "is a directory"},
		{filepath.Join(dir, "free") + string(filepath.Separator), Options{}, "is a directory"},
		{file, Options{New: true}, "file already exists"},
		{filepath.Join(dir, "no", "file"), Options{}, "no such file"},
	} {
		if os.PathSeparator != '/' && strings.HasPrefix(c.want, "no such") {
			continue // in other words there
		}
		err := Write(t.Context(), c.name, []byte("text"), c.o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	if err := Write(t.Context(), file, nil, Options{New: true}); !errors.Is(err, fs.ErrExist) {
		t.Errorf("%v is not ErrExist", err)
	}
	holds(t, file, "before")
	alone(t, dir, "file")
}

func TestRemove(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	put(t, name, 0o600)
	if err := Remove(name); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s is still there: %v", name, err)
	}
	if err := Remove(os.DevNull); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(os.DevNull); err != nil {
		t.Error(err)
	}
}

func put(t *testing.T, name string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, name, want string) {
	t.Helper()
	if text, err := os.ReadFile(name); err != nil || string(text) != want {
		t.Errorf("%s holds %.40q, want %.40q (%v)", name, text, want, err)
	}
}

// alone checks that a folder has these entries and no temporary file.
func alone(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if strings.Join(names, " ") != strings.Join(want, " ") {
		t.Errorf("%s has %q, want %q", dir, names, want)
	}
}
