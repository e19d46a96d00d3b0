package ssh

import (
	"context"
	"os"
	"os/user"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/require"
)

const exampleConfig = `# comment
Include extra
Host st1 st2 !st3
  HostName %h.example.net
  Port=2222
  User "weft user"
Host *.lab !secret.lab
	IdentityFile ~/.ssh/lab%%_%r  # the key of the lab
	IdentityFile /keys/%h
	CertificateFile /keys/%h-cert
	IdentitiesOnly yes
	UserKnownHostsFile /k/one "/k/two words"
	GlobalKnownHostsFile none
	HostKeyAlias Alias
	ProxyJump me@jump1:2200,[fe80::1]:22
	ConnectTimeout 7
	IdentityAgent $MY_AGENT
Match originalhost inc host inc.example.net
	User matched
Match host 10.*
	User never
	Include never
Match all
	User everybody
	Port 2022
`

func readConfig(t *testing.T, name string) settings {
	t.Helper()
	r := &configReader{name: name, found: settings{}, glob: func(pattern string) ([]configText, error) {
		return []configText{newConfigText(pattern, "Host inc\n  HostName inc.example.net\nHost deep\n  Port 77\n")}, nil
	}}
	if err := r.read(newConfigText("config", exampleConfig), 0); err != nil {
		t.Fatal(err)
	}
	return r.found
}

func TestRoute(t *testing.T) {
	env := func(name string) string { return "/env/" + name }
	standard := []string{"/home/u/.ssh/id_ed25519", "/home/u/.ssh/id_ecdsa", "/home/u/.ssh/id_rsa"}
	known := []string{"/home/u/.ssh/known_hosts", "/home/u/.ssh/known_hosts2", "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}
	tests := []struct {
		target Target
		want   route
	}{
		{Target{Name: "st1"}, route{
			host: "st1.example.net", port: 2222, user: "weft user",
			identities: standard, knownHosts: known, agent: "/env/SSH_AUTH_SOCK",
		}},
		{Target{Name: "st3", User: "root", Port: 22}, route{
			host: "st3", port: 22, user: "root",
			identities: standard, knownHosts: known, agent: "/env/SSH_AUTH_SOCK",
		}},
		{Target{Name: "A.LAB"}, route{
			host: "A.LAB", port: 2022, user: "everybody",
			identities:   []string{"/home/u/.ssh/lab%_everybody", "/keys/A.LAB"},
			certificates: []string{"/keys/A.LAB-cert"}, identitiesOnly: true,
			knownHosts: []string{"/k/one", "/k/two words"}, keyAlias: "Alias",
			jumps: []string{"me@jump1:2200", "[fe80::1]:22"}, connectTimeout: 7 * time.Second,
			agent: "/env/MY_AGENT",
		}},
		{Target{Name: "secret.lab"}, route{
			host: "secret.lab", port: 2022, user: "everybody",
			identities: standard, knownHosts: known, agent: "/env/SSH_AUTH_SOCK",
		}},
		{Target{Name: "inc"}, route{
			host: "inc.example.net", port: 2022, user: "matched",
			identities: standard, knownHosts: known, agent: "/env/SSH_AUTH_SOCK",
		}},
		{Target{Name: "deep"}, route{
			host: "deep", port: 77, user: "everybody",
			identities: standard, knownHosts: known, agent: "/env/SSH_AUTH_SOCK",
		}},
	}
	for _, test := range tests {
		got, err := makeRoute(test.target, readConfig(t, test.target.Name), "/home/u", "u", env)
		if err != nil {
			t.Errorf("%s: %v", test.target.Name, err)
		} else if !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got\n%+v; want\n%+v", test.target.Name, got, test.want)
		}
	}
}

func TestRouteOfEffectiveSettings(t *testing.T) {
	s := parseEffective("user root\nhostname 10.0.0.1\nport 2022\nidentityfile ~/.ssh/a\nidentityfile ~/.ssh/b\nproxyjump none\nconnecttimeout none\nuserknownhostsfile /a /b\n")
	r, err := makeRoute(Target{Name: "x"}, s, "/h", "u", func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	if r.host != "10.0.0.1" || r.port != 2022 || r.user != "root" || len(r.jumps) != 0 || len(r.identities) != 2 || r.identities[1] != "/h/.ssh/b" || r.knownHosts[1] != "/b" {
		t.Errorf("got %+v", r)
	}
}

// Whatever the user's ssh_config says, the target wins.
func TestSSHIsAsked(t *testing.T) {
	require.Tool(t, require.OpenSSH, "ssh")
	r, err := NewDialer(Config{}).resolve(context.Background(), Target{Name: "weft-test.invalid", User: "u", Port: 2022})
	if err != nil {
		t.Fatal(err)
	}
	if r.host == "" || r.user != "u" || r.port != 2022 || len(r.knownHosts) == 0 {
		t.Errorf("got %+v", r)
	}
	if _, err := NewDialer(Config{}).resolve(context.Background(), Target{Name: "-oProxyCommand=true"}); err == nil {
		t.Error("an option passed for a name")
	}
}

// A configuration of ssh that runs a program which does not end is not waited for.
func TestSSHDoesNotEnd(t *testing.T) {
	name := filepath.Join(t.TempDir(), "ssh")
	if err := os.WriteFile(name, []byte("#!/bin/sh\nsleep 1000 &\necho $! >\"$0.pid\"\nwait\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		text, _ := os.ReadFile(name + ".pid") // it may not have begun
		if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	_, err := askSSH(t.Context(), name, Target{Name: "server", ConnectTimeout: time.Second})
	if err == nil || !strings.Contains(err.Error(), "ssh -G server: no answer within 1s") || !strings.Contains(hint.Of(err), "Match exec") {
		t.Errorf("got %v (%s)", err, hint.Of(err))
	}
}

func TestConfigRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"Host\n":                            "without a value",
		"\n\nUser \"open\n":                 "c:3: a quote is not closed",
		"Match exec true\n":                 "Match exec is not understood",
		"Match host\n":                      "without a pattern",
		"Include self\n":                    "deeper than",
		"Port 0\n":                          "not a port",
		"ProxyCommand nc %h %p\n":           "ProxyCommand is not supported",
		"ConnectTimeout soon\n":             "not a time",
		"ProxyCommand none\nPort many\n":    "not a port",
		"Host *\n ConnectTimeout = -2 \n":   "not a time",
		"Host other\n Port 1\nMatch user\n": "without a pattern",
	} {
		self := newConfigText("c", text)
		r := &configReader{name: "x", found: settings{}, glob: func(string) ([]configText, error) { return []configText{self}, nil }}
		err := r.read(self, 0)
		if err == nil {
			_, err = makeRoute(Target{Name: "x"}, r.found, "/h", "u", func(string) string { return "" })
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v; want …%s…", text, err, want)
		}
	}
}

func TestParseHop(t *testing.T) {
	for s, want := range map[string]Target{
		"jump":                   {Name: "jump"},
		"me@jump:22":             {Name: "jump", User: "me", Port: 22},
		"a@b@jump":               {Name: "jump", User: "a@b"},
		"[fe80::1]":              {Name: "fe80::1"},
		"[fe80::1]:2200":         {Name: "fe80::1", Port: 2200},
		"ssh://me@jump:2200/":    {Name: "jump", User: "me", Port: 2200},
		" spaced ":               {Name: "spaced"},
		"ssh://root@[::1]:65535": {Name: "::1", User: "root", Port: 65535},
	} {
		got, err := parseHop(s)
		if err != nil || got.Name != want.Name || got.User != want.User || got.Port != want.Port {
			t.Errorf("%q: got %+v, %v", s, got, err)
		}
	}
	for _, bad := range []string{"", "@", "h:0", "h:x", "h:70000"} {
		if got, err := parseHop(bad); err == nil {
			t.Errorf("%q: got %+v", bad, got)
		}
	}
}

func FuzzConfig(f *testing.F) {
	f.Add(exampleConfig, "a.lab")
	f.Add("Host a[b\\c*?\nPort 1\n", "a[b\\cde")
	f.Add("Include x\n", "x")
	f.Fuzz(func(t *testing.T, text, name string) {
		r := &configReader{name: name, found: settings{}, glob: func(string) ([]configText, error) {
			return []configText{newConfigText("x", "Host *\nUser u\n")}, nil
		}}
		if err := r.read(newConfigText("config", text), 0); err != nil {
			return
		}
		got, err := makeRoute(Target{Name: name, User: "fixed", Port: 4}, r.found, "/h", "u", func(string) string { return "" })
		if err == nil && (got.user != "fixed" || got.port != 4) {
			t.Errorf("ssh_config won over the target: %+v", got)
		}
	})
}

// Where the environment names no home directory, that of the user is meant.
func TestHomeOfTheUser(t *testing.T) {
	me, err := user.Current()
	if err != nil || me.HomeDir == "" {
		t.Skip("this user has no home directory: ", err)
	}
	t.Setenv("HOME", "")
	if home, err := homeDir(); err != nil || home != me.HomeDir {
		t.Errorf("%q, %v; want %q", home, err, me.HomeDir)
	}
}
