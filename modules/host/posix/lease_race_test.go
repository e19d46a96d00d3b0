//go:build unix

package posix

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A taker runs a script of leases in a shell, and stops at one of its tools.
type taker struct {
	name, text string
	args       []string
	dir        string // of its tools
	cmd        *exec.Cmd
	out        strings.Builder
	ended      chan error
}

// tools are all that change whose a lease is; mkdir -p is none.
var tools = []string{"mkdir", "mv", "rm", "rmdir"}

// start begins a script. It stops before the n-th tool
// that it runs, n odd, or after it; 0: nowhere.
func (k *taker) start(t *testing.T, stop int) {
	t.Helper()
	k.dir, k.ended = t.TempDir(), make(chan error, 1)
	wait := `: >"$d/stopped"; while [ ! -e "$d/go" ]; do sleep 0.005; done`
	for _, tool := range tools {
		real, err := exec.LookPath(tool)
		if err != nil {
			t.Skip(err)
		}
		text := fmt.Sprintf(`#!/bin/sh
if [ "$1" = -p ]; then exec %[4]s "$@"; fi
d=%[1]s; n=1; if [ -e $d/n ]; then read -r n <$d/n; n=$((n+2)); fi; echo $n >$d/n
if [ $n = %[2]d ]; then %[3]s; fi
%[4]s "$@"; r=$?
if [ $((n+1)) = %[2]d ]; then %[3]s; fi
exit $r
`, k.dir, stop, wait, real)
		// No process is started meanwhile, as others are at any time here: one that inherits
		// the open file has Linux refuse to run it (ETXTBSY) until it runs something itself.
		syscall.ForkLock.RLock()
		err = os.WriteFile(filepath.Join(k.dir, tool), []byte(text), 0o755)
		syscall.ForkLock.RUnlock()
		if err != nil {
			t.Fatal(err)
		}
	}
	k.cmd = exec.Command("sh", append([]string{"-c", k.text, "sh"}, k.args...)...)
	k.cmd.Env = append(os.Environ(), "PATH="+k.dir+":"+os.Getenv("PATH"))
	k.cmd.Stdout = &k.out
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { k.ended <- k.cmd.Wait() }()
}

// stops waits until the taker has stopped, or ended before it came there.
func (k *taker) stops() (stopped bool) {
	for {
		select {
		case err := <-k.ended:
			k.ended <- err
			return false
		case <-time.After(time.Millisecond):
		}
		if _, err := os.Stat(filepath.Join(k.dir, "stopped")); err == nil {
			return true
		}
	}
}

// ends lets the taker go on, and waits until it has ended.
func (k *taker) ends(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(k.dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-k.ended; err != nil && !strings.HasSuffix(k.text, `away "$1"`) {
		t.Logf("%s: %v", k.name, err)
	}
}

// Wherever a script that ends, renews or takes over a dead lease is stopped, while
// another takes it over, which is stopped as well, and a third one comes: whoever
// was told that it has the lease has it, and nobody else has.
func TestLeaseHasOneHolder(t *testing.T) {
	for way := range inRoot("") {
		for what, first := range map[string]func(m Memory) *taker{
			"two take it over":         func(m Memory) *taker { return claims(m, "A") },
			"its holder renews it":     func(m Memory) *taker { return &taker{name: "A", text: m.renewScript(), args: []string{"DEAD", "300"}} },
			"its holder lets go of it": func(m Memory) *taker { return &taker{name: "A", text: m.releaseScript(), args: []string{"DEAD"}} },
			"somebody else breaks it":  func(m Memory) *taker { return &taker{name: "A", text: m.breakScript(), args: []string{"DEAD"}} },
			"somebody takes a mark for it": func(m Memory) *taker {
				return &taker{name: "A", text: m.claimScript() + `echo taken; away "$3"`, args: []string{"A", "300", "A", "1.DEAD"}}
			},
		} {
			if way == "mkdir" && strings.HasPrefix(what, "somebody") {
				continue // the same steps as those of its holder
			}
			t.Run(way+"/"+what, func(t *testing.T) {
				t.Parallel()
				for a := 1; race(t, way, a, first); a++ {
				}
			})
		}
	}
}

func claims(m Memory, name string) *taker {
	return &taker{name: name, text: m.claimScript() + "echo taken", args: []string{name, "300", name, "1.DEAD"}}
}

// race stops the first at its place a, and a second one at each of its own; met: the
// first came there.
func race(t *testing.T, way string, a int, first func(Memory) *taker) (met bool) {
	all := true // places to stop at have been met
	for b := 1; all; b += 2 {
		m := inRoot(t.TempDir())[way]
		if err := os.MkdirAll(m.Run+"/lease", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(m.Run+"/lease/1.DEAD", []byte("dead\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		one, two, three := first(m), claims(m, "B"), claims(m, "C")
		one.start(t, a)
		met = one.stops()
		two.start(t, b)
		all = two.stops() && met
		three.start(t, 0)
		three.ends(t)
		two.ends(t)
		one.ends(t)
		holds(t, fmt.Sprintf("A stops at %d, B at %d", a, b), m.Run, one, two, three)
	}
	return met
}

// holds demands that the lease is that of whoever was told so.
func holds(t *testing.T, when, dir string, all ...*taker) {
	t.Helper()
	names, _ := filepath.Glob(dir + "/lease/*")
	var have, told []string
	for _, n := range names {
		_, word, _ := strings.Cut(filepath.Base(n), ".")
		have = append(have, word)
	}
	for _, k := range all {
		if strings.Contains(k.out.String(), "taken") && !strings.Contains(k.text, "echo taken; away") {
			told = append(told, k.name)
		}
	}
	ok := len(told) == 0 && len(have) <= 1 || len(told) == 1 && len(have) == 1 && have[0] == told[0]
	if !ok {
		t.Errorf("%s: told to have it: %q, the lease is of %q", when, told, have)
	}
}
