//go:build unix

package simesxi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A call is a tool that runs.
type call struct {
	s         *shell
	ctx       context.Context
	name      string
	args      []string
	in        io.Reader
	out, errs io.Writer
}

// tools are those of the shell of ESXi that weft's scripts use.
func tools() map[string]func(*call) int {
	return map[string]func(*call) int{
		"esxcli": esxcli, "sh": sh, "cat": cat, "mkdir": mkdir, "rm": rm, "rmdir": rmdir, "mv": mv, "wc": wc, "date": date, "sync": nothing, "umask": nothing,
		"sleep": sleep, "setsid": setsid, "ps": ps, "grep": grep, "tail": tail, "auto-backup.sh": backUp, "vmkping": vmkping,
	}
}

func (x *call) fail(format string, args ...any) int {
	fmt.Fprintf(x.errs, x.name+": "+format+"\n", args...)
	return 1
}

func nothing(*call) int { return 0 }

// operands are what follows flags of one letter, of which others than these are refused.
func (x *call) operands(known string) (flags string, names []string, ok bool) {
	for i, a := range x.args {
		switch {
		case a == "--":
			return flags, append(names, x.args[i+1:]...), true
		case strings.HasPrefix(a, "-") && len(a) > 1 && len(names) == 0:
			for _, r := range a[1:] {
				if !strings.ContainsRune(known, r) {
					x.fail("%s is not one of what this SIMULATED host takes", a)
					return "", nil, false
				}
			}
			flags += a[1:]
		default:
			names = append(names, a)
		}
	}
	return flags, names, true
}

func sh(x *call) int {
	in, ok := x.in.(*os.File)
	if !ok || in == nil {
		f, err := os.Open(os.DevNull)
		if err != nil {
			return x.fail("%v", err)
		}
		defer f.Close()
		in = f
	}
	switch {
	case len(x.args) >= 2 && x.args[0] == "-c":
		return x.s.h.run(x.ctx, x.args[1], x.args[min(3, len(x.args)):], in, x.out, x.errs)
	case len(x.args) >= 1 && x.args[0] == "-s":
		text, err := io.ReadAll(in)
		if err != nil {
			return x.fail("%v", err)
		}
		return x.s.h.run(x.ctx, string(text), x.args[1:], in, x.out, x.errs)
	case len(x.args) == 1:
		f, err := x.s.h.root.Open(inside(x.args[0]))
		if err != nil {
			return x.fail("can't open '%s'", x.args[0])
		}
		defer f.Close()
		text, err := io.ReadAll(f)
		if err != nil {
			return x.fail("%v", err)
		}
		return x.s.h.run(x.ctx, string(text), nil, in, x.out, x.errs)
	}
	return x.fail("this SIMULATED host takes -c, -s or a file")
}

func cat(x *call) int {
	_, names, ok := x.operands("")
	if !ok {
		return 1
	}
	if len(names) == 0 && x.in != nil {
		if _, err := io.Copy(x.out, x.in); err != nil {
			return x.fail("%v", err)
		}
	}
	status := 0
	for _, name := range names {
		f, err := x.s.h.root.Open(inside(name))
		if err == nil {
			_, err = io.Copy(x.out, f)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			status = x.fail("can't open '%s': %v", name, plain(err))
		}
	}
	return status
}

func mkdir(x *call) int {
	flags, names, ok := x.operands("p")
	if !ok {
		return 1
	}
	for _, name := range names {
		make := x.s.h.root.Mkdir
		if strings.Contains(flags, "p") {
			make = x.s.h.root.MkdirAll
		}
		if err := make(inside(name), 0o700); err != nil {
			return x.fail("can't create directory '%s': %v", name, plain(err))
		}
	}
	return 0
}

func rm(x *call) int {
	flags, names, ok := x.operands("f")
	if !ok {
		return 1
	}
	status := 0
	for _, name := range names {
		info, err := x.s.h.root.Lstat(inside(name))
		if err == nil && info.IsDir() {
			err = errors.New("is a directory")
		}
		if err == nil {
			err = x.s.h.root.Remove(inside(name))
		}
		if err != nil && !(strings.Contains(flags, "f") && errors.Is(err, fs.ErrNotExist)) {
			status = x.fail("can't remove '%s': %v", name, plain(err))
		}
	}
	return status
}

func rmdir(x *call) int {
	_, names, ok := x.operands("")
	if !ok {
		return 1
	}
	status := 0
	for _, name := range names {
		info, err := x.s.h.root.Lstat(inside(name))
		if err == nil && !info.IsDir() {
			err = says("Not a directory")
		}
		if err == nil {
			err = x.s.h.root.Remove(inside(name))
		}
		if err != nil {
			status = x.fail("'%s': %v", name, plain(err))
		}
	}
	return status
}

func mv(x *call) int {
	_, names, ok := x.operands("f")
	if !ok || len(names) != 2 {
		return x.fail("this SIMULATED host moves one file to one name")
	}
	to := names[1]
	if info, err := x.s.h.root.Stat(inside(to)); err == nil && info.IsDir() {
		to = path.Join(to, path.Base(names[0]))
	}
	if err := x.s.h.root.Rename(inside(names[0]), inside(to)); err != nil {
		return x.fail("can't rename '%s': %v", names[0], errors.Unwrap(err))
	}
	return 0
}

func wc(x *call) int {
	if !slices.Equal(x.args, []string{"-c"}) {
		return x.fail("this SIMULATED host counts bytes of its input only")
	}
	n, err := io.Copy(io.Discard, x.in)
	if err != nil {
		return x.fail("%v", err)
	}
	fmt.Fprintln(x.out, n)
	return 0
}

func date(x *call) int {
	if !slices.Equal(x.args, []string{"+%s"}) {
		return x.fail("this SIMULATED host prints +%%s only")
	}
	fmt.Fprintln(x.out, time.Now().Unix())
	return 0
}

// sleep ends early when the lab says that time passes.
func sleep(x *call) int {
	n, err := strconv.Atoi(strings.Join(x.args, " "))
	if err != nil {
		return x.fail("invalid number '%s'", strings.Join(x.args, " "))
	}
	x.s.h.mu.Lock()
	wake := x.s.h.wake
	x.s.h.mu.Unlock()
	t := time.NewTimer(time.Duration(n) * time.Second)
	defer t.Stop()
	select {
	case <-t.C:
	case <-wake:
	case <-x.ctx.Done():
		return 143
	}
	return 0
}

// setsid starts what outlasts its session.
func setsid(x *call) int {
	if len(x.args) < 3 || x.args[0] != "sh" || x.args[1] != "-c" {
		return x.fail("this SIMULATED host starts sh -c only")
	}
	h, text, params, all := x.s.h, x.args[2], x.args[min(4, len(x.args)):], strings.Join(x.args, " ")
	null, err := os.Open(os.DevNull)
	if err != nil {
		return x.fail("%v", err)
	}
	h.mu.Lock()
	h.next++
	id, alive := h.next, h.alive
	h.processes[id] = all
	h.mu.Unlock()
	h.asleep.Go(func() {
		defer null.Close()
		_ = h.run(alive, text, params, null, io.Discard, io.Discard) // nobody hears of it
		h.mu.Lock()
		delete(h.processes, id)
		h.mu.Unlock()
	})
	return 0
}

func ps(x *call) int {
	if !slices.Equal(x.args, []string{"-c"}) {
		return x.fail("this SIMULATED host shows processes with -c only")
	}
	x.s.h.mu.Lock()
	defer x.s.h.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(x.s.h.processes)) {
		fmt.Fprintf(x.out, "%d  %d  sh  %s\n", id, id, x.s.h.processes[id])
	}
	return 0
}

func backUp(x *call) int {
	x.s.h.mu.Lock()
	defer x.s.h.mu.Unlock()
	x.s.h.saved = x.s.h.now.clone()
	fmt.Fprintln(x.out, "Saving current state in /bootbank (SIMULATED)")
	return 0
}
