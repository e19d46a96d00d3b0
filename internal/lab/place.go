//go:build unix

package lab

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"

	"weft/internal/lab/simserver"
)

// A place is the folder of a lab.
type place struct {
	dir  string // .weft/lab
	held **os.File
}

func newPlace(dir string) place {
	return place{filepath.Join(dir, ".weft", "lab"), new(*os.File)}
}

func (p place) file(name string) string    { return filepath.Join(p.dir, name) }
func (p place) root(host string) string    { return filepath.Join(p.dir, "servers", host) }
func (p place) journal(host string) string { return filepath.Join(p.dir, "log", host) }

// CreateLog creates the log of a lab that runs in the background, in place of its last one.
func CreateLog(dir string) (*os.File, error) {
	p := newPlace(dir)
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of the lab: %w", err)
	}
	return os.OpenFile(p.file("lab.log"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
}

// errLocked says that another process has the lab's folder.
var errLocked = errors.New("a lab is being started or stopped in this directory")

// lock takes the folder for this process.
func (p place) lock() error {
	if err := os.MkdirAll(p.dir, 0o700); err != nil {
		return fmt.Errorf("folder of the lab: %w", err)
	}
	f, err := os.OpenFile(p.file("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("folder of the lab: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return errLocked
		}
		return fmt.Errorf("folder of the lab: locking %s: %w", f.Name(), err)
	}
	*p.held = f
	return nil
}

func (p place) unlock() error {
	if *p.held == nil {
		return nil
	}
	return (*p.held).Close()
}

// reap ends agents that a lab left running when it crashed.
func (p place) reap() {
	roots, err := os.ReadDir(p.file("servers"))
	if err != nil {
		return // there is nothing
	}
	for _, r := range roots {
		simserver.Reap(p.root(r.Name()))
	}
}

// clean takes the files of a lab away; the output of services stays until the
// next lab starts.
func (p place) clean() error {
	var errs []error
	for _, name := range []string{"lab.json", "ssh_config", "known_hosts", "key", "servers"} {
		errs = append(errs, os.RemoveAll(p.file(name)))
	}
	return errors.Join(errs...)
}

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
func (p place) write(s State, devices []*device, key []byte) error {
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
	tmp := p.file(name + ".new")
	if err := os.WriteFile(tmp, content, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, p.file(name))
}

// patternless are names that ssh_config(5) takes as one word, and as no pattern.
var patternless = regexp.MustCompile(`^[A-Za-z0-9_:\[][A-Za-z0-9_.:%\[\]-]*$`)

// sshConfig leads every device's name to its port on loopback, and every other
// name to a port where nobody listens: whoever uses this file stays here.
func (p place) sshConfig(devices []*device) (string, error) {
	abs, err := filepath.Abs(p.dir)
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
	b.WriteString("# " + Warning + "\n")
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

// read reads lab.json; nil: there is none.
func (p place) read() (*State, error) {
	data, err := os.ReadFile(p.file("lab.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading about the lab: %w", err)
	}
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%s is not what a lab wrote: %w", p.file("lab.json"), err)
	}
	return &s, nil
}
