// Package examples holds complete inventories, each a directory of files that
// weft init writes.
package examples

import (
	"embed"
	"io/fs"
	"path"
	"slices"
	"strings"

	"weft/internal/slice"
)

//go:embed */*.weft.hcl */*.weftvars
var files embed.FS

// Names are those of all examples, in alphabetical order.
func Names() []string {
	found, _ := fs.Glob(files, "*/*.weft.hcl") // only a malformed pattern fails
	names := slice.Map(found, path.Dir)
	return slices.Compact(names)
}

// Open returns the files of an example, or false when there is no such.
func Open(name string) (fs.FS, bool) {
	if strings.Contains(name, "/") || !slices.Contains(Names(), name) {
		return nil, false
	}
	sub, err := fs.Sub(files, name)
	return sub, err == nil
}
