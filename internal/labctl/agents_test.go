//go:build unix

package labctl

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestNoProgramOfTheFolder: a folder that came with the files has no program started, neither
// when a lab goes down nor when it is cleaned.
func TestNoProgramOfTheFolder(t *testing.T) {
	dir := t.TempDir()
	root := At(dir).Root("st1")
	for name, text := range map[string]string{
		"run/weft/target.sock":           "",
		"usr/local/lib/weft/weft-target": "#!/bin/sh\necho x >" + filepath.Join(dir, "started") + "\n",
	} {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := Down(t.Context(), dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "started")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a program of the folder was started")
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}
