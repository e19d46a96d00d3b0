package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"weft/internal/agent"
	"weft/internal/latency"
)

func TestMain(m *testing.M) {
	testscript.Main(building{m}, programs())
}

// agentsEnv is the directory of the agents that tests have built.
const agentsEnv = "WEFT_TEST_AGENTS"

// building has a place for agents while tests run.
type building struct{ m *testing.M }

// Run implements testscript.TestingM.
func (b building) Run() int {
	dir, err := os.MkdirTemp("", "weft-agents-")
	if err == nil {
		err = os.Setenv(agentsEnv, dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	return b.m.Run()
}

// TestScripts runs both agents against each other, each as its own process.
func TestScripts(t *testing.T) {
	bin := filepath.Dir(buildAgent(t, "weft-target"))
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":    exits,
			"ready":    ready,
			"measured": measured,
			"served":   served,
			"flows":    flows,
			"knocks":   knocks,
			"blank":    blank,
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
	ts.Setenv("BOUND", status(ts).Portals[0].Bound)
}

// status is what the last command has printed.
func status(ts *testscript.TestScript) (s agent.TargetStatus) {
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &s))
	return s
}

// measured SAMPLES ERRORS BYTES compares the result on stdout, whose histogram
// must hold as many samples.
func measured(ts *testscript.TestScript, neg bool, args []string) {
	var r agent.ProbeResult
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &r))
	h := latency.New()
	ts.Check(h.UnmarshalText([]byte(r.Histogram)))
	for i, got := range []int64{int64(r.Samples), int64(r.Errors), int64(r.Bytes)} {
		if want, err := strconv.ParseInt(args[i], 10, 64); err != nil || got != want {
			ts.Fatalf("measured %d, want %s (%v)", got, args[i], err)
		}
	}
	if h.Count() != int64(r.Samples) {
		ts.Fatalf("histogram of %d samples, want %d", h.Count(), r.Samples)
	}
	if (r.FirstErr != "") != (r.Errors > 0) || (r.Elapsed > 0) != (r.Samples > 0) || r.Samples > 0 && h.Quantile(0.99) <= 0 {
		ts.Fatalf("inconsistent result: %+v", r)
	}
}

// served BYTES compares what the first subsystem has counted as read.
func served(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(ts.Exec("weft-target", "--root", ".", "status", "--json"))
	if got := status(ts).Subsystems[0].BytesRead; strconv.FormatUint(got, 10) != args[0] {
		ts.Fatalf("the target counts %d bytes, want %s", got, args[0])
	}
}

// flows BYTES waits until the first subsystem has served as much.
func flows(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.ParseUint(args[0], 10, 64)
	ts.Check(err)
	for end := time.Now().Add(time.Minute); ; {
		ts.Check(ts.Exec("weft-target", "--root", ".", "status", "--json"))
		if status(ts).Subsystems[0].BytesRead >= want {
			return
		}
		if time.Now().After(end) {
			ts.Fatalf("the target has not served %d bytes", want)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// knocks waits until a host asks the portal of a target that is gone for a new
// connection: it knows by then that it has lost its own. Nobody answers it.
func knocks(ts *testscript.TestScript, neg bool, args []string) {
	l, err := net.Listen("tcp", ts.Getenv("BOUND"))
	ts.Check(err)
	defer l.Close()
	ts.Check(l.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)))
	c, err := l.Accept()
	ts.Check(err)
	ts.Check(c.Close())
}

// A target that takes the connection and is silent then is a failed one.
func TestSilentTarget(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // never accepts
	var out, errs strings.Builder
	status := run([]string{"read", "--json", "--traddr", l.Addr().String(), "--hostnqn", "nqn.2026-11.net.example:h",
		"--nqn", "nqn.2026-11.net.example:s", "--connect-timeout", "50ms"}, &out, &errs)
	if status != agent.ExitFailed || !strings.Contains(errs.String(), "did not answer within 50ms") || !strings.Contains(out.String(), `"errors": 1`) {
		t.Errorf("status %d\n%s\n%s", status, &out, &errs)
	}
}

// blank NAME SIZE makes a file of zeros.
func blank(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), make([]byte, n), 0o600))
}
