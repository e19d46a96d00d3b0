package leaf_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh/knownhosts"

	"weft/internal/hint"
	"weft/internal/lab/simswitch"
	"weft/internal/lab/sshd"
	"weft/internal/remote/ssh"
	"weft/plan"
	"weft/switches"
)

// overSSH puts the switch behind an SSH server, to which weft logs in with the
// password.
func (l *rig) overSSH(config sshd.Config, password string) switches.Dial {
	l.t.Helper()
	key, err := sshd.NewHostKey()
	if err != nil {
		l.t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		l.t.Fatal(err)
	}
	config.HostKey = key
	ctx, stop := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := sshd.Serve(ctx, ln, config, l.sw); err != nil {
			l.t.Errorf("serving: %v", err)
		}
	})
	l.t.Cleanup(serving.Wait)
	l.t.Cleanup(stop)
	addr := ln.Addr().(*net.TCPAddr)
	dir := l.t.TempDir()
	known := filepath.Join(dir, "known_hosts")
	line := knownhosts.Line([]string{knownhosts.Normalize(addr.String())}, key.PublicKey())
	text := "Host *\n  HostName 127.0.0.1\n  UserKnownHostsFile " + known + "\n  IdentityFile none\n"
	for file, content := range map[string]string{known: line + "\n", filepath.Join(dir, "config"): text} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
	dialer := ssh.NewDialer(ssh.Config{ConfigFile: filepath.Join(dir, "config")})
	return func(ctx context.Context) (io.ReadWriteCloser, error) {
		c, err := dialer.DialNew(ctx, ssh.Target{Name: "leaf.example.net", Port: addr.Port, User: "netops",
			Password: func() (string, error) { return password, nil }})
		if err != nil {
			return nil, err
		}
		term, err := c.Terminal(ctx, 511, 1000)
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		return secured{term, c}, nil
	}
}

// A secured terminal ends its connection with itself.
type secured struct {
	io.ReadWriteCloser
	conn io.Closer
}

func (s secured) Close() error { return errors.Join(s.ReadWriteCloser.Close(), s.conn.Close()) }

// A password that is not the right one changes nothing, and the message says
// who was refused where.
func TestSwitchWrongPassword(t *testing.T) {
	eachOSOverSockets(t, func(t *testing.T, os string) {
		l := newRig(t, os)
		before := l.sw.RunningConfig()
		l.open = l.overSSH(sshd.Config{Password: func(user, pw string) bool { return user == "netops" && pw == "right" }}, "wrong")
		p, res, err := l.run()
		if res.Devices[0].Outcome != plan.DeviceUnchanged && res.Devices[0].Outcome != plan.DeviceUnreachable || err == nil || l.sw.RunningConfig() != before {
			t.Errorf("%s: %v", res.Devices[0].Outcome, err)
		}
		said := ""
		for _, d := range p.Devices {
			said += d.Address + ": " + d.Error + "\n" + d.Hint + "\n"
		}
		if err != nil {
			said += err.Error() + "\n" + hint.Of(err)
		}
		for _, want := range []string{`switch\.leaf`, `login as netops`, `unable to authenticate`, `is the password that of netops there`} {
			if !regexp.MustCompile(want).MatchString(said) {
				t.Errorf("it does not say %q: %s", want, said)
			}
		}
	})
}

// motd is what people write above a prompt, with lines that look like one.
const motd = `
#############################################
#  Authorized access only  [Y/N]            #
#############################################
leaf1#
<leaf1>
[leaf1]
leaf1(config)#
Contact: noc#
`

// A banner, before the login and after it, does not pass for a prompt; nor does
// the same text in the running configuration.
func TestSwitchBanner(t *testing.T) {
	t.Parallel()
	eachOSOverSockets(t, func(t *testing.T, os string) {
		lines := map[string]string{
			"nxos":    "banner motd ^\nleaf1#\nleaf(config)#\nleaf-x#\n^\n",
			"comware": "header motd %\n<leaf1>\n[leaf1]\n%\n",
		}[os]
		_, want, _ := newRigOf(t, simswitch.Spec{OS: os, Hostname: "leaf", Serial: "FDO1", Config: lines}).reference()
		spec := simswitch.Spec{OS: os, Hostname: "leaf", Serial: "FDO1", Motd: motd, Config: lines}
		if !strings.Contains(want, "leaf1") {
			t.Fatal(want)
		}
		crumbs, whole := newRigOf(t, spec), newRigOf(t, spec)
		crumbs.crumbs = true
		whole.open = whole.overSSH(sshd.Config{Banner: motd, Password: func(string, string) bool { return true }}, "right")
		for how, l := range map[string]*rig{"line by line": crumbs, "over SSH": whole} {
			if _, res, err := l.run(); err != nil || res.Devices[0].Outcome != plan.DeviceChanged || l.sw.RunningConfig() != want {
				t.Errorf("%s: %s: %v\n%s\n%s", how, res.Devices[0].Outcome, err, l.heard(), l.sw.RunningConfig())
			}
			p, _, err := l.run()
			if err != nil || len(p.Steps) != 0 {
				t.Errorf("%s: then: %d steps: %v", how, len(p.Steps), err)
			}
		}
	})
}
