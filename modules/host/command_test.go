package host

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"weft/internal/remote"
	"weft/internal/remote/remotetest"
	"weft/plan"
)

// leased is a replayed server that keeps a lease, as the scripts do.
func leased(t *testing.T, held string) (*Machine, *remotetest.Replay, *string) {
	r := machine(t)
	r.Commands["nvme list"] = remotetest.Reply{Stdout: "nothing\n"}
	r.Commands["false"] = remotetest.Reply{Code: 1, Stderr: "no\n"}
	d := replayed(r)
	if _, err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.owner = "o"
	now := held
	d.os.Memory = leaser{d.os.Memory, &now}
	return d, r, &now
}

// A leaser keeps a lease in a string.
type leaser struct {
	Memory
	holder *string
}

func (l leaser) Take(_ context.Context, _ Transport, c Claim, _ Note, _ string) (mark string, ledger []byte, held *Held, err error) {
	if *l.holder != "" {
		return "", nil, &Held{Text: *l.holder, Left: time.Minute, Known: true}, nil
	}
	*l.holder = c.Text
	return "", nil, nil, nil
}

func (l leaser) Release(_ context.Context, _ Transport, text string) error {
	if *l.holder == text {
		*l.holder = ""
	}
	return nil
}

func TestRunHolds(t *testing.T) {
	for _, args := range [][]string{{"nvme", "list"}, {"false"}} {
		d, _, holder := leased(t, "")
		_, err := d.RunCommand(t.Context(), remote.Cmd{Args: args}, true)
		if exit := new(remote.ExitError); (args[0] == "false") != errors.As(err, &exit) {
			t.Errorf("%v: %v", args, err)
		}
		if *holder != "" || d.lease != nil {
			t.Errorf("%v: the lease is still held by %s", args, *holder)
		}
	}
	d, _, holder := leased(t, `{"who":"ann@laptop","pid":7,"owner":"o"}`)
	_, err := d.RunCommand(t.Context(), remote.Cmd{Args: []string{"nvme", "list"}}, true)
	if held := new(plan.HeldError); !errors.As(err, &held) || !strings.Contains(held.Holder, "ann@laptop") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(*holder, "ann") {
		t.Errorf("the lease of somebody else is gone: %q", *holder)
	}
	if out, err := d.RunCommand(t.Context(), remote.Cmd{Args: []string{"nvme", "list"}}, false); err != nil || string(out.Stdout) != "nothing\n" {
		t.Errorf("what only looks: %q, %v", out.Stdout, err)
	}
}
