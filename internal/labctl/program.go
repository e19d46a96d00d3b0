//go:build unix

package labctl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// Name is the name of the program that simulates devices.
const Name = "weft-lab"

// Program finds weft-lab: beside weft or, unless weft runs as root, in PATH. The folder of the
// configuration, the current directory and relative entries of PATH never choose it.
func Program(config string) (string, error) {
	weft, err := os.Executable()
	if err == nil {
		weft, err = filepath.EvalSymlinks(weft)
	}
	if err != nil {
		return "", fmt.Errorf("finding %s: %w", Name, err)
	}
	return search{weft: weft, path: os.Getenv("PATH"), uid: os.Geteuid(), untrusted: []string{".", config}, owner: ownerOf}.program()
}

// A search is what a search for weft-lab depends on.
type search struct {
	weft      string // path of weft
	path      string // PATH
	uid       int    // effective user
	untrusted []string
	owner     func(fs.FileInfo) int
}

func (s search) program() (string, error) {
	owners := []int{0, s.uid}
	if info, err := os.Stat(s.weft); err == nil {
		owners = append(owners, s.owner(info))
	}
	beside := filepath.Dir(s.weft)
	dirs, where := []string{beside}, "not beside weft ("+beside+"), the only place where root may start it"
	if s.uid != 0 {
		dirs, where = append(dirs, s.trustedPath()...), "neither beside weft ("+beside+") nor in PATH"
	}
	for _, dir := range dirs {
		program := filepath.Join(dir, Name)
		switch err := s.safe(program, owners); {
		case err == nil:
			return program, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", fmt.Errorf("%s is not started: %w", program, err)
		}
	}
	return "", fmt.Errorf("the lab is a separate program, %s, which is %s: make build makes both, copy it there", Name, where)
}

// trustedPath is the folders of PATH that may choose a program.
func (s search) trustedPath() (dirs []string) {
	var untrusted []fs.FileInfo
	for _, dir := range s.untrusted {
		if info, err := os.Stat(dir); err == nil {
			untrusted = append(untrusted, info)
		}
	}
	for _, dir := range filepath.SplitList(s.path) {
		info, err := os.Stat(dir)
		if !filepath.IsAbs(dir) || err != nil || slices.ContainsFunc(untrusted, func(u fs.FileInfo) bool { return os.SameFile(u, info) }) {
			continue
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// safe refuses a program that another user could have put or changed there: in a folder such as
// /tmp anybody may create files.
func (s search) safe(program string, owners []int) error {
	for _, stat := range []func(string) (fs.FileInfo, error){os.Lstat, os.Stat} { // a symbolic link has an owner as well
		info, err := stat(program)
		switch {
		case err != nil:
			return err
		case !slices.Contains(owners, s.owner(info)):
			return fmt.Errorf("it belongs to user %d", s.owner(info))
		case info.Mode().IsRegular() && info.Mode().Perm()&0o002 != 0:
			return errors.New("every user may write it")
		}
	}
	return nil
}

func ownerOf(info fs.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }
