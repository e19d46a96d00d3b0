package prove

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/agent"
	"weft/internal/remote"
)

// An elder is a server whose weft-initiator another weft has installed.
type elder struct {
	remote.Host
	out     string
	exit    int
	stderr  string
	version string // "": it does not run at all
}

func (e *elder) Name() string { return "server.cn1" }

func (e *elder) Run(_ context.Context, c remote.Cmd) (remote.Output, error) {
	out := remote.Output{Stdout: []byte(e.out), Stderr: []byte(e.stderr)}
	if c.Args[1] == "version" {
		if e.version == "" {
			return remote.Output{}, &remote.ExitError{Code: 127}
		}
		return remote.Output{Stdout: []byte("weft-initiator " + e.version + "\n")}, nil
	}
	if e.exit != 0 {
		return remote.Output{}, &remote.ExitError{Code: e.exit, Output: out}
	}
	return out, nil
}

// TestAskOfAnotherVersion: what is no reply is an error that names the server, both
// versions, and what came.
func TestAskOfAnotherVersion(t *testing.T) {
	for name, c := range map[string]struct {
		host elder
		want []string
	}{
		"it does not know requests": {elder{exit: agent.ExitUsage, stderr: "error: unknown command \"do\" for \"weft-initiator\"\n", version: "v0.9.0"},
			[]string{"server.cn1", "v0.9.0", agent.Version(), "unknown command", "weft apply"}},
		"another format": {elder{out: `{"format":2,"version":"v3.0.0","verdict":"fine"}`, version: "v3.0.0"},
			[]string{"server.cn1", "v3.0.0", "format 2", "verdict", "weft apply"}},
		"a field more": {elder{out: `{"format":1,"version":"v1.1.0","mood":"good"}`, version: "v1.1.0"}, []string{"server.cn1", "v1.1.0", `unknown field "mood"`}},
		"no JSON":      {elder{out: "segmentation fault", version: "v1.0.0"}, []string{"server.cn1", "v1.0.0", "segmentation fault"}},
		"not there":    {elder{exit: 127, stderr: "sh: not found"}, []string{"server.cn1", "did not run", "exit 127", "sh: not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ask(t.Context(), &c.host, agent.Request{Read: &agent.ReadRequest{}})
			for _, part := range c.want {
				if err == nil || !strings.Contains(err.Error(), part) {
					t.Errorf("%v does not say %q", err, part)
				}
			}
		})
	}
}

// A patient is a server that tells how long a command may take by itself.
type patient struct {
	elder
	takes time.Duration
	err   error
}

func (p *patient) Run(ctx context.Context, _ remote.Cmd) (remote.Output, error) {
	p.takes = remote.Takes(ctx)
	return remote.Output{}, p.err
}

// A load may go on for longer than a command may take, and what ends for its time says what
// gives it more.
func TestLoadTakesItsTime(t *testing.T) {
	p := &patient{err: fmt.Errorf("do: not done after 1m0s: %w", context.DeadlineExceeded)}
	_, err := ask(t.Context(), p, agent.Request{Load: &agent.LoadRequest{Runtime: 10 * time.Minute, Ramp: time.Second}})
	if p.takes != 10*time.Minute+time.Second || err == nil || !strings.Contains(err.Error(), "command_timeout") {
		t.Errorf("it may take %v by itself, and says %v", p.takes, err)
	}
}
