package esxi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/remote"
	"weft/modules/claim"
	"weft/modules/host"
)

// A box runs the scripts with the tools of busybox, which ESXi has as well, in a folder
// in place of /scratch and /tmp.
type box struct {
	t    *testing.T
	dir  string
	path string
}

func newBox(t *testing.T) *box {
	t.Helper()
	tool, err := exec.LookPath("busybox")
	if err != nil {
		t.Skip(err)
	}
	// busybox built for Debian prefers its own tools to those in PATH, which tests replace.
	dash, err := exec.LookPath("dash")
	if err != nil {
		t.Skip(err)
	}
	setsid, err := exec.LookPath("setsid") // busybox would start its own shell
	if err != nil {
		t.Skip(err)
	}
	b := &box{t, t.TempDir(), t.TempDir()}
	t.Cleanup(b.end)
	if err := errors.Join(os.Symlink(dash, filepath.Join(b.path, "sh")), os.Symlink(setsid, filepath.Join(b.path, "setsid"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cat", "mkdir", "rm", "rmdir", "mv", "wc", "date", "sync", "sleep", "grep", "tail"} {
		if err := os.Symlink(tool, filepath.Join(b.path, name)); err != nil {
			t.Fatal(err)
		}
	}
	// ps -c of ESXi shows whole command lines; what one of Linux calls so differs.
	ps := "#!" + b.path + "/sh\nfor p in /proc/[0-9]*/cmdline; do cat $p 2>/dev/null | " + tool + " tr '\\000' ' '; echo; done\n"
	if err := os.WriteFile(filepath.Join(b.path, "ps"), []byte(ps), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"scratch", "tmp"} {
		if err := os.Mkdir(filepath.Join(b.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// left are the processes that scripts have left behind: all that have the PATH of the box.
func (b *box) left() (pids []int) {
	list, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is sound
	for _, file := range list {
		text, err := os.ReadFile(file)
		if err != nil || !slices.Contains(strings.Split(string(text), "\x00"), "PATH="+b.path) {
			continue // another's, or it has ended
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// end ends what is left: a guard sleeps on when its test is over.
func (b *box) end() {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		pids := b.left()
		if len(pids) == 0 {
			return
		}
		if time.Now().After(deadline) {
			b.t.Errorf("processes do not end: %v", pids)
			return
		}
		for _, pid := range pids {
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill() // it may have ended
			}
		}
	}
}

func (b *box) moved(text string) string {
	return strings.NewReplacer("/scratch/", b.dir+"/scratch/", "/tmp/weft", b.dir+"/tmp/weft", "/var/run/log/", b.dir+"/tmp/").Replace(text)
}

func (b *box) Name() string { return "box" }
func (b *box) ReadFile(context.Context, string) ([]byte, error) {
	return nil, errors.New("no file is read")
}
func (b *box) WriteFile(context.Context, string, io.Reader, fs.FileMode, ...string) error {
	return errors.New("no file is put")
}

func (b *box) Run(ctx context.Context, cmd remote.Cmd) (out remote.Output, err error) {
	args := make([]string, len(cmd.Args))
	for i, a := range cmd.Args {
		args[i] = b.moved(a)
	}
	c := exec.CommandContext(ctx, filepath.Join(b.path, args[0]), args[1:]...)
	c.Env = []string{"PATH=" + b.path}
	c.Stdin = cmd.Stdin
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err = c.Run()
	out = remote.Output{Stdout: []byte(strings.ReplaceAll(stdout.String(), b.dir, "")), Stderr: stderr.Bytes()}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		err = &remote.ExitError{Args: cmd.Args, Code: exit.ExitCode(), Output: out}
	}
	return out, err
}

// see runs looks that are scripts.
func (b *box) see(looks ...remote.Look) remote.Seen {
	b.t.Helper()
	var answers []remote.Answer
	for _, l := range looks {
		if l.Args[0] != "sh" {
			continue
		}
		out, err := b.Run(b.t.Context(), remote.Cmd{Args: l.Args})
		answers = append(answers, remote.Answer{Look: l, Sight: remote.Sight{Content: out.Stdout, Err: err}})
	}
	at := remote.Answer{Look: scratchLook(), Sight: remote.Sight{Content: []byte(listOf(structure("Path", "/ScratchConfig/CurrentScratchLocation", "StringValue", "/vmfs/volumes/x")))}}
	return remote.NewSeen(append(answers, at)...)
}

func (b *box) remembers(owner string) host.Memorized {
	b.t.Helper()
	m, err := keepsakes().Parse(b.see(keepsakes().Looks(owner, nil)...), owner, nil)
	if err != nil || m.Broken != nil || m.Unable != nil {
		b.t.Fatalf("%v, %v, %v", err, m.Broken, m.Unable)
	}
	return m
}

// Half of what was to be put takes the place of nothing, and is found.
func TestPutWhole(t *testing.T) {
	b := newBox(t)
	h, ctx, m := transport{b}, t.Context(), keepsakes()
	if err := m.Put(ctx, h, host.KeptLedger, "me", []byte("before")); err != nil {
		t.Fatal(err)
	}
	cmd := script(putScript, m.Place(host.KeptLedger, "me"), "100")
	cmd.Stdin = strings.NewReader("half")
	if _, err := h.Run(ctx, cmd); err == nil || !strings.Contains(err.Error(), "did not arrive whole") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(b.moved(m.Place(host.KeptLedger, "me")+".new"), []byte("ha"), 0o600); err != nil {
		t.Fatal(err)
	}
	have := b.remembers("me")
	if len(have.Files) != 1 || string(have.Files[0].Raw) != "before" || len(have.Left) != 1 || have.Left[0] != "/scratch/weft/me/ledger.json.new" {
		t.Errorf("%+v", have)
	}
	if err := m.Sweep(ctx, h, have.Left); err != nil || len(b.remembers("me").Left) != 0 {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(b.dir + "/scratch"); err != nil {
		t.Fatal(err)
	}
	if err := m.Put(ctx, h, host.KeptLedger, "me", []byte("x")); err == nil || !strings.Contains(err.Error(), "there is no /scratch") {
		t.Errorf("%v", err)
	}
}

// Where scratch is in RAM, or not known, nothing is owned.
func TestScratch(t *testing.T) {
	for at, want := range map[string]string{"/tmp/scratch": "is /tmp/scratch, in RAM", "/tmp": "in RAM", "": "has no scratch partition", "/vmfs/volumes/662f-1": ""} {
		seen := saw(t, scratchLook(), listOf(structure("Path", "/ScratchConfig/CurrentScratchLocation", "StringValue", at)))
		m, err := keepsakes().Parse(seen, "me", nil)
		if err == nil {
			err = m.Unable
		}
		if want == "" && m.Unable != nil || want != "" && (m.Unable == nil || !strings.Contains(m.Unable.Error(), want)) {
			t.Errorf("%q: %v, want %q", at, err, want)
		}
	}
	if m, _ := keepsakes().Parse(remote.Seen{}, "me", nil); m.Unable == nil || !strings.Contains(m.Unable.Error(), "cannot be read") {
		t.Errorf("not seen: %v", m.Unable)
	}
}

// What a test has started ends with it, also a guard that sleeps for long.
func TestBoxEnds(t *testing.T) {
	t.Parallel()
	var b *box
	t.Run("arms", func(t *testing.T) {
		b = newBox(t)
		if err := (sleeper{}).Arm(t.Context(), transport{b}, "me", time.Hour, []remote.Step{{Args: []string{"mkdir", b.dir + "/back"}}}); err != nil {
			t.Fatal(err)
		}
		if len(b.left()) == 0 {
			t.Error("nobody sleeps")
		}
	})
	if b != nil && len(b.left()) > 0 {
		t.Errorf("processes are left: %v", b.left())
	}
}

// An armed guard is seen, reverts what was not proven, also that of an arming before,
// and does nothing once it is disarmed.
func TestGuard(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	h, ctx, g := transport{b}, t.Context(), sleeper{}
	// Who sleeps wakes when the test says so.
	text := fmt.Sprintf("#!%[1]s/sh\nwhile [ \"$1\" != 1 ] && [ -d %[2]s ] && ! [ -e %[2]s/wake ]; do %[1]s/busybox sleep 0.02; done\n", b.path, b.dir)
	tool, _ := exec.LookPath("busybox")
	if err := errors.Join(os.Symlink(tool, b.path+"/busybox"), os.Remove(b.path+"/sleep"), os.WriteFile(b.path+"/sleep", []byte(text), 0o755)); err != nil {
		t.Fatal(err)
	}
	armed := func() string {
		t.Helper()
		a, err := g.Armed(b.see(g.Look()))
		if err != nil || a.Unable != nil {
			t.Fatal(err, a.Unable)
		}
		return strings.Join(a.Owners, " ")
	}
	touch := func(name string) remote.Step {
		return remote.Step{Args: []string{b.path + "/mkdir", b.dir + "/" + name}}
	}
	done := func(name string) bool {
		_, err := os.Stat(b.dir + "/" + name)
		return err == nil
	}
	if a := armed(); a != "" {
		t.Errorf("armed: %s", a)
	}
	if err := g.Arm(ctx, h, "me", time.Hour, []remote.Step{touch("first")}); err != nil {
		t.Fatal(err)
	}
	if err := g.Arm(ctx, h, "me.too", time.Hour, []remote.Step{touch("too")}); err != nil {
		t.Fatal(err)
	}
	if a := armed(); a != "me me.too" {
		t.Errorf("armed: %s", a)
	}
	if err := errors.Join(g.Disarm(ctx, h, "me.too")); err != nil || armed() != "me" {
		t.Errorf("armed: %s, %v", armed(), err)
	}
	if err := g.Arm(ctx, h, "me", time.Hour, []remote.Step{touch("second")}); err != nil {
		t.Fatal(err)
	}
	if err := g.Arm(ctx, h, "me", time.Hour, []remote.Step{{Del: "/etc/x"}}); err == nil || armed() != "me" {
		t.Errorf("a step that no script takes: %v", err)
	}
	if err := os.WriteFile(b.dir+"/wake", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !done("first") || armed() != ""; {
		if time.Now().After(deadline) {
			t.Fatalf("nothing was reverted; armed: %s", armed())
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !done("second") || done("too") {
		t.Error("not what was armed was reverted")
	}
}

// Who was overtaken changes nothing on the host: no command, no step, no ledger, no guard.
func TestFence(t *testing.T) {
	t.Parallel()
	b := newBox(t)
	h, ctx, m := transport{b}, t.Context(), keepsakes()
	take := func(text string, revision uint64, over *host.Held) *host.Held {
		t.Helper()
		c := host.Claim{Text: text, Time: time.Minute, Token: claim.Token{Epoch: 1, Revision: revision}, Over: over}
		_, _, held, err := m.Take(ctx, h, c, host.Note{}, "me")
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	if held := take("slow", 1, nil); held != nil {
		t.Fatalf("%+v", held)
	}
	way := OS().Fence.Behind(h, host.Claim{Text: "slow", Token: claim.Token{Epoch: 1, Revision: 1}})
	mkdir := func(name string) remote.Step { return remote.Step{Args: []string{"mkdir", b.dir + "/" + name}} }
	changes := map[string]func() error{
		"command": func() error { _, err := way.Run(ctx, remote.Cmd{Args: []string{"cat", "/dev/null"}}); return err },
		"step":    func() error { return way.Do(ctx, mkdir(fmt.Sprint("step", time.Now().UnixNano()))) },
		"ledger":  func() error { return m.Put(ctx, way, host.KeptLedger, "me", []byte("mine")) },
		"guard":   func() error { return sleeper{}.Arm(ctx, way, "me", time.Minute, []remote.Step{mkdir("back")}) },
	}
	for what, change := range changes {
		if err := change(); err != nil {
			t.Errorf("%s of who has the lease: %v", what, err)
		}
	}
	if err := (sleeper{}).Disarm(ctx, way, "me"); err != nil {
		t.Error(err)
	}
	if held := take("quick", 2, take("quick", 2, nil)); held != nil {
		t.Fatalf("%+v", held)
	}
	if err := m.Release(ctx, h, "quick"); err != nil {
		t.Fatal(err)
	}
	for what, change := range changes {
		if err := change(); !errors.As(err, new(*host.FencedError)) || !strings.Contains(err.Error(), "a run with the token 1.2") {
			t.Errorf("%s of who was overtaken: %v", what, err)
		}
	}
	if have := b.remembers("me"); have.Token != "1.2" || len(have.Files) != 1 {
		t.Errorf("%+v", have)
	}
	if held := take("slow", 1, nil); held == nil || held.Past != "1.2" {
		t.Errorf("a lower token takes the lease: %+v", held)
	}
}
