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
	"strings"
	"testing"
	"time"

	"weft/internal/remote"
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
	if err := errors.Join(os.Symlink(dash, filepath.Join(b.path, "sh")), os.Symlink(setsid, filepath.Join(b.path, "setsid"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"cat", "mkdir", "rm", "rmdir", "mv", "wc", "date", "sync", "sleep"} {
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

func (b *box) moved(text string) string {
	return strings.NewReplacer("/scratch/", b.dir+"/scratch/", "/tmp/weft", b.dir+"/tmp/weft").Replace(text)
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
	m, err := scratch{}.Parse(b.see(scratch{}.Looks(owner, nil)...), owner, nil)
	if err != nil || m.Broken != nil || m.Unable != nil {
		b.t.Fatalf("%v, %v, %v", err, m.Broken, m.Unable)
	}
	return m
}

func TestMemory(t *testing.T) {
	b := newBox(t)
	h, ctx, m := transport{b}, t.Context(), scratch{}
	for k, text := range map[host.Keepsake]string{host.KeptLedger: `{"format":1}` + "\n", host.KeptSecrets: "secret"} {
		if err := m.Put(ctx, h, k, "me", []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Put(ctx, h, host.KeptLedger, "other", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	files := m.Place(host.KeptLedger, "me")
	have := b.remembers("me")
	if len(have.Files) != 3 || !have.Files[0].Mine || have.Files[0].Place != files || string(have.Files[0].Raw) != `{"format":1}`+"\n" || have.Files[1].Mine || have.Files[2].Kept != host.KeptSecrets {
		t.Errorf("%+v", have.Files)
	}
	claim := host.Claim{Text: `{"owner":"me"}`, Time: time.Minute}
	mark, ledger, held, err := m.Take(ctx, h, claim, host.Note{}, "me")
	if mark != "" || string(ledger) != `{"format":1}`+"\n" || held != nil || err != nil {
		t.Fatalf("%q %q %+v %v", mark, ledger, held, err)
	}
	// Another is told who has it, and takes it over only as it was seen.
	_, _, held, err = m.Take(ctx, h, host.Claim{Text: "second", Time: time.Minute}, host.Note{}, "me")
	if err != nil || held == nil || held.Text != claim.Text || !held.Known || held.Left <= 0 || held.Left > time.Minute {
		t.Fatalf("%+v, %v", held, err)
	}
	if have := b.remembers("me"); len(have.Leases) != 2 || have.Leases[0].Text != claim.Text {
		t.Errorf("leases %+v", have.Leases)
	}
	if err := m.Renew(ctx, h, host.Claim{Text: claim.Text, Time: 2 * time.Minute}); err != nil {
		t.Fatal(err)
	}
	if _, _, still, err := m.Take(ctx, h, host.Claim{Text: "second", Time: time.Minute, Over: held}, host.Note{}, "me"); err != nil || still == nil || still.Left <= time.Minute {
		t.Errorf("a lease that was renewed is taken over: %+v, %v", still, err)
	} else if _, _, still, err = m.Take(ctx, h, host.Claim{Text: "second", Time: time.Minute, Over: still}, host.Note{}, "me"); err != nil || still != nil {
		t.Errorf("a dead one is not: %+v, %v", still, err)
	}
	if l, err := m.Lease(ctx, h); err != nil || l == nil || l.Text != "second" {
		t.Errorf("%+v, %v", l, err)
	} else if broken, err := m.Break(ctx, h, l); !broken || err != nil {
		t.Errorf("%t, %v", broken, err)
	} else if broken, err = m.Break(ctx, h, l); broken || err != nil {
		t.Errorf("it was broken twice: %t, %v", broken, err)
	}
	// A mark is another's, is replaced by one of its own run, and goes.
	if other, held, err := m.Mark(ctx, h, claim, `{"run":"1","token":"a"}`, ""); other != "" || held != nil || err != nil {
		t.Fatalf("%q %+v %v", other, held, err)
	}
	if other, _, err := m.Mark(ctx, h, claim, `{"run":"2","token":"b"}`, ""); other != `{"run":"1","token":"a"}` || err != nil {
		t.Errorf("%q, %v", other, err)
	}
	if mark, _, held, err := m.Take(ctx, h, claim, host.Note{Text: `{"run":"1","token":"a","phase":2}`, Needle: `"token":"a"`}, "none"); mark != `{"run":"1","token":"a","phase":2}` || held != nil || err != nil {
		t.Errorf("%q %+v %v", mark, held, err)
	}
	if err := errors.Join(m.Release(ctx, h, claim.Text), m.Unmark(ctx, h, `"token":"b"`)); err != nil || b.see(m.Marked()).Of(m.Marked()).Text() == "" {
		t.Errorf("another's needle has taken the mark away: %v", err)
	}
	if err := m.Unmark(ctx, h, `"token":"a"`); err != nil || b.see(m.Marked()).Of(m.Marked()).Text() != "" {
		t.Errorf("%v", err)
	}
	// What is removed leaves nothing.
	for _, owner := range []string{"me", "other"} {
		if err := errors.Join(m.Remove(ctx, h, owner, host.KeptLedger, host.KeptSecrets), m.Tidy(ctx, h, owner)); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(b.dir + "/scratch/*"); left != nil {
		t.Errorf("left: %v", left)
	}
}

// Half of what was to be put takes the place of nothing, and is found.
func TestPutWhole(t *testing.T) {
	b := newBox(t)
	h, ctx, m := transport{b}, t.Context(), scratch{}
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
		m, err := scratch{}.Parse(seen, "me", nil)
		if err == nil {
			err = m.Unable
		}
		if want == "" && m.Unable != nil || want != "" && (m.Unable == nil || !strings.Contains(m.Unable.Error(), want)) {
			t.Errorf("%q: %v, want %q", at, err, want)
		}
	}
	if m, _ := (scratch{}).Parse(remote.Seen{}, "me", nil); m.Unable == nil || !strings.Contains(m.Unable.Error(), "cannot be read") {
		t.Errorf("not seen: %v", m.Unable)
	}
}

// Wherever the script that takes the lease is killed, the lease is nobody's, or says
// whose it is and when it ends.
func TestLeaseIsWholeOrNone(t *testing.T) {
	for n := 1; ; n++ {
		b := newBox(t)
		real, err := os.Readlink(filepath.Join(b.path, "cat"))
		if err != nil {
			t.Fatal(err)
		}
		count := filepath.Join(b.dir, "count")
		for _, tool := range []string{"mkdir", "rm", "rmdir", "date"} {
			text := fmt.Sprintf("#!%s sh\n%s %s \"$@\"; r=$?\necho x >>%s\nif [ $(%[2]s wc -l <%[4]s) = %[5]d ]; then kill -9 $PPID; fi\nexit $r\n", real, real, tool, count, n)
			if err := errors.Join(os.Remove(filepath.Join(b.path, tool)), os.WriteFile(filepath.Join(b.path, tool), []byte(text), 0o755)); err != nil {
				t.Fatal(err)
			}
		}
		h, m := transport{b}, scratch{}
		claim := host.Claim{Text: "me", Time: time.Minute}
		_, _, _, killed := m.Take(t.Context(), h, claim, host.Note{}, "me")
		if killed == nil {
			killed = m.Release(t.Context(), h, claim.Text)
		}
		again := newBox(t)
		again.dir = b.dir
		_, _, held, err := m.Take(t.Context(), transport{again}, host.Claim{Text: "other", Time: time.Minute}, host.Note{}, "me")
		if err != nil || held != nil && (held.Text != "me" || !held.Known) {
			t.Errorf("killed after %d tools (%v), and then: %+v, %v", n, killed, held, err)
		}
		if killed == nil {
			if n < 5 {
				t.Errorf("only %d tools were run", n)
			}
			return
		}
	}
}

// An armed guard is seen, reverts what was not proven, also that of an arming before,
// and does nothing once it is disarmed.
func TestGuard(t *testing.T) {
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
