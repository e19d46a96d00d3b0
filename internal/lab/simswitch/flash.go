package simswitch

import (
	"errors"
	"slices"
	"strings"
)

var (
	errNoFile   = errors.New("no such file or directory")
	errExists   = errors.New("file exists")
	errNotEmpty = errors.New("directory is not empty")
)

// flashName makes bootflash:///a/b, bootflash:a/b and flash:/a/b all "a/b".
func flashName(url string) string {
	_, name, found := strings.Cut(url, ":")
	if !found {
		name = url
	}
	name = strings.TrimPrefix(name, "//sup-local")
	return strings.Trim(name, "/")
}

// makeDir makes a directory, exclusively: what exists already is an error.
func (sw *Switch) makeDir(name string) error {
	if _, ok := sw.flash[name]; ok || sw.isDir(name) {
		return errExists
	}
	if up, _, nested := cutLast(name); nested && !sw.isDir(up) {
		return errNoFile
	}
	return sw.write(name+"/", "")
}

func (sw *Switch) isDir(name string) bool {
	_, ok := sw.flash[name+"/"]
	return ok
}

func (sw *Switch) removeDir(name string) error {
	if !sw.isDir(name) {
		return errNoFile
	}
	for f := range sw.flash {
		if strings.HasPrefix(f, name+"/") && f != name+"/" {
			return errNotEmpty
		}
	}
	delete(sw.flash, name+"/")
	return nil
}

func (sw *Switch) removeFile(name string) error {
	if _, ok := sw.flash[name]; !ok {
		return errNoFile
	}
	delete(sw.flash, name)
	return nil
}

// list is what lies directly in a directory, sorted; directories end in "/".
func (sw *Switch) list(dir string) []string {
	if dir != "" {
		dir += "/"
	}
	var names []string
	for f := range sw.flash {
		rest, ok := strings.CutPrefix(f, dir)
		if ok && rest != "" && !strings.Contains(strings.TrimSuffix(rest, "/"), "/") {
			names = append(names, rest)
		}
	}
	slices.Sort(names)
	return names
}

func cutLast(path string) (dir, base string, found bool) {
	i := strings.LastIndexByte(path, '/')
	if i < 0 {
		return "", path, false
	}
	return path[:i], path[i+1:], true
}
