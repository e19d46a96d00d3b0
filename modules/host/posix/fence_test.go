//go:build unix

package posix

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/remote"
	"weft/modules/host"
)

// changes tries all ways to change something, and says how many were let through.
func (y yard) changes(t *testing.T, c host.Claim) (through int) {
	t.Helper()
	way := y.m.Fence().Behind(y, c)
	name := filepath.Join(y.m.Dir, "file")
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
func TestFence(t *testing.T) { inYards(t, fences) }

func fences(t *testing.T, y yard) {
	slow, quick := holder("slow", 7, 5), holder("quick", 7, 6)
	if by := y.take(t, slow); by != nil {
		t.Fatalf("%+v", by)
	}
	if y.token() != "7 5" {
		t.Errorf("the token is %q", y.token())
	}
	if info, err := os.Stat(filepath.Join(y.m.Dir, "token")); err != nil || info.Mode().Perm() != 0o600 {
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
	if err := y.m.Release(t.Context(), y, quick.Text); err != nil {
		t.Fatal(err)
	}
	if n := y.changes(t, slow); n != 0 {
		t.Errorf("who was overtaken changes %d once nobody has the lease", n)
	}
	if err := os.RemoveAll(y.m.Run); err != nil { // a restart
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
func TestTokens(t *testing.T) { inYards(t, tokens) }

func tokens(t *testing.T, y yard) {
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
		if c.stands != "" {
			if err := errors.Join(os.MkdirAll(y.m.Dir, 0o755), os.WriteFile(filepath.Join(y.m.Dir, "token"), []byte(c.stands+"\n"), 0o600)); err != nil {
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
		if held, err := y.m.Lease(t.Context(), y); err != nil || (held != nil) != (c.past == "") {
			t.Errorf("%q stands, and %v came: the lease is %+v, %v", c.stands, c.comes.Token, held, err)
		}
		if err := y.m.Fence().Yield(t.Context(), y); err != nil || y.token() != "" {
			t.Errorf("it does not yield: %v", err)
		}
		if err := y.m.Release(t.Context(), y, c.comes.Text); err != nil {
			t.Error(err)
		}
	}
	if text, err := y.m.Fence().Token(t.Context(), y); text != "" || err != nil {
		t.Errorf("where none stands there is %q: %v", text, err)
	}
	y.take(t, holder("a", 3, 4))
	if text, err := y.m.Fence().Token(t.Context(), y); text != "3.4" || err != nil {
		t.Errorf("there is %q: %v", text, err)
	}
}
