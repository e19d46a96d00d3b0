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
	dir        string // where it counts and stops
	cmd        *exec.Cmd
	out        strings.Builder
	ended      chan error
	gate       *os.File // a byte in it lets the taker go on
}

// tools are all that change whose a lease is; mkdir -p is none.
var tools = []string{"mkdir", "mv", "rm", "rmdir"}

// start begins a script. It stops before the n-th tool
// that it runs, n odd, or after it; 0: nowhere.
func (k *taker) start(t *testing.T, stop int) {
	t.Helper()
	k.dir, k.ended = t.TempDir(), make(chan error, 1)
	gate := filepath.Join(k.dir, "go")
	err := syscall.Mkfifo(gate, 0o600)
	if err == nil {
		k.gate, err = os.OpenFile(gate, os.O_RDWR, 0) // both ways, so that nobody waits for the other end
	}
	if err != nil {
		t.Fatal(err)
	}
	// Each tool is a function, which counts in a file: what runs in a shell within counts as well.
	head := fmt.Sprintf(`taker=%s; taker_stop() { : >$taker/stopped; read -r taker_go <$taker/go; }
taker_runs() {
if [ "$2" = -p ]; then command "$@"; return; fi
taker_n=1; if [ -e $taker/n ]; then read -r taker_n <$taker/n; taker_n=$((taker_n+2)); fi; echo $taker_n >$taker/n
if [ $taker_n = %[2]d ]; then taker_stop; fi
command "$@" && taker_r=0 || taker_r=$?
if [ $((taker_n+1)) = %[2]d ]; then taker_stop; fi
return $taker_r; }
`, k.dir, stop)
	for _, tool := range tools {
		head += tool + "() { taker_runs " + tool + ` "$@"; }` + "\n"
	}
	k.cmd = exec.Command("sh", append([]string{"-c", head + k.text, "sh"}, k.args...)...)
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
	defer k.gate.Close()
	if _, err := k.gate.WriteString("go\n"); err != nil {
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
