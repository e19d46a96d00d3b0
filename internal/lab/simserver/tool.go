//go:build unix

package simserver

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
)

// A tool is one simulated command; it returns the exit status.
type tool struct {
	run  func(*call) int
	dirs []string // where it stands; the first is what "command -v" says
}

// A call is one run of a tool.
type call struct {
	*session
	ctx    context.Context
	user   user
	name   string
	args   []string // without the name
	dir    string
	env    expand.Environ
	in     *os.File
	stdout io.Writer
	stderr io.Writer
}

// exec runs a simulated command for the interpreter.
func (sh *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	in, _ := hc.Stdin.(*os.File) // as the interpreter promises
	x := &call{session: sh.session, ctx: ctx, user: sh.user, name: args[0], args: args[1:],
		dir: hc.Dir, env: hc.Env, stdout: hc.Stdout, stderr: hc.Stderr, in: in}
	if status := x.dispatch(); status != 0 {
		return interp.ExitStatus(uint8(status))
	}
	return ctx.Err()
}

// dispatch finds the command and runs it.
func (x *call) dispatch() int {
	if name, ok := strings.CutPrefix(x.name, mark); ok {
		x.name = name
		if t, ok := builtins()[name]; ok {
			return t(x)
		}
		return x.notSimulated(2)
	}
	if !strings.Contains(x.name, "/") {
		if t, ok := x.search(x.name); ok {
			return t.run(x)
		}
		return x.fail(127, "sh: %s: command not found", x.name)
	}
	full := path.Clean(at(x.dir, x.name))
	if t, ok := x.toolAt(full); ok {
		x.name = path.Base(full)
		return t.run(x)
	}
	p, err := x.view().resolve(full, true)
	if err == nil {
		_, err = x.view().Stat(p)
	}
	switch {
	case err != nil:
		return x.fail(127, "sh: %s: %s", x.name, strerror(err))
	case !isBelow(p, agentDir):
		return x.fail(126, "sh: %s: Permission denied: the lab executes files below %s only", x.name, agentDir)
	}
	return x.agent(p)
}

// search looks a tool up along the search path.
func (x *call) search(name string) (tool, bool) {
	t, ok := x.server.net.tools[name]
	if !ok || !x.server.bears(name) {
		return tool{}, false
	}
	dirs := "/bin:/usr/bin" // where execvp(3) looks without a search path
	if v := x.env.Get("PATH"); v.IsSet() {
		dirs = v.String()
	}
	for _, dir := range strings.Split(dirs, ":") {
		if holds(dir, t) {
			return t, true
		}
	}
	return tool{}, false
}

// toolAt is the tool that stands at an absolute path.
func (x *call) toolAt(p string) (tool, bool) {
	t, ok := x.server.net.tools[path.Base(p)]
	return t, ok && holds(path.Dir(p), t)
}

func holds(dir string, t tool) bool { return slices.Contains(t.dirs, strings.TrimSuffix(dir, "/")) }

func (x *call) view() view { return view{x.server.tree, x.user} }

func (x *call) abs(name string) string { return at(x.dir, name) }

// errorf prints a message the way tools do and returns 1.
func (x *call) errorf(format string, args ...any) int {
	fmt.Fprintf(x.stderr, x.name+": "+format+"\n", args...)
	return 1
}

// fail prints a message as it is, without the tool's name, and returns the status.
func (x *call) fail(status int, format string, args ...any) int {
	fmt.Fprintf(x.stderr, format+"\n", args...)
	return status
}

// notSimulated refuses a call that the real tool might take.
func (x *call) notSimulated(status int) int {
	return x.fail(status, "%s: not simulated in the lab: %s", x.name, strings.Join(append([]string{x.name}, x.args...), " "))
}

// tools is the table of simulated commands.
func tools() map[string]tool {
	bin, sbin := []string{"/usr/bin", "/bin"}, []string{"/usr/sbin", "/sbin"}
	list := map[string]tool{}
	for name, run := range map[string]func(*call) int{
		"basename": basename, "cmp": cmp, "date": date, "dirname": dirname, "env": env, "head": head, "hostname": hostname, "id": id,
		"install": install, "journalctl": journalctl, "logger": logger, "ls": ls, "mktemp": mktemp, "mv": mv, "nohup": passOn,
		"ping": ping, "realpath": realpath, "setsid": passOn, "sh": shTool, "sleep": sleep, "sort": sortTool,
		"sudo": sudo, "systemctl": systemctl, "systemd-run": systemdRun, "tail": tail, "timeout": timeout,
		"uname": unameTool, "whoami": whoami, "apt-get": aptGet, "dpkg": dpkg, "dpkg-query": dpkgQuery, "grep": grep,
		"apt-mark": aptMark, "dnf": dnf, "rpm": rpm,
		"cat":       with("", nil, cat),
		"chmod":     with("", nil, chmod),
		"chown":     with("h", nil, chown),
		"cp":        with("fpT", long{"no-target-directory": 'T', "force": 'f', "preserve": 'p'}, cp),
		"ln":        with("sfnT", long{"symbolic": 's', "force": 'f'}, ln),
		"mkdir":     with("pm:", long{"parents": 'p', "mode": 'm'}, mkdir),
		"readlink":  with("fen", nil, readlink),
		"rm":        with("fr", long{"force": 'f', "recursive": 'r'}, rm),
		"rmdir":     with("", nil, rmdir),
		"sha256sum": with("b", long{"binary": 'b'}, sha256sum),
		"stat":      with("Lc:", long{"dereference": 'L', "format": 'c'}, stat),
		"sync":      with("df", long{"data": 'd', "file-system": 'f'}, syncTool),
		"tee":       with("a", nil, tee),
		"touch":     with("c", nil, touch),
		"wc":        with("clw", long{"bytes": 'c', "lines": 'l', "words": 'w'}, wc),
	} {
		list[name] = tool{run, bin}
	}
	for _, name := range []string{"echo", "printf", "test", "[", "true", "false", "pwd"} {
		list[name] = tool{builtin, bin}
	}
	for name, run := range map[string]func(*call) int{
		"pvs": lvmReport, "vgs": lvmReport, "lvs": lvmReport, "pvremove": lvmGroups,
		"vgcreate": lvmGroups, "vgextend": lvmGroups, "vgreduce": lvmGroups, "vgremove": lvmGroups,
		"lvcreate": lvmVolumes, "lvremove": lvmVolumes, "lvextend": lvmVolumes, "blkid": blkid, "mdadm": mdadm,
	} {
		list[name] = tool{run, sbin}
	}
	list["find"] = tool{find, bin}
	list["dd"], list["mount"], list["umount"] = tool{dd, bin}, tool{mount, bin}, tool{umount, bin}
	list["dcb"] = tool{dcb, sbin}
	list["rdma"] = tool{rdma, append(bin, sbin...)}
	list["ethtool"] = tool{ethtool, sbin}
	list["lldpcli"], list["smpquery"] = tool{lldpcli, sbin}, tool{smpquery, sbin}
	list["sysctl"] = tool{sysctl, sbin}
	list["modprobe"] = tool{modprobe, sbin}
	list["rmmod"] = tool{rmmod, sbin}
	list["lsmod"] = tool{lsmod, append(sbin, bin...)}
	list["tc"] = tool{tc, append(sbin, bin...)}
	list["ip"] = tool{ip, append(bin, sbin...)}
	return list
}

// builtins answers builtins of the shell that the interpreter must not.
func builtins() map[string]func(*call) int {
	return map[string]func(*call) int{"command": command, "echo": echo, "type": command, "umask": umask}
}

// builtin runs a command that the shell has too: "sudo test -e FILE".
func builtin(x *call) int {
	sh := x.shell()
	return sh.run(x.ctx, "sh", quote(append([]string{x.name}, x.args...)...), nil)
}

// shell is an interpreter that inherits from the call.
func (x *call) shell() *shell {
	var env []string
	x.env.Each(func(name string, v expand.Variable) bool {
		if v.Exported && v.Kind == expand.String {
			env = append(env, name+"="+v.Str)
		}
		return true
	})
	return &shell{session: x.session, user: x.user, dir: x.dir, env: env, in: x.in, out: x.stdout, err: x.stderr}
}

// command answers "command -v NAME" and "type NAME".
func command(x *call) int {
	args := x.args
	if x.name == "command" {
		if args[0] != "-v" {
			return x.notSimulated(2)
		}
		args = args[1:]
	}
	status := 0
	for _, name := range args {
		full := path.Clean(at(x.dir, name))
		if t, ok := x.search(name); ok {
			full = t.dirs[0] + "/" + name
		} else if interp.IsBuiltin(name) {
			full = name
		} else if _, ok := x.toolAt(full); !ok || !strings.Contains(name, "/") {
			info, err := x.view().Stat(full)
			if !strings.Contains(name, "/") || err != nil || info.IsDir() || info.Mode().Perm()&0o111 == 0 {
				status = 127
				continue
			}
		}
		fmt.Fprintln(x.stdout, full)
	}
	return status
}

func umask(x *call) int {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch len(x.args) {
	case 0:
		fmt.Fprintf(x.stdout, "%04o\n", x.umask)
		return 0
	case 1:
		mode, err := parseMode(x.args[0])
		if err != nil {
			return x.errorf("%v", err)
		}
		x.session.umask = mode.Perm()
		return 0
	}
	return x.notSimulated(2)
}

// create is the mode of a new file.
func (x *call) create(mode fs.FileMode) fs.FileMode {
	x.mu.Lock()
	defer x.mu.Unlock()
	return mode &^ x.session.umask
}

// shTool is sh itself: a script from -c, from a file, or from the input.
func shTool(x *call) int {
	args, flags := x.args, []string{}
	script, name := "", "sh"
	given := false
	for !given && len(args) > 0 && strings.HasPrefix(args[0], "-") && args[0] != "-" && args[0] != "--" {
		switch a := args[0]; a {
		case "-e", "-u", "-x", "-eu", "-ux", "-ex", "-eux":
			flags = append(flags, a)
		case "-c", "-ec", "-euc", "-uc":
			if len(args) < 2 {
				return x.errorf("-c requires an argument")
			}
			if a != "-c" {
				flags = append(flags, strings.TrimSuffix(a, "c"))
			}
			script, given = args[1], true
			args = args[1:]
		case "-s":
			data, err := readAll(x.in)
			if err != nil {
				return x.errorf("reading the script: %v", err)
			}
			script, given = string(data), true
		default:
			return x.notSimulated(2)
		}
		args = args[1:]
	}
	if len(args) > 0 && (args[0] == "--" || args[0] == "-") {
		args = args[1:]
	}
	isInput := slices.Contains(x.args[:len(x.args)-len(args)], "-s")
	switch {
	case given && !isInput && len(args) > 0:
		name, args = args[0], args[1:]
	case !given && len(args) > 0:
		data, err := x.view().ReadFile(x.abs(args[0]))
		if err != nil {
			return x.fail(2, "sh: 0: cannot open %s: %s", args[0], strerror(err))
		}
		script, name, args = string(data), args[0], args[1:]
	case !given:
		data, err := readAll(x.in)
		if err != nil {
			return x.errorf("reading the script: %v", err)
		}
		script = string(data)
	}
	if len(flags) > 0 {
		script = "set " + strings.Join(flags, " ") + "\n" + script
	}
	return x.shell().run(x.ctx, name, script, args)
}

// passOn runs what follows: nothing in the lab has a terminal to leave.
func passOn(x *call) int {
	args := x.args
	for len(args) > 0 && x.name == "setsid" && (args[0] == "-w" || args[0] == "--wait") {
		args = args[1:]
	}
	return x.next(args)
}

// next runs another command with the same surroundings.
func (x *call) next(args []string) int {
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return x.notSimulated(2)
	}
	y := *x
	y.name, y.args = args[0], args[1:]
	return y.dispatch()
}
