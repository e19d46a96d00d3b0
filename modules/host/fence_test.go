package host

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"

	"weft/internal/remote"
	"weft/modules/claim"
	"weft/plan"
)

// A notebook is a memory of which only the lease and the ledger matter.
type notebook struct {
	Memory
	stands *string // the token that keeps everybody out; "": none does
	asked  *Claim
}

func (n notebook) Looks(string, []remote.Look) []remote.Look { return nil }

func (n notebook) Parse(remote.Seen, string, []remote.Look) (m Memorized, err error) { return m, nil }

func (n notebook) Take(_ context.Context, _ Transport, c Claim, _ Note, _ string) (string, []byte, *Held, error) {
	if *n.asked = c; *n.stands != "" {
		return "", nil, &Held{Past: *n.stands}, nil
	}
	return "", nil, nil, nil
}

func (n notebook) Release(context.Context, Transport, string) error { return nil }

func (n notebook) Tidy(context.Context, Transport, string) error { return nil }

func (n notebook) Marked() remote.Look { return remote.Look{File: "/var/lib/weft/run.json"} }

// A gate is a transport of a fence, which lets changes through until it is closed.
type gate struct {
	Transport
	passed *int // changes; -1: it is closed
}

func (g gate) pass() error {
	if *g.passed < 0 {
		return &FencedError{By: "a run with the token 1.9"}
	}
	*g.passed++
	return nil
}

func (g gate) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	if err := g.pass(); err != nil {
		return remote.Output{}, err
	}
	return g.Transport.Run(ctx, c)
}

func (g gate) WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, behind ...string) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Transport.WriteFile(ctx, path, r, mode, behind...)
}

func (g gate) Do(ctx context.Context, s remote.Step) error {
	if err := g.pass(); err != nil {
		return err
	}
	return g.Transport.Do(ctx, s)
}

// fencedMachine is one whose fence lets passed changes through.
func fencedMachine(t *testing.T, token claim.Token) (d *Machine, state func() string, passed *int, stands *string, asked *Claim) {
	r := machine(t)
	d = replayed(r)
	t.Cleanup(func() { _ = d.Close() })
	os := *d.os
	passed, stands, asked = new(int), new(string), new(Claim)
	os.Memory = notebook{os.Memory, stands, asked}
	os.Guard = nil
	os.Fence = &Fence{Behind: func(to Transport, c Claim) Transport {
		if c.Token != token || c.Text == "" {
			t.Errorf("the fence is asked for %+v", c)
		}
		return gate{to, passed}
	}}
	d.os, d.owner, d.token = &os, "o", func() claim.Token { return token }
	return d, r.State, passed, stands, asked
}

// Who is overtaken is refused at whatever it does next: a step, the proof, the revert.
// It is told so, and nothing changes.
func TestOvertaken(t *testing.T) {
	file := `{"Path":"/etc/weft/x","Mode":416,"Content":"bmV3Cg=="}`
	for name, next := range map[string]func(*Machine, plan.Step) error{
		"step":   func(d *Machine, s plan.Step) error { return d.Apply(t.Context(), s) },
		"proof":  func(d *Machine, _ plan.Step) error { return d.Commit(t.Context()) },
		"revert": func(d *Machine, _ plan.Step) error { return d.Abort(t.Context()) },
	} {
		d, state, passed, _, _ := fencedMachine(t, claim.Token{Epoch: 1, Revision: 5})
		s := begun(t, d, wished(t, d, "file", file))[0]
		if *passed == 0 {
			t.Error("the ledger is not put behind the fence")
		}
		if name != "step" {
			if err := d.Apply(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		before := state()
		*passed = -1
		err := next(d, s)
		if held := new(plan.HeldError); !errors.As(err, &held) || held.Device != "server.st1" ||
			!strings.Contains(err.Error(), "server.st1 refuses this run: a run with the token 1.9 has been there meanwhile, and nothing more is changed by this one, which has the token 1.5") {
			t.Errorf("%s: %v", name, err)
		}
		if now := state(); now != before {
			t.Errorf("%s: it is refused, and changed\n%s\nto\n%s", name, before, now)
		}
	}
}

// Each change of a whole transaction goes through the fence, and none where there is no token.
func TestFenceOfATransaction(t *testing.T) {
	for _, token := range []claim.Token{{Epoch: 1, Revision: 5}, {}} {
		d, _, passed, _, _ := fencedMachine(t, token)
		s := begun(t, d, wished(t, d, "file", `{"Path":"/etc/weft/x","Mode":416,"Content":"bmV3Cg=="}`))[0]
		if err := errors.Join(d.Apply(t.Context(), s), d.Commit(t.Context())); err != nil {
			t.Fatal(err)
		}
		if (*passed >= 3) == token.None() { // a ledger, the file, and the ledger again
			t.Errorf("with the token %s %d changes went through the fence", token, *passed)
		}
	}
}

// A token that stands refuses before anything is begun, and says what to do.
func TestTokenStands(t *testing.T) {
	for _, c := range []struct {
		mine claim.Token
		want string
	}{
		{claim.Token{Epoch: 1, Revision: 5}, "the server has the fencing token 1.9, and this run the lower one 1.5"},
		{claim.Token{}, "it belongs to runs that are kept in a store, the last with the token 1.9, and this one is not"},
	} {
		d, state, _, stands, asked := fencedMachine(t, c.mine)
		*stands = "1.9"
		if _, err := d.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		before := state()
		err := d.Begin(t.Context(), nil)
		if !errors.As(err, new(*plan.HeldError)) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v", err)
		}
		if state() != before || asked.ByHand {
			t.Errorf("something was done: %+v", asked)
		}
		if _, err := d.RunCommand(t.Context(), remote.Cmd{Args: []string{"uname", "-srm"}}, true); err == nil || !asked.ByHand || !asked.Token.None() {
			t.Errorf("a command by hand asks with %+v: %v", asked, err)
		}
	}
	d, _, _, _, _ := fencedMachine(t, claim.Token{Epoch: 1, Revision: 5})
	d.os.Fence = nil
	if _, err := d.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := d.Begin(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "weft does without a check of tokens on linux") {
		t.Errorf("a system without a fence: %v", err)
	}
}
