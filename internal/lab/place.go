//go:build unix

package lab

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/crypto/ssh"

	"weft/internal/labctl"
)

// A place is the folder of a lab.
type place struct{ labctl.Place }

func (p place) journal(host string) string { return filepath.Join(p.Dir(), "log", host) }

// newKey makes the key with which everybody logs in, as a file and for use.
func newKey() ([]byte, ssh.Signer, error) {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making the lab's key: %w", err)
	}
	block, err := ssh.MarshalPrivateKey(private, "weft lab (SIMULATED)")
	if err != nil {
		return nil, nil, fmt.Errorf("making the lab's key: %w", err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("making the lab's key: %w", err)
	}
	return pem.EncodeToMemory(block), signer, nil
}

// write writes how to reach the devices; lab.json comes last.
func (p place) write(s labctl.State, devices []*device, key []byte) error {
	var known strings.Builder
	for _, d := range devices {
		known.WriteString(d.name + " " + string(ssh.MarshalAuthorizedKey(d.hostKey)))
	}
	config, err := p.sshConfig(devices)
	if err != nil {
		return err
	}
	state, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	for _, f := range []struct {
		name    string
		content []byte
	}{{"key", key}, {"known_hosts", []byte(known.String())}, {"ssh_config", []byte(config)}, {"lab.json", append(state, '\n')}} {
		if err := p.put(f.name, f.content); err != nil {
			return err
		}
	}
	return nil
}

// put replaces a file of the lab, whole or not at all.
func (p place) put(name string, content []byte) error {
	tmp := p.File(name + ".new")
	if err := os.WriteFile(tmp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, p.File(name))
}

// patternless are names that ssh_config(5) takes as one word, and as no pattern.
var patternless = regexp.MustCompile(`^[A-Za-z0-9_:\[][A-Za-z0-9_.:%\[\]-]*$`)

// sshConfig leads every device's name to its port on loopback, and every other
// name to a port where nobody listens: whoever uses this file stays here.
func (p place) sshConfig(devices []*device) (string, error) {
	abs, err := filepath.Abs(p.Dir())
	if err != nil {
		return "", err
	}
	if strings.ContainsAny(abs, "\"\n\r$\\") {
		return "", fmt.Errorf("folder %q: its name cannot be written into an ssh_config", abs)
	}
	quote := func(name string) string {
		return `"` + strings.ReplaceAll(filepath.Join(abs, name), "%", "%%") + `"`
	}
	var b strings.Builder
	b.WriteString("# " + labctl.Warning + "\n")
	for _, d := range devices {
		if !patternless.MatchString(d.name) {
			return "", fmt.Errorf("host %q: its name cannot be written into an ssh_config", d.name)
		}
		_, port, _ := strings.Cut(d.address(), ":")
		fmt.Fprintf(&b, "Host %s\n  Port %s\n  HostKeyAlias %s\n", d.name, port, d.name)
	}
	fmt.Fprintf(&b, "Host *\n  HostName 127.0.0.1\n  Port 1\n  IdentityFile %s\n  IdentitiesOnly yes\n  IdentityAgent none\n"+
		"  UserKnownHostsFile %s\n  GlobalKnownHostsFile /dev/null\n  StrictHostKeyChecking yes\n", quote("key"), quote("known_hosts"))
	return b.String(), nil
}
