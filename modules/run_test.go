package modules

import (
	"context"
	"errors"
	"strings"
	"testing"
	"weft/internal/remote"
	"weft/internal/remote/remotetest"
	"weft/plan"
)

// leased is a replayed server that keeps a lease, as the scripts do.
func leased(t *testing.T, held string) (*server, *remotetest.Replay, *string) {
	r := machine(t)
	r.Commands["nvme list"] = remotetest.Reply{Stdout: "nothing\n"}
	r.Commands["false"] = remotetest.Reply{Code: 1, Stderr: "no\n"}
	d := replayed(r)
	if _, err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.owner = "o"
	now := held
	d.host = Linux().Open(&leaseHost{r, &now})
	return d, r, &now
}

// A leaseHost answers the scripts of leases.
type leaseHost struct {
	remote.Host
	holder *string
}

func (h *leaseHost) Run(ctx context.Context, cmd remote.Cmd) (remote.Output, error) {
	if len(cmd.Args) < 5 || cmd.Args[0] != "sh" {
		return h.Host.Run(ctx, cmd)
	}
	switch cmd.Args[2] {
	case claimScript + readMarked:
		if *h.holder != "" {
			return remote.Output{Stdout: []byte("held 10 200.X\n" + *h.holder + "\n")}, nil
		}
		*h.holder = cmd.Args[4]
		return remote.Output{Stdout: []byte("taken 0\n")}, nil
	case releaseScript:
		if word(*h.holder) == cmd.Args[4] {
			*h.holder = ""
		}
	}
	return remote.Output{}, nil
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
