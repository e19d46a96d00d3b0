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

func TestOnlyShows(t *testing.T) {
	for _, test := range []struct {
		verb, line string
		ok         bool
	}{
		{"show", "show version", true},
		{"show", "show interface Ethernet1/1 | include rate", true},
		{"show", "show running-config | section policy-map | no-more", true},
		{"show", "show queuing interface ethernet 1/1 | json", true},
		{"display", "display qos policy interface", true},
		{"display", "display current-configuration | include \"dscp 26\"", true},

		{"show", "", false},
		{"show", "show", false},
		{"show", "sh version", false}, // which may be the start of shutdown
		{"show", "showversion", false},
		{"show", "display version", false},
		{"display", "show version", false},
		{"", "show version", false}, // an OS without a verb
		{"show", "configure terminal", false},
		{"show", "reload", false},
		{"show", "show version ; reload", false},
		{"show", "show version\nreload", false},
		{"show", "show version\rreload", false},
		{"show", "show version > bootflash:x", false},
		{"display", "display version >> flash:/x", false},
		{"show", "show version | tee bootflash:x", false},
		{"show", "show version | redirect bootflash:x", false},
		{"show", "show version | vsh", false},
		{"show", "show version | sed w/x", false},
		{"show", "show version | awk 'BEGIN{system(1)}'", false},
		{"show", "show version | email a@example.net", false},
		{"show", "show version |", false},
		{"show", "show version | include a | tee x", false},
		{"show", "show version | include $(SWITCHNAME)", false},
		{"show", "show ?", false},
		{"show", "show v\u00e9rsion", false},
		{"show", "show \x15reload", false},
	} {
		if err := onlyShows(test.verb, test.line); (err == nil) != test.ok {
			t.Errorf("%s: %q: %v", test.verb, test.line, err)
		}
	}
}

// FuzzOnlyShows: what passes is one command, and it begins with the verb.
func FuzzOnlyShows(f *testing.F) {
	f.Add("show version | include x")
	f.Add("show a;b")
	f.Fuzz(func(t *testing.T, line string) {
		if onlyShows("show", line) != nil {
			return
		}
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "show ") || strings.ContainsAny(line, ";>\r\n\x00") {
			t.Errorf("%q passes", line)
		}
	})
}

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
	d.host = &leaseHost{r, &now}
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
			return remote.Output{Stdout: []byte("held 10 200\n" + *h.holder + "\n")}, nil
		}
		*h.holder = cmd.Args[4]
		return remote.Output{Stdout: []byte("taken 0\n")}, nil
	case releaseScript:
		if *h.holder == cmd.Args[4] {
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
