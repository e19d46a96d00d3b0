//go:build unix

package simserver

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

func ls(x *call) int {
	opts, names, ok := x.options("1aAdlnL", long{"all": 'a', "almost-all": 'A', "directory": 'd'})
	if !ok {
		return 2
	}
	if len(names) == 0 {
		names = []string{"."}
	}
	slices.Sort(names)
	status := 0
	var dirs []string
	for _, name := range names {
		follow := opts.has('L') || !opts.has('l') && !opts.has('n') && !opts.has('d')
		info, err := x.view().stat(x.abs(name), follow)
		switch {
		case err != nil:
			x.errorf("cannot access '%s': %s", name, strerror(err))
			status = 2
		case info.IsDir() && !opts.has('d'):
			dirs = append(dirs, name)
		default:
			x.entry(name, info, path.Clean(x.abs(name)), opts)
		}
	}
	for i, dir := range dirs {
		if len(names) > 1 {
			if i > 0 || len(dirs) < len(names) {
				fmt.Fprintln(x.stdout)
			}
			fmt.Fprintf(x.stdout, "%s:\n", dir)
		}
		infos, err := x.view().ReadDir(x.abs(dir))
		if err != nil {
			x.errorf("cannot open directory '%s': %s", dir, strerror(err))
			status = 2
		}
		if opts.has('a') {
			fmt.Fprint(x.stdout, ".\n..\n")
		}
		for _, info := range infos {
			if strings.HasPrefix(info.Name(), ".") && !opts.has('a') && !opts.has('A') {
				continue
			}
			x.entry(info.Name(), info, path.Join(x.abs(dir), info.Name()), opts)
		}
	}
	return status
}

// entry prints one line of ls.
func (x *call) entry(name string, info fs.FileInfo, full string, opts options) {
	if !opts.has('l') && !opts.has('n') {
		fmt.Fprintln(x.stdout, name)
		return
	}
	arrow := ""
	if info.Mode().Type() == fs.ModeSymlink {
		if target, err := x.view().Readlink(full); err == nil {
			arrow = " -> " + target
		}
	}
	owner := ownerOf(full)
	if opts.has('n') {
		owner = strconv.Itoa(uidOf(owner))
	}
	fmt.Fprintf(x.stdout, "%s 1 %s %s %d %s %s%s\n", modeText(info.Mode()), owner, owner, info.Size(),
		info.ModTime().UTC().Format("Jan _2 2006"), name, arrow)
}

// modeText is a mode as ls prints it.
func modeText(m fs.FileMode) string {
	kind := "-"
	switch m.Type() {
	case fs.ModeDir:
		kind = "d"
	case fs.ModeSymlink:
		kind = "l"
	case fs.ModeSocket:
		kind = "s"
	case fs.ModeDevice | fs.ModeCharDevice:
		kind = "c"
	}
	return kind + m.Perm().String()[1:]
}

// modeBits is a mode as the kernel has it; see inode(7).
func modeBits(m fs.FileMode) uint32 {
	kind := map[fs.FileMode]uint32{0: syscall.S_IFREG, fs.ModeDir: syscall.S_IFDIR, fs.ModeSymlink: syscall.S_IFLNK,
		fs.ModeSocket: syscall.S_IFSOCK, fs.ModeDevice | fs.ModeCharDevice: syscall.S_IFCHR}
	return kind[m.Type()] | uint32(m.Perm())
}

func stat(x *call, opts options, names []string) int {
	if !opts.has('c') {
		return x.notSimulated(1)
	}
	status := 0
	for _, name := range names {
		info, err := x.view().stat(x.abs(name), opts.has('L'))
		if x.own(name) {
			info, err = nodeInfo{path.Base(name), node{mode: 0o400}}, nil
		}
		if err != nil {
			status = x.errorf("cannot statx '%s': %s", name, strerror(err))
			continue
		}
		line, bad := x.statLine(opts.last('c'), name, info)
		if bad != "" {
			return x.errorf("format %q: not simulated in the lab", bad)
		}
		fmt.Fprintln(x.stdout, line)
	}
	return status
}

// statLine fills a format of stat; bad is the first sequence that the lab does
// not know.
func (x *call) statLine(format, name string, info fs.FileInfo) (line, bad string) {
	owner := ownerOf(path.Clean(x.abs(name)))
	uid := uidOf(owner)
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		switch format[i] {
		case '%':
			b.WriteByte('%')
		case 'a':
			fmt.Fprintf(&b, "%o", info.Mode().Perm())
		case 'f':
			fmt.Fprintf(&b, "%x", modeBits(info.Mode()))
		case 'A':
			b.WriteString(modeText(info.Mode()))
		case 's':
			fmt.Fprint(&b, info.Size())
		case 'n':
			b.WriteString(name)
		case 'u', 'g':
			fmt.Fprint(&b, uid)
		case 'U', 'G':
			b.WriteString(owner)
		case 'Y':
			fmt.Fprint(&b, info.ModTime().Unix())
		case 'F':
			b.WriteString(kindText(info))
		default:
			return "", format[i-1 : i+1]
		}
	}
	return b.String(), ""
}

func kindText(info fs.FileInfo) string {
	switch info.Mode().Type() {
	case fs.ModeDir:
		return "directory"
	case fs.ModeSymlink:
		return "symbolic link"
	case fs.ModeSocket:
		return "socket"
	case fs.ModeDevice | fs.ModeCharDevice:
		return "character special file"
	}
	if info.Size() == 0 {
		return "regular empty file"
	}
	return "regular file"
}

func readlink(x *call, opts options, names []string) int {
	if opts.has('f') || opts.has('e') {
		return x.canonical(names, opts.has('e'))
	}
	status := 0
	for _, name := range names {
		target, err := x.view().Readlink(x.abs(name))
		if err != nil {
			status = 1 // readlink is silent
			continue
		}
		fmt.Fprintln(x.stdout, target)
	}
	return status
}

func realpath(x *call) int {
	opts, names, ok := x.options("em", nil)
	if !ok || opts.has('m') {
		return x.notSimulated(1)
	}
	return x.canonical(names, opts.has('e'))
}

// canonical prints names without links in them; with must they have to exist.
func (x *call) canonical(names []string, must bool) int {
	status := 0
	for _, name := range names {
		p, err := x.view().resolve(x.abs(name), true)
		if err == nil && must {
			_, err = x.view().Lstat(p)
		}
		if err != nil {
			status = 1
			continue
		}
		fmt.Fprintln(x.stdout, p)
	}
	return status
}

func basename(x *call) int {
	switch len(x.args) {
	case 1:
		fmt.Fprintln(x.stdout, path.Base(x.args[0]))
	case 2:
		base := path.Base(x.args[0])
		if base != x.args[1] {
			base = strings.TrimSuffix(base, x.args[1])
		}
		fmt.Fprintln(x.stdout, base)
	default:
		return x.notSimulated(1)
	}
	return 0
}

func dirname(x *call) int {
	for _, name := range x.args {
		fmt.Fprintln(x.stdout, path.Dir(strings.TrimRight(name, "/")))
	}
	return 0
}
