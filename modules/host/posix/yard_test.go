//go:build unix

package posix

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"weft/internal/remote"
	"weft/modules/claim"
	"weft/modules/host"
)

// A yard is this machine as one that keeps its memory in a folder of a test.
type yard struct {
	here
	m     Memory
	shell []string // what "sh" is
}

func (y yard) args(args []string) []string {
	if len(args) > 0 && args[0] == "sh" {
		return append(append([]string{}, y.shell...), args[1:]...)
	}
	return args
}

func (y yard) Run(ctx context.Context, c remote.Cmd) (remote.Output, error) {
	c.Args = y.args(c.Args)
	return y.here.Run(ctx, c)
}

func (y yard) WriteFile(ctx context.Context, path string, r io.Reader, mode fs.FileMode, behind ...string) error {
	return y.here.WriteFile(ctx, path, r, mode, y.args(behind)...)
}

func (y yard) Read(ctx context.Context, looks []remote.Look) (remote.Seen, error) {
	return remote.Read(ctx, y, looks)
}

func (y yard) Do(ctx context.Context, s remote.Step) error { return remote.Do(ctx, y, s) }

// transport is a yard by another way.
type transport struct {
	remote.Host
}

func (t transport) Read(ctx context.Context, looks []remote.Look) (remote.Seen, error) {
	return remote.Read(ctx, t.Host, looks)
}

func (t transport) Do(ctx context.Context, s remote.Step) error { return remote.Do(ctx, t.Host, s) }

// inRoot is a memory below a folder, in each of the ways that systems have.
func inRoot(dir string) map[string]Memory {
	m := Memory{
		Dir: filepath.Join(dir, "lib"), Run: filepath.Join(dir, "run"), Mask: "022", Clock: Uptime, Enter: ByRename, Keep: SyncThenMove,
		Write: func(ctx context.Context, t host.Transport, path string, raw []byte) error {
			return t.WriteFile(ctx, path, bytes.NewReader(raw), 0o600)
		},
		Left: func(owner string, _ []remote.Look) []string { return []string{dir + "/lib/" + owner} }, OnWay: []string{"*.half"},
		Open: func(h remote.Host) host.Transport { return transport{h} },
	}
	other := m
	other.Mask, other.Clock, other.Enter, other.Keep = "077", Date, ByMkdir, MoveThenSync
	all := map[string]Memory{"mkdir": other}
	if _, err := os.Stat("/proc/uptime"); err == nil {
		all["rename"] = m
	}
	return all
}

// inYards runs a test with each way of a memory, in each shell that there is.
func inYards(t *testing.T, test func(*testing.T, yard)) {
	for _, shell := range [][]string{{"dash"}, {"bash"}, {"busybox", "sh"}} {
		if _, err := exec.LookPath(shell[0]); err != nil {
			continue
		}
		for way := range inRoot("") {
			t.Run(way+"/"+shell[0], func(t *testing.T) {
				t.Parallel()
				test(t, yard{m: inRoot(t.TempDir())[way], shell: shell})
			})
		}
	}
}

func (y yard) token() string {
	text, _ := os.ReadFile(filepath.Join(y.m.Dir, "token"))
	return strings.TrimSpace(string(text))
}

func (y yard) take(t *testing.T, c host.Claim) *host.Held {
	t.Helper()
	c.Time = time.Hour
	_, _, held, err := y.m.Take(t.Context(), y, c, host.Note{}, "o")
	if err != nil {
		t.Fatal(err)
	}
	return held
}

// over takes the lease from whoever has it, as if its time had gone.
func (y yard) over(t *testing.T, c host.Claim) {
	t.Helper()
	held, err := y.m.Lease(t.Context(), y)
	if err != nil || held == nil {
		t.Fatalf("%v: %v", held, err)
	}
	c.Over = held
	if by := y.take(t, c); by != nil {
		t.Fatalf("it is refused by %+v", by)
	}
}

func holder(text string, epoch, revision uint64) host.Claim {
	return host.Claim{Text: text, Token: claim.Token{Epoch: epoch, Revision: revision}}
}
