package arch

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// once are facts that stand in one file: what they look like in Go, and where; "" is
// anywhere.
func once() map[string]string {
	return map[string]string{
		`"nqn\.2014-08`:                   "internal/nvme/names/names.go",
		`nqn\\\.\[0-9\]`:                  "internal/nvme/names/names.go",
		`(?i)0xfffffffe\b`:                "internal/nvme/names/names.go",
		`= 223\b`:                         "internal/nvme/names/names.go",
		`"WEFT-`:                          "internal/owned/owned.go",
		`(?i)(dscp|tos)[\w.\[\]]* ?<< ?2`: "internal/traffic/dscp.go",
		`(?i)(dscp|tos)[\w.\[\]]* ?>> ?2`: "internal/traffic/dscp.go",
		`orNumber\(4420\)`:                "inventory/language/language.go",
		`"/var/lib/weft"`:                 "",
		`"/run/weft"`:                     "",
		`"/usr/local/lib/weft"`:           "internal/agent/agent.go",
		`"/etc/weft/target\.toml"`:        "internal/agent/agent.go",
	}
}

// TestFactsStandOnce finds what is written a second time. The lab stands in for
// others' devices and shares nothing; tests say what they expect.
func TestFactsStandOnce(t *testing.T) {
	root := filepath.Join("..", "..")
	for pattern, place := range once() {
		re := regexp.MustCompile(pattern)
		var found []string
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			name, relErr := filepath.Rel(root, path)
			switch {
			case err != nil || relErr != nil:
				return err
			case d.IsDir() && (name == "internal/lab" || strings.HasPrefix(d.Name(), ".") && name != "." || d.Name() == "testdata"):
				return fs.SkipDir
			case d.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go"):
				return nil
			}
			text, err := os.ReadFile(path)
			if err == nil && re.Match(text) {
				found = append(found, filepath.ToSlash(name))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(found) != 1 || place != "" && found[0] != place {
			t.Errorf("%s stands in %v, and belongs to one: %s", pattern, found, place)
		}
	}
}
