//go:build unix

package linux

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/internal/remote"
	"weft/internal/remote/local"
	"weft/modules/claim"
	"weft/modules/host"
	"weft/modules/linux/put"
)

// A yard is a machine of which the folders of leases and ledgers are elsewhere.
type yard struct {
	local.Host
	run, lib string
}

func newYard(t *testing.T) yard {
	if _, err := os.Stat("/proc/uptime"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	return yard{run: filepath.Join(dir, "run"), lib: filepath.Join(dir, "lib")}
}

func (y yard) moved(args []string) []string {
	var out []string
	for _, a := range args {
		out = append(out, strings.NewReplacer(put.RunDir, y.run, ledgerDir, y.lib).Replace(a))
	}
	return out
}

func (y yard) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	c.Args = y.moved(c.Args)
	return y.Host.Run(ctx, c)
}

func (y yard) WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, behind ...string) error {
	return y.Host.WriteFile(ctx, path, r, mode, y.moved(behind)...)
}

func (y yard) token() string {
	text, _ := os.ReadFile(filepath.Join(y.lib, "token"))
	return strings.TrimSpace(string(text))
}

func (y yard) take(t *testing.T, c host.Claim) *host.Held {
	t.Helper()
	c.Time = time.Hour
	_, _, held, err := files{}.Take(t.Context(), transport{y}, c, host.Note{}, "o")
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// over takes the lease from whoever has it, as if its time had gone.
func (y yard) over(t *testing.T, c host.Claim) {
	t.Helper()
	held, err := files{}.Lease(t.Context(), transport{y})
	if err != nil || held == nil {
		t.Fatalf("%v: %v", held, err)
	}
	c.Over = held
	if by := y.take(t, c); by != nil {
		t.Fatalf("it is refused by %+v", by)
	}
}

func (y yard) release(t *testing.T, c host.Claim) {
	t.Helper()
	if err := (files{}).Release(t.Context(), transport{y}, c.Text); err != nil {
		t.Fatal(err)
	}
}

func holder(text string, epoch, revision uint64) host.Claim {
	return host.Claim{Text: text, Token: claim.Token{Epoch: epoch, Revision: revision}}
}

// changes tries all ways to change something, and says how many were let through.
func (y yard) changes(t *testing.T, c host.Claim) (through int) {
	t.Helper()
	way := fence().Behind(transport{y}, c)
	name := filepath.Join(y.lib, "file")
	for what, do := range map[string]func() error{
		"command": func() error { _, err := way.Run(t.Context(), remote.Cmd{Args: []string{"touch", name}}); return err },
		"input": func() error {
			out, err := way.Run(t.Context(), remote.Cmd{Args: []string{"sh", "-c", `cat; exit $1`, "sh", "0"}, Stdin: strings.NewReader("secret")})
			if err == nil && string(out.Stdout) != "secret" {
				t.Errorf("what the command read is %q", out.Stdout)
			}
			return err
		},
		"step": func() error { return way.Do(t.Context(), remote.Step{Args: []string{"true"}}) },
		"put": func() error {
			return way.Do(t.Context(), remote.Step{Put: &remote.File{Path: name, Mode: 0o600, Content: []byte("x")}})
		},
		"write": func() error {
			return way.WriteFile(t.Context(), name, bytes.NewReader([]byte("y")), fs.FileMode(0o600))
		},
		"remove": func() error { return way.Do(t.Context(), remote.Step{Del: name}) },
	} {
		before, _ := os.Stat(name)
		err := do()
		switch fenced := (*host.FencedError)(nil); {
		case err == nil:
			through++
		case !errors.As(err, &fenced):
			t.Errorf("%s: %v", what, err)
		default:
			if after, _ := os.Stat(name); before == nil && after != nil {
				t.Errorf("%s: it was refused, and done", what)
			}
		}
	}
	return through
}

const allWays = 6

// Who was overtaken is refused by the machine at every way to change something: while
// the other is at work, and when it has gone; and after a restart, which forgets leases.
func TestFence(t *testing.T) {
	y := newYard(t)
	slow, quick := holder("slow", 7, 5), holder("quick", 7, 6)
	if by := y.take(t, slow); by != nil {
		t.Fatalf("%+v", by)
	}
	if y.token() != "7 5" {
		t.Errorf("the token is %q", y.token())
	}
	if info, err := os.Stat(filepath.Join(y.lib, "token")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the token's file: %v %v", info, err)
	}
	if n := y.changes(t, slow); n != allWays {
		t.Errorf("who has the lease changes %d of %d", n, allWays)
	}
	y.over(t, quick) // the slow one was stopped for too long
	if y.token() != "7 6" {
		t.Errorf("the token is %q", y.token())
	}
	if n := y.changes(t, slow); n != 0 {
		t.Errorf("who was overtaken changes %d", n)
	}
	if n := y.changes(t, quick); n != allWays {
		t.Errorf("the next one changes %d of %d", n, allWays)
	}
	y.release(t, quick)
	if n := y.changes(t, slow); n != 0 {
		t.Errorf("who was overtaken changes %d once nobody has the lease", n)
	}
	if err := os.RemoveAll(y.run); err != nil { // a restart
		t.Fatal(err)
	}
	if n := y.changes(t, slow); n != 0 {
		t.Errorf("after a restart who was overtaken changes %d", n)
	}
	if n := y.changes(t, quick); n != allWays { // its own restart takes nothing from it
		t.Errorf("after a restart the last one changes %d of %d", n, allWays)
	}
	if by := y.take(t, slow); by == nil || by.Past != "7.6" {
		t.Errorf("a lower token takes the lease: %+v", by)
	}
}

// Tokens are compared as numbers, epochs first; none is the least; what cannot be read
// refuses all; a command by hand is kept out by none.
func TestTokens(t *testing.T) {
	for _, c := range []struct {
		stands string
		comes  host.Claim
		past   string
		then   string
	}{
		{"", holder("a", 0, 0), "", ""},
		{"", holder("a", 1, 2), "", "1 2"},
		{"1 2", holder("a", 1, 2), "", "1 2"},
		{"1 2", holder("a", 1, 10), "", "1 10"},
		{"1 10", holder("a", 1, 9), "1.10", "1 10"},
		{"1 10", holder("a", 2, 1), "", "2 1"},
		{"2 1", holder("a", 1, 99), "2.1", "2 1"},
		{"1764000000000 18000000", holder("a", 1764000000001, 1), "", "1764000000001 1"},
		{"1 2", holder("a", 0, 0), "1.2", "1 2"},
		{"1 2", host.Claim{Text: "a", ByHand: true}, "", "1 2"},
		{"1", holder("a", 9, 9), "cannot be read", "1"},
		{"x y", holder("a", 9, 9), "cannot be read", "x y"},
		{" ", holder("a", 9, 9), "cannot be read", ""},
		{"", host.Claim{Text: "a", ByHand: true}, "", ""},
	} {
		y := newYard(t)
		if c.stands != "" {
			if err := errors.Join(os.MkdirAll(y.lib, 0o755), os.WriteFile(filepath.Join(y.lib, "token"), []byte(c.stands+"\n"), 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		by := y.take(t, c.comes)
		if c.past == "" && by != nil || c.past != "" && (by == nil || !strings.Contains(by.Past, c.past)) {
			t.Errorf("%q stands, and %v comes: %+v", c.stands, c.comes.Token, by)
		}
		if y.token() != c.then {
			t.Errorf("%q stood, %v came, and now %q stands", c.stands, c.comes.Token, y.token())
		}
		if held, err := (files{}).Lease(t.Context(), transport{y}); err != nil || (held != nil) != (c.past == "") {
			t.Errorf("%q stands, and %v came: the lease is %+v, %v", c.stands, c.comes.Token, held, err)
		}
		if err := yield(t.Context(), transport{y}); err != nil || y.token() != "" {
			t.Errorf("it does not yield: %v", err)
		}
	}
	y := newYard(t)
	if text, err := standing(t.Context(), transport{y}); text != "" || err != nil {
		t.Errorf("where none stands there is %q: %v", text, err)
	}
	y.take(t, holder("a", 3, 4))
	if text, err := standing(t.Context(), transport{y}); text != "3.4" || err != nil {
		t.Errorf("there is %q: %v", text, err)
	}
}
