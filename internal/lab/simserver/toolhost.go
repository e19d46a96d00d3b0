//go:build unix

package simserver

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"mvdan.cc/sh/v3/expand"

	"weft/internal/wait"
)

func sudo(x *call) int {
	args := x.args
	quiet := false
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-n", "--non-interactive":
			quiet = true
		case "-H", "--":
		case "-u":
			if len(args) < 2 || args[1] != "root" {
				return x.notSimulated(1)
			}
			args = args[1:]
		default:
			return x.notSimulated(1)
		}
		end := args[0] == "--"
		args = args[1:]
		if end {
			break
		}
	}
	x.server.mu.RLock()
	password := x.server.password
	x.server.mu.RUnlock()
	if password && !x.user.root {
		if quiet {
			return x.errorf("a password is required")
		}
		return x.errorf("a terminal is required to read the password; either use the -S option to read from standard input or configure an askpass helper")
	}
	y := *x
	y.user = user{"root", true}
	y.env = expand.ListEnviron(append(loginEnv(y.user), "SUDO_USER="+x.login)...)
	if len(args) > 0 && args[0] == "-v" {
		return 0
	}
	for len(args) > 0 && isAssignment(args[0]) {
		name, value, _ := strings.Cut(args[0], "=")
		y.env = overlay{y.env, map[string]string{name: value}}
		args = args[1:]
	}
	if status, missing := y.missing(args); missing {
		return status
	}
	return y.next(args)
}

// missing says what sudo says of a command that is not there.
func (x *call) missing(args []string) (int, bool) {
	if len(args) == 0 || strings.Contains(args[0], "/") {
		return 0, false
	}
	if _, ok := x.search(args[0]); ok {
		return 0, false
	}
	return x.errorf("%s: command not found", args[0]), true
}

func isAssignment(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/-. ")
}

// overlay is an environment with some variables set on top.
type overlay struct {
	expand.Environ
	set map[string]string
}

func (o overlay) Get(name string) expand.Variable {
	if v, ok := o.set[name]; ok {
		return expand.Variable{Set: true, Exported: true, Kind: expand.String, Str: v}
	}
	return o.Environ.Get(name)
}

func (o overlay) Each(f func(string, expand.Variable) bool) {
	more := true
	o.Environ.Each(func(name string, v expand.Variable) bool {
		if _, hidden := o.set[name]; !hidden {
			more = f(name, v)
		}
		return more
	})
	for name := range o.set {
		if more {
			more = f(name, o.Get(name))
		}
	}
}

// environ is the environment as the kernel shows it to a process.
func (x *call) environ() string {
	var b strings.Builder
	x.env.Each(func(name string, v expand.Variable) bool {
		if v.Exported && v.Kind == expand.String {
			b.WriteString(name + "=" + v.Str + "\x00")
		}
		return true
	})
	return b.String()
}

func env(x *call) int {
	args := x.args
	set := map[string]string{}
	y := *x
	if len(args) > 0 && args[0] == "-i" {
		y.env, args = expand.ListEnviron(), args[1:]
	}
	for len(args) > 0 && isAssignment(args[0]) {
		name, value, _ := strings.Cut(args[0], "=")
		set[name] = value
		args = args[1:]
	}
	y.env = overlay{y.env, set}
	if len(args) > 0 {
		return y.next(args)
	}
	y.env.Each(func(name string, v expand.Variable) bool {
		if v.Exported {
			fmt.Fprintf(x.stdout, "%s=%s\n", name, v.Str)
		}
		return true
	})
	return 0
}

func unameTool(x *call) int {
	opts, rest, ok := x.options("asrmn", nil)
	if !ok || len(rest) > 0 {
		return 1
	}
	var words []string
	for _, part := range []struct{ letter, value string }{
		{"s", x.server.kernel}, {"n", x.server.spec.Name}, {"r", kernelRelease}, {"m", x.server.arch},
	} {
		if opts.has(rune(part.letter[0])) || opts.has('a') || len(opts) == 0 && part.letter == "s" {
			words = append(words, part.value)
		}
	}
	fmt.Fprintln(x.stdout, strings.Join(words, " "))
	return 0
}

// kernelRelease says that there is no kernel.
const kernelRelease = "6.12.0-weft-lab-simulated"

func hostname(x *call) int {
	_, rest, ok := x.options("sf", nil)
	if !ok || len(rest) > 0 {
		return 1
	}
	name := x.server.spec.Name
	if len(x.args) > 0 && x.args[0] == "-s" {
		name, _, _ = strings.Cut(name, ".")
	}
	fmt.Fprintln(x.stdout, name)
	return 0
}

func id(x *call) int {
	opts, rest, ok := x.options("ugnG", nil)
	if !ok || len(rest) > 0 {
		return 1
	}
	uid, name := x.user.uid(), x.user.name
	switch {
	case (opts.has('u') || opts.has('g') || opts.has('G')) && opts.has('n'):
		fmt.Fprintln(x.stdout, name)
	case opts.has('u') || opts.has('g') || opts.has('G'):
		fmt.Fprintln(x.stdout, uid)
	default:
		fmt.Fprintf(x.stdout, "uid=%d(%s) gid=%d(%s) groups=%d(%s)\n", uid, name, uid, name, uid, name)
	}
	return 0
}

func whoami(x *call) int {
	fmt.Fprintln(x.stdout, x.user.name)
	return 0
}

// date is date +%s.%N: a lab server has the time of the machine that it is on.
func date(x *call) int {
	if len(x.args) != 1 || x.args[0] != "+%s.%N" {
		return x.notSimulated(1)
	}
	now := time.Now()
	fmt.Fprintf(x.stdout, "%d.%09d\n", now.Unix(), now.Nanosecond())
	return 0
}

func sleep(x *call) int {
	var sum time.Duration
	for _, a := range x.args {
		d, err := seconds(a)
		if err != nil {
			return x.errorf("invalid time interval '%s'", a)
		}
		sum += d
	}
	if !wait.For(x.ctx, sum) {
		return 143
	}
	return 0
}

// seconds reads a time as sleep and timeout take it.
func seconds(s string) (time.Duration, error) {
	unit := time.Second
	switch {
	case strings.HasSuffix(s, "m"):
		unit = time.Minute
	case strings.HasSuffix(s, "h"):
		unit = time.Hour
	}
	f, err := strconv.ParseFloat(strings.TrimRight(s, "smh"), 64)
	if err != nil || f < 0 {
		return 0, fmt.Errorf("%q is not a time", s)
	}
	return time.Duration(f * float64(unit)), nil
}

func timeout(x *call) int {
	args := x.args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case (args[0] == "-k" || args[0] == "-s") && len(args) > 1:
			args = args[2:]
		case strings.HasPrefix(args[0], "--kill-after="), strings.HasPrefix(args[0], "--signal="), args[0] == "--foreground":
			args = args[1:]
		default:
			return x.notSimulated(125)
		}
	}
	if len(args) < 2 {
		return x.errorf("missing operand") + 124
	}
	d, err := seconds(args[0])
	if err != nil {
		return x.errorf("invalid time interval '%s'", args[0]) + 124
	}
	y := *x
	ctx, cancel := context.WithTimeout(x.ctx, d)
	defer cancel()
	y.ctx = ctx
	status := y.next(args[1:])
	if ctx.Err() != nil && x.ctx.Err() == nil {
		return 124
	}
	return status
}
