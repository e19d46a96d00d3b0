package switches_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/require"
	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

const (
	nxosLogin = `
leaf-a# terminal width 511
leaf-a# terminal length 0
leaf-a# terminal dont-ask
`
	comwareLogin = `
<leaf-b> screen-length disable
`
	nxosNothing = `leaf-a# show running-config
!Time: Sat Apr 23 01:47:52 2022
hostname leaf-a
interface Ethernet1/11
`
	comwareNothing = `<leaf-b> display current-configuration
#
 sysname leaf-b
#
`
)

func join(parts ...string) string {
	out := ""
	for _, p := range parts {
		out = strings.TrimRight(out, "\n") + "\n" + strings.TrimLeft(p, "\n")
	}
	return out
}

func open(t *testing.T, d *switches.OS, r *replay) *switches.Session {
	t.Helper()
	s, err := switches.Open(t.Context(), "leaf", d, r.dial, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	s.Log = func(line string) { t.Log(line) }
	t.Cleanup(func() { s.Close() })
	return s
}

func TestShow(t *testing.T) {
	r := newReplay(t, join(nxosLogin, `
leaf-a# show version
2030 Jan  2 03:04:05 leaf-a %$ VDC-1 %$ %DAEMON-2-SAYS: something else happened.
  NXOS: version 10.4(3) [Feature Release]
  Processor Board ID FDO1
leaf-a# show running-config
hostname leaf-a
leaf-a# show clock
                 ^
% Invalid command at '^' marker.
leaf-a#
`))
	s := open(t, nxos.OS(), r)
	out, err := s.Show(t.Context(), nxos.OS().Show)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := out["show version"], "  NXOS: version 10.4(3) [Feature Release]\n  Processor Board ID FDO1"; got != want {
		t.Errorf("show version: %q, want %q", got, want)
	}
	if got := out["show running-config"]; got != "hostname leaf-a" {
		t.Errorf("show running-config: %q", got)
	}
	_, err = s.Show(t.Context(), []string{"show clock"})
	var no *switches.RefusedError
	if !errors.As(err, &no) || no.Line != "show clock" {
		t.Errorf("a refused command: %v", err)
	}
}

// Lines that look like prompts, in a banner and in what is shown, are text; a
// prompt that has changed is not waited for in vain without saying so.
func TestPromptLikeLines(t *testing.T) {
	require.Long(t, "5 s")
	r := newReplay(t, join(nxosLogin, `
leaf-a# show running-config
hostname leaf-a
banner motd ^
 other#
 leaf-a(config)#
^
interface Ethernet1/1
leaf-a# show clock
10:00:00.000 UTC Mon Oct 19 2015
renamed#
`), strings.ReplaceAll(join(nxosLogin, `
leaf-a# show clock
10:00:01.000 UTC Mon Oct 19 2015
leaf-a#
`), "leaf-a", "renamed"))
	r.indented = true
	s := open(t, nxos.OS(), r)
	out, err := s.Show(t.Context(), []string{"show running-config"})
	if err != nil || !strings.HasSuffix(out["show running-config"], "interface Ethernet1/1") {
		t.Errorf("%q: %v", out, err)
	}
	s.Patience(5 * time.Second) // the prompt that is not waited for has come long before
	if _, err := s.Show(t.Context(), []string{"show clock"}); err == nil || !strings.Contains(err.Error(), `the prompt was "leaf-a#" and is "renamed#"`) {
		t.Errorf("a renamed switch: %v", err)
	}
	s.Patience(time.Minute)
	if out, err := s.Show(t.Context(), []string{"show clock"}); err != nil || !strings.Contains(out["show clock"], "10:00:01") {
		t.Errorf("after a new login: %q, %v", out, err)
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	r := newReplay(t, join(nxosLogin, "leaf-a# show version\n"+hangs), join(nxosLogin, "leaf-a# show version\nagain\nleaf-a#"))
	ctx, cancel := context.WithCancel(t.Context())
	r.hung = cancel // not before the command was typed
	s := open(t, nxos.OS(), r)
	if _, err := s.Show(ctx, []string{"show version"}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled command: %v", err)
	}
	out, err := s.Show(t.Context(), []string{"show version"})
	if err != nil || out["show version"] != "again" {
		t.Errorf("after a new login: %q, %v", out, err)
	}
}

func TestTimeout(t *testing.T) {
	r := newReplay(t, join(nxosLogin, "leaf-a# show version\n"+hangs))
	s := open(t, nxos.OS(), r)
	s.Patience(50 * time.Millisecond)
	if _, err := s.Show(t.Context(), []string{"show version"}); err == nil || !strings.Contains(err.Error(), "no prompt within") {
		t.Errorf("a command without end: %v", err)
	}
}

// A switch that does not end its answer, or speaks without being asked, is not listened to
// for ever: all of it would be kept.
func TestFlood(t *testing.T) {
	require.Long(t, "12 s of waiting")
	t.Parallel()
	for _, script := range []string{
		join(nxosLogin, "leaf-a# show version\n"+floods),
		"leaf-a# terminal width 511\n" + floods,
	} {
		r := newReplay(t, script)
		s, err := switches.Open(t.Context(), "leaf", nxos.OS(), r.dial, time.Hour)
		if err == nil {
			_, err = s.Show(t.Context(), []string{"show version"})
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "it said more than 32 MiB") {
			t.Errorf("got %v", err)
		}
	}
}

// An answer that a switch gave up halfway is no reading, however much of it came: what it
// lacks would be planned.
func TestCutShort(t *testing.T) {
	for _, end := range []string{"% Memory exhausted, output truncated", "ERROR: Failed to retrieve configuration"} {
		answers := ""
		for _, cmd := range nxos.OS().Show {
			answers += "leaf-a# " + cmd + "\n"
			if cmd == "show version" {
				answers += "  NXOS: version 10.4(3)\n"
			}
			if cmd == "show running-config" {
				answers += "hostname leaf-a\nfeature lldp\ninterface Ethernet1/1\n  mtu 9216\ninterface Ethernet1/2\n  mtu 9216\n" + end + "\n"
				break
			}
		}
		s := open(t, nxos.OS(), newReplay(t, join(nxosLogin, answers, rest(t))))
		_, err := s.Read(t.Context(), switches.Intent{})
		if err == nil || !strings.Contains(err.Error(), "show running-config: the answer is not whole: it ends in \""+end) {
			t.Errorf("got %v", err)
		}
	}
}

// rest are the lines after the running configuration, with no answers.
func rest(t *testing.T) (text string) {
	t.Helper()
	all := nxos.OS().Show
	for _, cmd := range append(all[slices.Index(all, "show running-config")+1:], "") {
		text += "leaf-a# " + cmd + "\n"
	}
	return text
}

// A switch that pages in spite of everything is not said to be silent.
func TestPaged(t *testing.T) {
	require.Long(t, "10 s of waiting")
	t.Parallel()
	r := newReplay(t, join(nxosLogin, "leaf-a# show version\nNX-OS\n--More--\n"+hangs))
	s, err := switches.Open(t.Context(), "leaf", nxos.OS(), r.dial, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Show(t.Context(), []string{"show version"})
	if err == nil || !strings.Contains(err.Error(), "it waits for a key: its output is paged") || hint.Of(err) == "" {
		t.Errorf("got %v", err)
	}
}

// A drip is a line over which each byte comes by itself, and a prompt has colours.
type drip struct {
	io.ReadWriteCloser
	left []byte
}

func (d *drip) Read(p []byte) (int, error) {
	if len(d.left) == 0 {
		b := make([]byte, 256)
		n, err := d.ReadWriteCloser.Read(b)
		if err != nil {
			return n, err
		}
		d.left = bytes.ReplaceAll(b[:n], []byte("#"), []byte("\x1b[1;32m#\x1b[0m\x1b]0;leaf\a"))
	}
	p[0], d.left = d.left[0], d.left[1:]
	return 1, nil
}

// What terminals obey is no part of what a switch says, also where it comes in pieces.
func TestDrip(t *testing.T) {
	r := newReplay(t, join(nxosLogin, "leaf-a# show version\nNX-OS\nleaf-a#"))
	dial := func(ctx context.Context) (io.ReadWriteCloser, error) {
		conn, err := r.dial(ctx)
		return &drip{ReadWriteCloser: conn}, err
	}
	s, err := switches.Open(t.Context(), "leaf", nxos.OS(), dial, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if out, err := s.Show(t.Context(), []string{"show version"}); err != nil || out["show version"] != "NX-OS" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestQuestion(t *testing.T) {
	r := newReplay(t, join(comwareLogin, `
<leaf-b> reset saved-configuration
The saved configuration will be erased. Are you sure? [Y/N]:
n
<leaf-b>
`))
	s := open(t, comware.OS(), r)
	_, err := s.Show(t.Context(), []string{"reset saved-configuration"})
	var no *switches.RefusedError
	if !errors.As(err, &no) || !strings.Contains(no.Reply, "Are you sure") {
		t.Errorf("a question: %v", err)
	}
}

func TestSave(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		driver *switches.OS
		script string
		ok     bool
	}{
		{nxos.OS(), join(nxosLogin, "leaf-a# copy running-config startup-config\n[########################################] 100%\nCopy complete, now saving to disk (please wait)...\nCopy complete.\nleaf-a#"), true},
		{nxos.OS(), join(nxosLogin, "leaf-a# copy running-config startup-config\nConfiguration update aborted: request was aborted\nleaf-a#"), false},
		{nxos.OS(), join(nxosLogin, "leaf-a# copy running-config startup-config\n[########################################] 100%Configuration update aborted: timed out\nleaf-a#"), false},
		{comware.OS(), join(comwareLogin, "<leaf-b> save force\nValidating file. Please wait....\nConfiguration is saved to device successfully.\n<leaf-b>"), true},
		{comware.OS(), join(comwareLogin, "<leaf-b> save force\nThe file name is invalid(does not end with .cfg).\n<leaf-b>"), false},
	} {
		s := open(t, c.driver, newReplay(t, c.script))
		if err := s.Save(t.Context()); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.script, err)
		}
	}
}

// The text of a banner is no configuration, whatever it looks like.
func TestBannerIsNoConfiguration(t *testing.T) {
	nx, err := nxos.OS().Parse(map[string]string{"show running-config": "banner motd ^\nhostname guest\nfeature lldp\ninterface Ethernet1/9\n  mtu 9216\n^\nhostname leaf-a\ninterface Ethernet1/1\n"})
	if err != nil || nx.Facts.Hostname != "leaf-a" || nx.LLDP || len(nx.Ports) != 1 || nx.Ports[0].Name != "Ethernet1/1" {
		t.Errorf("%v: %+v", err, nx)
	}
	cw, err := comware.OS().Parse(map[string]string{"display current-configuration": "#\n header motd %\n#\n lldp global enable\n#\ninterface HundredGigE1/0/9\n%\n#\n sysname leaf-b\n#\ninterface HundredGigE1/0/1\n#\n"})
	if err != nil || cw.Facts.Hostname != "leaf-b" || cw.LLDP || len(cw.Ports) != 1 || cw.Ports[0].Name != "HundredGigE1/0/1" {
		t.Errorf("%v: %+v", err, cw)
	}
}
