package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/slice"
)

// A route is where a name leads, and what proves both ends.
type route struct {
	host           string
	port           int
	user           string
	identities     []string // private key files
	certificates   []string // next to IDENTITY-cert.pub
	identitiesOnly bool     // offer no other keys of the agent
	agent          string   // its socket; "" if there is none
	knownHosts     []string // files
	keyAlias       string   // name in known_hosts instead of host and port
	jumps          []string // [user@]host[:port], first hop first
	connectTimeout time.Duration
}

// resolve finds the route of a target. What the target says wins over
// ssh_config.
func (d *Dialer) resolve(ctx context.Context, t Target) (route, error) {
	found, err := d.settings(ctx, t)
	if err != nil {
		return route{}, err
	}
	home, err := homeDir()
	if err != nil {
		return route{}, fmt.Errorf("home directory: %w", err)
	}
	return makeRoute(t, found, home, localUser(), os.Getenv)
}

// homeDir is the home directory: that of the user where the environment names none,
// as in containers, for OpenSSH does without as well.
func homeDir() (string, error) {
	home, err := os.UserHomeDir()
	if err == nil {
		return home, nil
	}
	if me, late := user.Current(); late == nil && me.HomeDir != "" {
		return me.HomeDir, nil
	}
	return "", hint.Wrap(err, "set HOME to where .ssh is")
}

// settings asks "ssh -G", which knows all of ssh_config. A file that was
// named explicitly, and a machine without ssh, are read by configReader.
func (d *Dialer) settings(ctx context.Context, t Target) (settings, error) {
	if d.config.ConfigFile == "" {
		if ssh, err := exec.LookPath("ssh"); err == nil {
			return askSSH(ctx, ssh, t)
		}
	}
	files := []string{d.config.ConfigFile}
	base := filepath.Dir(d.config.ConfigFile)
	if d.config.ConfigFile == "" {
		home, err := homeDir()
		if err != nil {
			return nil, fmt.Errorf("home directory: %w", err)
		}
		base = filepath.Join(home, ".ssh")
		files = []string{filepath.Join(base, "config"), "/etc/ssh/ssh_config"}
	}
	r := &configReader{name: t.Name, user: t.User, glob: d.globber(base), found: settings{}}
	for _, name := range files {
		text, err := d.text(name)
		if errors.Is(err, fs.ErrNotExist) && d.config.ConfigFile == "" {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := r.read(text, 0); err != nil {
			return nil, err
		}
	}
	return r.found, nil
}

// askSSH lets ssh resolve its own configuration, which may run programs (Match exec), for as
// long as a login may take.
func askSSH(ctx context.Context, ssh string, t Target) (settings, error) {
	args := []string{"-G"}
	if t.User != "" {
		args = append(args, "-l", t.User)
	}
	if t.Port != 0 {
		args = append(args, "-p", strconv.Itoa(t.Port))
	}
	limit := pick(t.ConnectTimeout, defaultConnectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("no answer within %s", limit))
	defer cancel()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, ssh, append(args, "--", t.Name)...)
	cmd.Stderr = &stderr
	cmd.WaitDelay = time.Second // for what it has left running
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return nil, hint.Wrap(fmt.Errorf("ssh -G %s: %w", t.Name, context.Cause(ctx)), "it is what ssh makes of ~/.ssh/config: does each Match exec in there end?")
	}
	if err != nil {
		return nil, fmt.Errorf("ssh -G %s: %w: %s", t.Name, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return parseEffective(string(out)), nil
}

// globber finds the files of an Include below base.
func (d *Dialer) globber(base string) func(string) ([]configText, error) {
	return func(pattern string) ([]configText, error) {
		if home, err := homeDir(); err == nil && strings.HasPrefix(pattern, "~/") {
			pattern = filepath.Join(home, pattern[2:])
		}
		if !filepath.IsAbs(pattern) {
			pattern = filepath.Join(base, pattern)
		}
		names, err := filepath.Glob(pattern)
		if err != nil {
			return nil, fmt.Errorf("including %s: %w", pattern, err)
		}
		var files []configText
		for _, name := range names {
			text, err := d.text(name)
			if err != nil {
				return nil, err
			}
			files = append(files, text)
		}
		return files, nil
	}
}

// text reads a configuration file once.
func (d *Dialer) text(name string) (configText, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text, ok := d.texts[name]; ok {
		return text, nil
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return configText{}, err
	}
	d.texts[name] = newConfigText(name, string(raw))
	return d.texts[name], nil
}

// makeRoute is the route that the settings describe. It is pure.
func makeRoute(t Target, s settings, home, local string, env func(string) string) (route, error) {
	r := route{
		host: expandHost(s.first("hostname"), t.Name),
		port: t.Port, user: t.User,
		keyAlias:       s.first("hostkeyalias"),
		identitiesOnly: strings.EqualFold(s.first("identitiesonly"), "yes"),
	}
	if r.user == "" {
		if r.user = s.first("user"); r.user == "" {
			r.user = local
		}
	}
	if r.port == 0 {
		r.port = 22
		if p := s.first("port"); p != "" {
			n, err := strconv.Atoi(p)
			if err != nil || n < 1 || n > 65535 {
				return r, fmt.Errorf("ssh_config: Port %s is not a port", p)
			}
			r.port = n
		}
	}
	if p := s.first("proxycommand"); p != "" && p != "none" && s.first("proxyjump") == "" {
		return r, hint.Wrap(fmt.Errorf("ssh_config: ProxyCommand is not supported"), "say ProxyJump instead of ProxyCommand for %s", t.Name)
	}
	if j := s.first("proxyjump"); j != "" && j != "none" {
		r.jumps = strings.Split(j, ",")
	}
	var err error
	if r.connectTimeout, err = configDuration(s.first("connecttimeout")); err != nil {
		return r, err
	}
	expand := func(p string) string { return expandPath(p, t.Name, r, home, local) }
	for _, f := range orDefault(s["identityfile"], "~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa") {
		if f != "none" {
			r.identities = append(r.identities, expand(f))
		}
	}
	r.certificates = append(r.certificates, slice.Map(s["certificatefile"], expand)...)
	known := orDefault(configFields(s.first("userknownhostsfile")), "~/.ssh/known_hosts", "~/.ssh/known_hosts2")
	known = append(known, orDefault(configFields(s.first("globalknownhostsfile")), "/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2")...)
	for _, f := range known {
		if f != "none" {
			r.knownHosts = append(r.knownHosts, expand(f))
		}
	}
	switch a := s.first("identityagent"); {
	case a == "" || a == "SSH_AUTH_SOCK":
		r.agent = env("SSH_AUTH_SOCK")
	case strings.HasPrefix(a, "$"):
		r.agent = env(strings.Trim(a[1:], "{}"))
	case a != "none":
		r.agent = expand(a)
	}
	return r, nil
}

// expandPath replaces ~ and the tokens that make sense in a file name.
func expandPath(p, name string, r route, home, local string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		p = home + p[1:]
	}
	return strings.NewReplacer("%%", "%", "%d", home, "%h", r.host, "%n", name,
		"%p", strconv.Itoa(r.port), "%r", r.user, "%u", local).Replace(p)
}

// configDuration reads a time as ssh_config writes it: seconds, or a number
// with a unit.
func configDuration(s string) (time.Duration, error) {
	if s == "" || s == "none" {
		return 0, nil
	}
	if n, err := strconv.Atoi(s); err == nil && n >= 0 {
		return time.Duration(n) * time.Second, nil
	}
	d, err := time.ParseDuration(strings.ToLower(s))
	if err != nil || d < 0 {
		return 0, fmt.Errorf("ssh_config: ConnectTimeout %s is not a time", s)
	}
	return d, nil
}

// configFields splits a list of files.
func configFields(s string) []string {
	words, err := configWords("list " + s)
	if err != nil || len(words) == 0 {
		return nil
	}
	return words[1:]
}

func orDefault(values []string, defaults ...string) []string {
	if len(values) == 0 {
		return defaults
	}
	return values
}

// localUser is who runs weft; "" if the system does not say.
func localUser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
