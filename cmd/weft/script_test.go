package main

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"weft/internal/agent"
	"weft/internal/bundle"
	"weft/internal/require"
)

func TestMain(m *testing.M) {
	testscript.Main(patient{m}, map[string]func(){"weft": promised, "weft-lab": simulates, "weft-next": next, "ci": pipeline})
}

// patient has scripts run side by side: much of the time they wait for soaks and for counters.
type patient struct{ m *testing.M }

// Run implements testscript.TestingM.
func (p patient) Run() int {
	require.Patience(4)
	return p.m.Run()
}

// promised is weft, whose exit code its help must list.
func promised() {
	collectLate()
	a := newApp(os.Stdin, os.Stdout, os.Stderr, bundle.New())
	halts(a.out)
	code := a.run(os.Args[1:])
	if c := a.command; c != nil && !slices.ContainsFunc(exitsOf(c), func(e exit) bool { return e.code == code }) {
		fmt.Fprintf(os.Stderr, "exit code %d is not in the help of %s\n", code, c.CommandPath())
		code = 99
	}
	os.Exit(code)
}

// simulates is weft-lab. In scripts that have called labvcenter it is the program that this built.
func simulates() {
	if program := os.Getenv("LABVCENTER"); program != "" {
		fmt.Fprintln(os.Stderr, syscall.Exec(program, os.Args, os.Environ()))
		os.Exit(1)
	}
	os.Exit(labMain())
}

// next is the weft of another release: its agents are those of $NEXT.
func next() {
	agents := bundle.From(os.DirFS(os.Getenv("NEXT")))
	os.Exit(newApp(os.Stdin, os.Stdout, os.Stderr, agents).run(os.Args[1:]))
}

// TestScript runs testdata/script/*.txtar: every behaviour a user can see.
// Each script has a copy of examples/pilot in $WORK/pilot, and the path of
// examples in $EXAMPLES.
func TestScript(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the lab does not run on Windows")
	}
	needAgents(t)
	examples, err := filepath.Abs(filepath.Join("..", "..", "examples"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("NO_COLOR", "1")
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("EXAMPLES", examples)
			weft, err := exec.LookPath("weft")
			if err != nil {
				return err
			}
			e.Setenv("WEFT_PROGRAM", weft)
			// Whatever a script leaves behind is stopped with it.
			e.Defer(func() { stopLabs(e.WorkDir) })
			pilot := filepath.Join(e.WorkDir, "pilot")
			return errors.Join(copyFiles(filepath.Join(examples, "pilot"), pilot), hurry(pilot, false))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":               exits,
			"labvcenter":          labVCenter,
			"simvcenter":          simVCenter,
			"sub":                 substitute,
			"without":             without,
			"renamed":             renamed,
			"hinted":              hinted,
			"new-findings":        newFindings,
			"same-unknowns":       sameUnknowns,
			"killed-when":         killedWhen,
			"interrupted-when":    interruptedWhen,
			"meanwhile":           meanwhile,
			"swap-host-key":       swapHostKey,
			"runs-embedded-agent": runsEmbeddedAgent,
			"kill-target":         killTarget,
			"interrupt":           interrupt,
			"release":             release,
			"same-target":         sameTarget,
			"filled":              filled,
			"unchanged":           unchanged,
			"keys":                keys,
			"same-fabric":         sameFabric,
			"stands":              stands,
			"restrict":            restrict,
			"netbox":              netbox,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "whole":
				return os.Getenv("WEFT_WHOLE") != "", nil // what takes minutes is wanted whole
			case "long":
				return require.AllWanted(), nil
			}
			return false, fmt.Errorf("there is no condition %s", name)
		},
		RequireExplicitExec: false,
	})
}

// hurry makes a pilot in the lab read less and soak for a shorter time: scripts
// show that it is measured and watched, not for how long. Where it need not read
// all sizes, as the demo does whose transcript is in the README, it reads one.
func hurry(dir string, sizes bool) error {
	edits := []struct{ file, was, is string }{
		{"lab.weftvars", "samples         = 500\n", "samples         = 50\n"},
		{"lab.weftvars", "soak            = \"2s\"\n", "soak            = \"300ms\"\n"},
		{"lab.weftvars", `added_p99       = "250ms"`, `added_p99       = "30s"`}, // a machine that is busy with other tests
		{"rollout.weft.hcl", `["512B", "4KiB", "64KiB"]`, `["4KiB"]`},
	}
	if sizes {
		edits = edits[:3]
	}
	for _, edit := range edits {
		file := filepath.Join(dir, edit.file)
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if !bytes.Contains(text, []byte(edit.was)) {
			return fmt.Errorf("%s has no %q", file, edit.was)
		}
		if err := os.WriteFile(file, bytes.ReplaceAll(text, []byte(edit.was), []byte(edit.is)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// needAgents skips, or fails where WEFT_REQUIRE holds agents, what needs a weft
// with its agents inside.
func needAgents(t testing.TB) {
	t.Helper()
	if _, _, err := bundle.New().Open(runtime.GOOS, runtime.GOARCH, "weft-target"); err != nil {
		require.Missing(t, require.Agents, "%v: run make build", err)
	}
}

// without takes top-level blocks out of a file: without FILE 'server "a"'...
func without(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: without FILE HEADER...")
	}
	text := ts.ReadFile(args[0])
	for _, header := range args[1:] {
		from := strings.Index(text, "\n"+header+" {\n")
		if from < 0 {
			ts.Fatalf("%s has no %s", args[0], header)
		}
		size := strings.Index(text[from:], "\n}\n")
		if size < 0 {
			ts.Fatalf("%s: %s does not end", args[0], header)
		}
		text = text[:from+1] + text[from+size+len("\n}\n"):]
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// killedWhen runs a command and kills it, without a chance to tidy up, when a
// line that it writes to stderr holds the text.
func killedWhen(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: killed-when TEXT COMMAND...")
	}
	whenSaid(ts, signals(os.Kill), args[:1], args[1:])
}

// interruptedWhen runs a command, presses Ctrl-C each time that a line which it
// writes to stderr holds the next text, and demands its exit code:
// interrupted-when 5 TEXT... -- weft apply.
func interruptedWhen(ts *testscript.TestScript, neg bool, args []string) {
	end := slices.Index(args, "--")
	if neg || end < 2 || end == len(args)-1 {
		ts.Fatalf("usage: interrupted-when CODE TEXT... -- COMMAND...")
	}
	if code := whenSaid(ts, signals(os.Interrupt), args[1:end], args[end+1:]); strconv.Itoa(code) != args[0] {
		ts.Fatalf("it exited %d, wanted %s", code, args[0])
	}
}

// meanwhile runs a command, another one when a line that it writes to stderr
// holds the text, and demands its exit code:
// meanwhile 5 TEXT weft lab fault ... -- weft apply.
func meanwhile(ts *testscript.TestScript, neg bool, args []string) {
	end := slices.Index(args, "--")
	if neg || end < 3 || end == len(args)-1 {
		ts.Fatalf("usage: meanwhile CODE TEXT COMMAND... -- COMMAND...")
	}
	other := func(*exec.Cmd) {
		if err := ts.Exec(args[2], args[3:end]...); err != nil {
			ts.Logf("%s: %v", args[2], err)
		}
	}
	if code := whenSaid(ts, other, args[1:2], args[end+1:]); strconv.Itoa(code) != args[0] {
		ts.Fatalf("it exited %d, wanted %s", code, args[0])
	}
}

// signals sends a signal to a command, which may have ended.
func signals(sig os.Signal) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) { _ = cmd.Process.Signal(sig) }
}

// whenSaid runs a command, does something each time that a line of its stderr
// holds the next of the texts, and returns its exit code. A weft that says so stands
// still until that is done.
func whenSaid(ts *testscript.TestScript, do func(*exec.Cmd), texts []string, args []string) int {
	path, err := exec.LookPath(args[0])
	ts.Check(err)
	cmd := exec.Command(path, args[1:]...)
	cmd.Dir = ts.MkAbs(".")
	for _, name := range []string{"HOME", "PATH", "NO_COLOR", "TMPDIR", "WORK"} {
		cmd.Env = append(cmd.Env, name+"="+ts.Getenv(name))
	}
	for _, name := range []string{"WEFT_SWITCH_PASSWORD", "WEFT_VCENTER_PASSWORD"} { // of the examples
		if secret := ts.Getenv(name); secret != "" {
			cmd.Env = append(cmd.Env, name+"="+secret)
		}
	}
	stderr, err := cmd.StderrPipe()
	ts.Check(err)
	goOn, end := halted(cmd, texts)
	ts.Check(cmd.Start())
	for in := bufio.NewScanner(stderr); in.Scan(); {
		ts.Logf("%s", in.Text())
		if len(texts) > 0 && strings.Contains(in.Text(), texts[0]) {
			texts = texts[1:]
			do(cmd)
			goOn()
		}
	}
	end()
	_ = cmd.Wait()
	if len(texts) > 0 {
		ts.Fatalf("%s never said %q", args[0], texts[0])
	}
	return cmd.ProcessState.ExitCode()
}

// exits runs a command and demands its exit code: exits 3 weft verify.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ARG…")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if exit, ok := err.(*exec.ExitError); ok {
		code = strings.TrimSpace(strings.TrimPrefix(exit.Error(), "exit status"))
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if code != args[0] {
		ts.Fatalf("%s exited %s, wanted %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// substitute replaces text in a file: sub FILE OLD NEW. OLD must be there.
func substitute(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: sub FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	if !strings.Contains(text, args[1]) {
		ts.Fatalf("%s does not hold %q", args[0], args[1])
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Replace(text, args[1], strings.ReplaceAll(args[2], `\n`, "\n"), 1)), 0o644))
}

// swapHostKey gives a machine in known_hosts the key of another one.
func swapHostKey(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: swap-host-key FILE HOST")
	}
	lines := strings.SplitAfter(ts.ReadFile(args[0]), "\n")
	var other string
	for _, l := range lines {
		if f := strings.Fields(l); len(f) == 3 && !strings.Contains(f[0], args[1]) {
			other = f[2]
		}
	}
	for i, l := range lines {
		if f := strings.Fields(l); len(f) == 3 && strings.Contains(f[0], args[1]) {
			lines[i] = f[0] + " " + f[1] + " " + other + "\n"
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(strings.Join(lines, "")), 0o600))
}

// runsEmbeddedAgent compares the running weft-target of a simulated server
// with the one inside weft: what it says of itself, and on Linux what the
// kernel says.
func runsEmbeddedAgent(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: runs-embedded-agent DIR HOST")
	}
	exe, want, err := bundle.New().Open(runtime.GOOS, runtime.GOARCH, "weft-target")
	ts.Check(err)
	status := targetStatus(ts, args[0], args[1])
	if status.Binary != want {
		ts.Fatalf("weft-target says that it is %s, weft holds %s", status.Binary, want)
	}
	if runtime.GOOS == "linux" {
		running, err := os.ReadFile(fmt.Sprintf("/proc/%d/exe", status.PID))
		ts.Check(err)
		if !bytes.Equal(running, exe) {
			ts.Fatalf("process %d does not run the embedded weft-target", status.PID)
		}
	}
}

// targetStatus asks the weft-target of a simulated server, beside the lab.
func targetStatus(ts *testscript.TestScript, dir, host string) agent.TargetStatus {
	root := ts.MkAbs(filepath.Join(dir, ".weft", "lab", "servers", host))
	cmd := exec.Command(filepath.Join(root, agent.TargetBin), "--root", ".", "status", "--json")
	cmd.Dir = root
	out, err := cmd.Output()
	ts.Check(err)
	var status agent.TargetStatus
	ts.Check(json.Unmarshal(out, &status))
	return status
}

// sameTarget notes the process of a simulated server's weft-target, and from
// the second time on demands that it is still that one.
func sameTarget(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same-target DIR HOST")
	}
	pid := strconv.Itoa(targetStatus(ts, args[0], args[1]).PID)
	key := "TARGET_" + args[1]
	switch was := ts.Getenv(key); was {
	case "":
		ts.Setenv(key, pid)
	case pid:
	default:
		ts.Fatalf("weft-target was process %s and is %s", was, pid)
	}
}

// killTarget kills the weft-target of a simulated server with SIGKILL.
func killTarget(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: kill-target DIR HOST")
	}
	p, err := os.FindProcess(targetStatus(ts, args[0], args[1]).PID)
	ts.Check(err)
	ts.Check(p.Kill())
}

// release packs agents for weft-next: release FILE, which becomes its
// weft-target. Its weft-initiator is that of weft.
func release(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: release FILE")
	}
	initiator, _, err := bundle.New().Open(runtime.GOOS, runtime.GOARCH, "weft-initiator")
	ts.Check(err)
	dir := ts.MkAbs("release-" + args[0])
	ts.Setenv("NEXT", dir)
	dir = filepath.Join(dir, "agents", runtime.GOOS+"-"+runtime.GOARCH)
	ts.Check(os.MkdirAll(dir, 0o755))
	for name, exe := range map[string][]byte{"weft-target": []byte(ts.ReadFile(args[0])), "weft-initiator": initiator} {
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		_, err := z.Write(exe)
		ts.Check(errors.Join(err, z.Close()))
		ts.Check(os.WriteFile(filepath.Join(dir, name+".gz"), packed.Bytes(), 0o644))
	}
}

// filled fills a file, as long as it is, with what looks like noise.
func filled(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: filled FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	noise := make([]byte, info.Size())
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise) // it has no errors
	f, err := os.OpenFile(ts.MkAbs(args[0]), os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.Write(noise)
	ts.Check(errors.Join(err, f.Close()))
}

// unchanged compares a file with what filled has written, byte for byte.
func unchanged(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 {
		ts.Fatalf("usage: unchanged FILE")
	}
	got := []byte(ts.ReadFile(args[0]))
	want := make([]byte, len(got))
	_, _ = rand.NewChaCha8([32]byte{}).Read(want) // it has no errors
	if same := len(got) > 0 && bytes.Equal(got, want); same == neg {
		ts.Fatalf("%s: %d bytes; that they are as they were filled is %t", args[0], len(got), same)
	}
}

// interrupt is the command that interrupts agents of a name which simulated
// servers of this script run: interrupt NAME WORD, where WORD is one of their
// arguments.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: interrupt NAME WORD")
	}
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	found := 0
	for _, line := range lines {
		text, _ := os.ReadFile(line) // others come and go
		words := strings.Split(string(text), "\x00")
		if !strings.HasPrefix(words[0], ts.Getenv("WORK")+"/") || filepath.Base(words[0]) != args[0] || !slices.Contains(words, args[1]) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		ts.Check(err)
		p, err := os.FindProcess(pid)
		ts.Check(err)
		ts.Check(p.Signal(os.Interrupt))
		found++
	}
	if found == 0 {
		ts.Fatalf("no %s %s runs", args[0], args[1])
	}
}

// stopLabs stops every lab below dir.
func stopLabs(dir string) {
	filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Name() == "lab.json" {
			weft([]string{"-C", filepath.Dir(filepath.Dir(filepath.Dir(p))), "lab", "down"}, nil, io.Discard, io.Discard)
		}
		return nil
	})
}

func copyFiles(from, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, pattern := range []string{"*.hcl", "*.weftvars"} {
		files, err := filepath.Glob(filepath.Join(from, pattern))
		if err != nil {
			return err
		}
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, filepath.Base(f)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
