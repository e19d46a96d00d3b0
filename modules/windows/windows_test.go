//go:build unix

package windows

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/lab/simwindows"
	"weft/internal/remote"
	"weft/modules/claim"
	"weft/modules/host"
	"weft/modules/windows/powershell"
)

// A box is a SIMULATED host without the SSH in between.
type box struct {
	*simwindows.Host
	t    testing.TB
	user string // of the login; "" is admin
}

func (b *box) login() string { return cmp.Or(b.user, "admin") }

func newBox(t testing.TB, nics ...simwindows.NIC) *box {
	t.Helper()
	h, err := simwindows.New(simwindows.Spec{Name: "win1", MachineID: "0123456789abcdef0123456789abcdef", NICs: nics})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return &box{Host: h, t: t}
}

func (b *box) Run(ctx context.Context, cmd remote.Cmd) (remote.Output, error) {
	if !cmd.Bare || !cmd.Quiet {
		b.t.Errorf("%q is not sent bare and quiet", cmd.Args)
	}
	// The end of the input never comes, as may be over Win32-OpenSSH.
	in, out := io.Pipe()
	defer out.Close()
	if cmd.Stdin != nil {
		go func() { _, _ = io.Copy(out, cmd.Stdin) }() // ends when the pipe is closed
	}
	var stdout, stderr bytes.Buffer
	code := b.Exec(ctx, b.login(), strings.Join(cmd.Args, " "), in, &stdout, &stderr)
	_ = in.Close()
	got := remote.Output{Stdout: stdout.Bytes(), Stderr: stderr.Bytes()}
	if code != 0 {
		return got, &remote.ExitError{Code: code}
	}
	return got, nil
}

func (b *box) ReadFile(context.Context, string) ([]byte, error) { return nil, errors.New("no") }
func (b *box) WriteFile(context.Context, string, io.Reader, fs.FileMode, ...string) error {
	return errors.New("no")
}

func (b *box) transport() transport { return transport{Host: b} }

func (b *box) remembers(owner string) host.Memorized {
	b.t.Helper()
	seen, err := b.transport().Read(b.t.Context(), memory{}.Looks(owner, nil))
	if err != nil {
		b.t.Fatal(err)
	}
	kept, err := memory{}.Parse(seen, owner, nil)
	if err != nil || kept.Broken != nil {
		b.t.Fatalf("%v, %v", err, kept.Broken)
	}
	return kept
}

func (b *box) marked() string {
	b.t.Helper()
	seen, err := b.transport().Read(b.t.Context(), []remote.Look{memory{}.Marked()})
	if err != nil {
		b.t.Fatal(err)
	}
	got := seen.Of(memory{}.Marked())
	if got.Err != nil {
		b.t.Fatal(got.Err)
	}
	return got.Text()
}

func holder(text string, epoch, revision uint64) host.Claim {
	return host.Claim{Text: text, Time: time.Minute, Token: claim.Token{Epoch: epoch, Revision: revision}}
}

// Every program that this package sends has only what Microsoft's reference has.
func TestPrograms(t *testing.T) {
	b := newBox(t, simwindows.NIC{PCI: "0000:3b:00.0", RDMA: true})
	log := &logged{box: b}
	way := transport{Host: log}
	ctx := t.Context()
	c := holder("me", 1, 2)
	looks := append(memory{}.Looks("o", nil), task{}.Look(), whoLook(), intentLook(), addressesLook(), propertiesLook("0000:3b:00.0"), offloadsLook(), operationalLook(), smbLook("Client"), smbLook("Server"))
	looks = append(append(looks, (&DCB{}).Looks()...), (&Policy{}).Looks()...)
	looks = append(looks, adapterLooks()...)
	if _, err := way.Read(ctx, append(looks, (&Feature{Name: "Data-Center-Bridging"}).Looks()...)); err != nil {
		t.Fatal(err)
	}
	if _, _, held, err := (memory{}).Take(ctx, way, c, host.Note{Text: "note", Needle: "n"}, "o"); err != nil || held != nil {
		t.Fatal(held, err)
	}
	behind := fence().Behind(way, c)
	for what, err := range map[string]error{
		"renew":    memory{}.Renew(ctx, way, c),
		"put":      memory{}.Put(ctx, behind, host.KeptLedger, "o", []byte("{}")),
		"arm":      task{}.Arm(ctx, behind, "o", time.Hour, []remote.Step{host.Run("Uninstall-WindowsFeature", "-Name", "Data-Center-Bridging", "-Confirm:$false")}),
		"do":       behind.Do(ctx, host.Run("Install-WindowsFeature", "-Name", "Data-Center-Bridging", "-Confirm:$false")),
		"disarm":   task{}.Disarm(ctx, behind, "o"),
		"release":  memory{}.Release(ctx, way, c.Text),
		"unmark":   memory{}.Unmark(ctx, way, "n", ""),
		"tidy":     memory{}.Tidy(ctx, way, "o"),
		"sweep":    memory{}.Sweep(ctx, way, []string{root + `\x.new`}),
		"yield":    fence().Yield(ctx, way),
		"renamed":  behind.Do(ctx, host.Run("Restart-NetAdapter", "-Name", nicName("0000:00:00.0"))),
		"jumbo":    behind.Do(ctx, (&Adapter{PCI: "0000:3b:00.0", Values: map[string]string{kwJumbo: "9014"}}).Steps(&Adapter{Values: map[string]string{kwJumbo: "1514"}})[0]),
		"address":  behind.Do(ctx, (&Address{"0000:3b:00.0", netip.MustParsePrefix("10.0.0.1/24")}).Steps(nil)[0]),
		"no token": func() error { _, err := fence().Token(ctx, way); return err }(),
		"lease":    func() error { _, err := memory{}.Lease(ctx, way); return err }(),
		"break":    func() error { _, err := memory{}.Break(ctx, way, &host.Held{Name: "1.x"}); return err }(),
		"mark":     func() error { _, _, err := memory{}.Mark(ctx, way, holder("you", 1, 2), "m", "", ""); return err }(),
	} {
		if err != nil && what != "renamed" {
			t.Errorf("%s: %v", what, err)
		}
	}
	if len(log.scripts) < 16 {
		t.Errorf("%d scripts were sent", len(log.scripts))
	}
	for _, s := range log.scripts {
		if err := powershell.Check(s); err != nil {
			t.Errorf("%v in\n%s", err, s)
		}
	}
}

// Who a host is, and that it says so whatever its language.
func TestWho(t *testing.T) {
	b := newBox(t)
	for _, fault := range []string{"mended", "german"} {
		if err := b.Fault(fault); err != nil {
			t.Fatal(err)
		}
		seen, err := b.transport().Read(t.Context(), []remote.Look{whoLook()})
		if err != nil {
			t.Fatal(err)
		}
		id := parseWho(seen)
		if id.MachineID != "0123456789abcdef0123456789abcdef" || id.Serial == "" || !strings.Contains(id.System, "build 26100") || id.BootID == "" || len(id.Warnings) > 0 {
			t.Errorf("%+v", id)
		}
	}
}

// What a host may be like that weft does not work with, each told apart, and what to do.
func TestRefusals(t *testing.T) {
	for fault, want := range map[string][2]string{
		"constrained":   {"ConstrainedLanguage", "AppLocker"},
		"no-admin":      {`WIN1\admin is no administrator there`, "Administrators"},
		"no-powershell": {"command not found", "DefaultShell"},
	} {
		b := newBox(t)
		if err := b.Fault(fault); err != nil {
			t.Fatal(err)
		}
		_, err := b.transport().Read(t.Context(), []remote.Look{whoLook()})
		if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(hint.Of(err), want[1]) {
			t.Errorf("%s: %v; %s", fault, err, hint.Of(err))
		}
	}
	b := newBox(t)
	_ = b.Fault("german")
	err := b.transport().Do(t.Context(), host.Run("Get-NetIntent"))
	if err == nil || !strings.Contains(err.Error(), "wurde nicht als Name") || !strings.Contains(hint.Of(err), "lacks that cmdlet") {
		t.Errorf("%v; %s", err, hint.Of(err))
	}
	if err := b.transport().Do(t.Context(), host.Run("Remove-Item", "-Path", `C:\`)); err == nil || !strings.Contains(err.Error(), "no cmdlet") {
		t.Errorf("%v", err)
	}
	if _, err := b.transport().Run(t.Context(), remote.Cmd{Args: []string{"ls"}}); err == nil {
		t.Error("a command of POSIX runs")
	}
}

// A login that fails says what that may mean on Windows: keys of administrators are passed over
// without a word where the ACL of their file is wrong.
func TestLoginFailed(t *testing.T) {
	for said, want := range map[error]string{
		&remote.AuthError{User: "weft", Said: "unable to authenticate"}: "icacls C:\\ProgramData\\ssh\\administrators_authorized_keys",
		&os.SyscallError{Syscall: "connect", Err: syscall.ECONNREFUSED}: "OpenSSH Server is an optional feature",
		errors.New("i/o timeout"): "",
	} {
		err := loginFailed(&remote.UnreachableError{Name: "win1", Err: said})
		if got := hint.Of(err); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: %q", said, got)
		}
	}
	if err := loginFailed(&remote.AuthError{}); hint.Of(err) != "" {
		t.Errorf("of what is no login: %v", err)
	}
}

// A ledger is there whole, whatever is in it, and its folder is nobody else's.
func TestKeeps(t *testing.T) {
	b := newBox(t)
	ctx, way := t.Context(), b.transport()
	if kept := b.remembers("o"); len(kept.Files) != 0 || kept.Unable != nil || kept.Token != "" {
		t.Errorf("a new host keeps %+v", kept)
	}
	for _, text := range []string{"{}", `{"a":"'‘ö</>\u0000"}`, strings.Repeat("x", 300000)} {
		if err := (memory{}).Put(ctx, way, host.KeptLedger, "o", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := (memory{}).Put(ctx, way, host.KeptSecrets, "other", []byte(text)); err != nil {
			t.Fatal(err)
		}
		kept := b.remembers("o")
		if len(kept.Files) != 2 || string(kept.Files[0].Raw) != text || !kept.Files[0].Mine || kept.Files[1].Mine || kept.Files[1].Kept != host.KeptSecrets {
			t.Errorf("%.60q is kept as %.300q", text, fmt.Sprint(kept))
		}
	}
	b.Plant(root+`\o\ledger.json.new`, "half", false)
	if kept := b.remembers("o"); len(kept.Left) != 1 {
		t.Errorf("what was left: %q", kept.Left)
	} else if err := (memory{}).Sweep(ctx, way, kept.Left); err != nil {
		t.Error(err)
	}
	if err := (memory{}).Sweep(ctx, way, []string{`C:\Windows\x`}); err == nil {
		t.Error("it removes what is not weft's")
	}
	for _, owner := range []string{"o", "other"} {
		if err := (memory{}).Remove(ctx, way, owner, host.KeptLedger, host.KeptSecrets); err != nil {
			t.Error(err)
		}
		if err := (memory{}).Tidy(ctx, way, owner); err != nil {
			t.Error(err)
		}
	}
	if left := b.Contents(); len(left) != 0 {
		t.Errorf("%v stays", left)
	}

	planted := newBox(t)
	planted.Plant(root, "", true)
	if kept := planted.remembers("o"); kept.Unable == nil || hint.Of(kept.Unable) == "" {
		t.Error("a folder that users may write is taken for weft's")
	}
	if err := (memory{}).Put(ctx, planted.transport(), host.KeptLedger, "o", []byte("{}")); err == nil || !strings.Contains(err.Error(), "others may write") {
		t.Errorf("%v", err)
	}
}

// logged keeps what scripts were sent.
type logged struct {
	*box
	scripts []string
}

func (l *logged) Run(ctx context.Context, cmd remote.Cmd) (remote.Output, error) {
	raw, err := io.ReadAll(cmd.Stdin)
	if err != nil {
		return remote.Output{}, err
	}
	l.scripts = append(l.scripts, decoded(l.t, string(raw)))
	cmd.Stdin = bytes.NewReader(raw)
	return l.box.Run(ctx, cmd)
}

func decoded(t testing.TB, input string) string {
	t.Helper()
	text, err := base64.StdEncoding.DecodeString(input)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
