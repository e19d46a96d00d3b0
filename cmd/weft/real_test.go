//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"weft/internal/hint"
	"weft/internal/lab/guest"
	"weft/internal/labctl"
	"weft/internal/require"
)

// TestReal runs testdata/real/*.txtar, as many side by side as there are
// processors (two scripts need 6 GB): weft against servers that are guests with
// real kernels, of which one at a time is busy most of the time. make lab runs
// it; WEFT_REQUIRE=lab turns a skip into a failure. WEFT_REAL=NAME,NAME picks
// scripts, WEFT_REAL=none none.
func TestReal(t *testing.T) {
	scripts := realScripts(t)
	took := &minutes{}
	t.Cleanup(took.table)
	imageForReal(t, took)
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan string, len(scripts))
	for _, name := range scripts {
		next <- name
	}
	close(next)
	for lane := range runtime.GOMAXPROCS(0) {
		t.Run(fmt.Sprint("lane", lane+1), func(t *testing.T) {
			t.Parallel()
			for name := range next {
				r := &realRun{name: name, minutes: took}
				t.Run(name, func(t *testing.T) {
					testscript.Run(t, testscript.Params{
						Files: []string{filepath.Join("testdata", "real", name+".txtar")},
						Setup: func(e *testscript.Env) error {
							e.Setenv("NO_COLOR", "1")
							e.Setenv("HOME", e.WorkDir)
							e.Setenv("XDG_CACHE_HOME", cache) // where the image is
							e.Setenv("EXAMPLES", examples)
							r.begun = time.Now()
							e.Defer(func() { r.end(e) })
							return nil
						},
						Cmds: map[string]func(*testscript.TestScript, bool, []string){
							"exits": exits, "sub": substitute, "without": without, "guests-up": r.up, "part": r.part,
							"killed-when": killedWhen, "same-fabric": sameFabric,
						},
					})
				})
			}
		})
	}
}

// realScripts are the names of the scripts that WEFT_REAL picks, in its order.
// Where it picks all, those with the most parts come first: they take the longest.
func realScripts(t *testing.T) (names []string) {
	files, err := filepath.Glob("testdata/real/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		names = append(names, name)
		parts[name] = strings.Count(string(text), "\npart ")
	}
	slices.SortStableFunc(names, func(a, b string) int { return parts[b] - parts[a] })
	only := os.Getenv("WEFT_REAL")
	switch only {
	case "":
		return names
	case "none":
		t.Skip("WEFT_REAL=none: no script with guests is picked")
	}
	picked := strings.Split(only, ",")
	for _, name := range picked {
		if !slices.Contains(names, name) {
			t.Fatalf("WEFT_REAL=%s: there is no script %q; there are %s, and none", only, name, strings.Join(names, ", "))
		}
	}
	return picked
}

// imageForReal skips a test unless guests are asked for and can run here, and
// builds their image where there is none. Where they are demanded it fails
// instead.
func imageForReal(t *testing.T, took *minutes) {
	demanded := require.Demanded(require.Lab)
	if when := os.Getenv("WEFT_LAB"); when == "later" || when == "" && !demanded {
		t.Skip("guests with real kernels run by make lab")
	}
	err := guest.Missing()
	if err == nil {
		var image *guest.Image
		if image, err = guest.Build(t.Context(), os.Stderr); err == nil && image.Built > 0 {
			took.note("image", "", image.Built)
		}
	}
	switch {
	case err == nil:
	case demanded || !guest.Unavailable(err):
		t.Fatalf("%v\nhint: %s", err, hint.Of(err))
	default:
		t.Skipf("%v (%s)", err, hint.Of(err))
	}
}

// minutes are how long the parts of the lab took.
type minutes struct {
	mu   sync.Mutex
	rows []string
}

// note notes a part and says it at once: a test that runs prints nothing until
// it has ended.
func (m *minutes) note(script, part string, took time.Duration) {
	row := fmt.Sprintf("lab: %-8s %-28s %5.1f min", script, part, took.Minutes())
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rows = append(m.rows, row)
	fmt.Fprintln(os.Stderr, row)
}

// scriptWidth is how much of a row the name of its script takes.
const scriptWidth = len("lab: ") + 8

// table prints all that was noted, when nothing comes in between any more.
func (m *minutes) table() {
	slices.SortStableFunc(m.rows, func(a, b string) int { return strings.Compare(a[:scriptWidth], b[:scriptWidth]) })
	if m.rows != nil {
		fmt.Fprintln(os.Stderr, "\nlab: minutes per part\n"+strings.Join(m.rows, "\n"))
	}
}

// A realRun is one script with its guests.
type realRun struct {
	name    string
	minutes *minutes
	first   time.Time // when the guests began to boot
	begun   time.Time // of the present part
	now     string    // the present part
	lab     *exec.Cmd
	ended   chan error // of lab
}

// up is the command guests-up: weft lab up --real for the current directory.
// The lab dies with this process, whatever happens to it.
func (r *realRun) up(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: guests-up [FLAG…]")
	}
	path, err := exec.LookPath("weft")
	ts.Check(err)
	dir := ts.MkAbs(".")
	r.lab = exec.Command(path, append(args, "lab", "up", "--real")...)
	r.lab.Dir = dir
	for _, name := range []string{"HOME", "PATH", "NO_COLOR", "TMPDIR", "WORK", "XDG_CACHE_HOME"} {
		r.lab.Env = append(r.lab.Env, name+"="+ts.Getenv(name))
	}
	r.lab.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	said, err := r.lab.StderrPipe()
	ts.Check(err)
	began := time.Now()
	started := make(chan error, 1)
	r.ended = make(chan error, 1)
	go func() { // it dies with its thread, so that is kept
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		if err := r.lab.Start(); err != nil {
			started <- err
			return
		}
		started <- nil
		for in := bufio.NewScanner(said); in.Scan(); {
			fmt.Fprintln(os.Stderr, in.Text())
		}
		r.ended <- r.lab.Wait()
	}()
	ts.Check(<-started)
	for {
		if s, err := labctl.Running(dir); err == nil && s != nil {
			break
		}
		select {
		case err := <-r.ended:
			r.ended <- err
			ts.Fatalf("the guests did not start: %v", err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	r.minutes.note(r.name, "boot", time.Since(began))
	r.begun, r.first = time.Now(), began
}

// part is the command that names what comes next: part NAME.
func (r *realRun) part(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: part NAME")
	}
	r.note()
	r.now = args[0]
}

func (r *realRun) note() {
	if r.now != "" {
		r.minutes.note(r.name, r.now, time.Since(r.begun))
	}
	r.begun = time.Now()
}

// end ends the guests, and shows the last lines of their consoles where
// something failed.
func (r *realRun) end(e *testscript.Env) {
	r.note()
	if !r.first.IsZero() {
		r.minutes.note(r.name, "in all", time.Since(r.first))
	}
	if t, ok := e.T().(interface{ Failed() bool }); ok && t.Failed() {
		showConsoles(e)
	}
	stopLabs(e.WorkDir)
	if r.ended != nil {
		<-r.ended
	}
}

func showConsoles(e *testscript.Env) {
	_ = filepath.WalkDir(e.WorkDir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".console") {
			if f, err := os.Open(path); err == nil {
				defer f.Close()
				text, _ := io.ReadAll(f)
				e.T().Log(filepath.Base(path) + ":\n" + guest.LastLines(text, 30))
			}
		}
		return nil
	})
}
