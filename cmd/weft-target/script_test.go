package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"weft/internal/agent"
)

func TestMain(m *testing.M) { testscript.Main(m, map[string]func(){"weft-target": main}) }

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"ready":  ready,
			"signal": signalAll,
			"append": appendTo,
		},
	})
}

// exits STATUS PROGRAM ARGS… runs a program and compares its exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// ready waits until weft-target below the current folder answers, and sets
// BOUND to where its first portal listens.
func ready(ts *testscript.TestScript, neg bool, args []string) {
	for end := time.Now().Add(time.Minute); ts.Exec("weft-target", "--root", ".", "status", "--json") != nil; {
		if time.Now().After(end) {
			ts.Fatalf("weft-target does not answer")
		}
		time.Sleep(20 * time.Millisecond)
	}
	var s agent.TargetStatus
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &s))
	ts.Setenv("BOUND", s.Portals[0].Bound)
}

// signalAll NAME sends HUP or TERM to what runs in the background.
func signalAll(ts *testscript.TestScript, neg bool, args []string) {
	s := syscall.SIGTERM
	if args[0] == "HUP" {
		s = syscall.SIGHUP
	}
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(s))
	}
}

// appendTo FROM TO appends a file to another.
func appendTo(ts *testscript.TestScript, neg bool, args []string) {
	f, err := os.OpenFile(ts.MkAbs(args[1]), os.O_APPEND|os.O_WRONLY, 0)
	ts.Check(err)
	_, err = f.WriteString(ts.ReadFile(args[0]))
	ts.Check(errors.Join(err, f.Close()))
}
