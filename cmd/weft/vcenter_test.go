package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// labVCenter builds weft-lab, which simulates vCenters as well, for the rest of the script. It is
// built once a run.
func labVCenter(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: labvcenter")
	}
	weft, err := exec.LookPath("weft")
	ts.Check(err)
	program := filepath.Join(filepath.Dir(weft), "built-weft-lab")
	ts.Setenv("LABVCENTER", program)
	if _, err := os.Stat(program); err == nil {
		return
	}
	// Scripts may build it side by side: each moves a whole one to its place.
	built := ts.MkAbs("built-weft-lab")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", built, "weft/cmd/weft-lab") // the version is that of a test
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	ts.Check(os.Rename(built, program))
}

// simVCenter makes the program of labvcenter answer until the script ends; the hosts are
// given as NAME=PCI. Where it answers, and the SHA-256 of its certificate, become variables.
func simVCenter(ts *testscript.TestScript, neg bool, args []string) {
	if neg {
		ts.Fatalf("usage: simvcenter NAME=PCI...")
	}
	type host struct {
		Name string   `json:"name"`
		NICs []string `json:"nics"`
	}
	var hosts []host
	for _, a := range args {
		name, pci, _ := strings.Cut(a, "=")
		hosts = append(hosts, host{name, []string{pci}})
	}
	cmd := exec.Command(ts.Getenv("LABVCENTER"), "vcenter")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	ts.Defer(func() { _ = errors.Join(in.Close(), cmd.Wait()) }) // it ends when its input does
	ts.Check(json.NewEncoder(in).Encode(map[string]any{"user": "weft@vsphere.local", "password": "simulated", "hosts": hosts}))
	var s struct {
		Port   int    `json:"port"`
		SHA256 string `json:"sha256"`
	}
	ts.Check(json.NewDecoder(out).Decode(&s))
	ts.Setenv("WEFT_VAR_port", strconv.Itoa(s.Port))
	ts.Setenv("WEFT_VAR_sha256", s.SHA256)
}
