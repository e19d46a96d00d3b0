//go:build linux

package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"weft/internal/require"
)

// TestOpenSSH runs testdata/openssh/*.txtar: weft as people run it, against
// OpenSSH's own server with the limits it has by default. There are two
// machines, s and t; see sshRig.
//
// In every file, @S@ and @T@ are their home directories, and so are $S and $T in
// scripts. Below each, full is a full disk and ro cannot be written.
func TestOpenSSH(t *testing.T) {
	require.Long(t, "20 s")
	t.Parallel()
	needSSHD(t)
	keepKernel(t, "/proc/sys/kernel/printk_ratelimit_burst")
	testscript.Run(t, testscript.Params{
		Dir: "testdata/openssh",
		Setup: func(e *testscript.Env) error {
			if err := fill(e.WorkDir, "@S@", filepath.Join(e.WorkDir, "s"), "@T@", filepath.Join(e.WorkDir, "t")); err != nil {
				return err
			}
			rig, err := newSSHRig(e.WorkDir)
			if err != nil {
				return err
			}
			e.Defer(rig.stop)
			e.Values[sshRigKey{}] = rig
			for _, name := range []string{"s", "t"} {
				m, err := rig.start(name)
				if err != nil {
					return err
				}
				e.Setenv(strings.ToUpper(name), m.dir)
			}
			e.Setenv("NO_COLOR", "1")
			e.Setenv("HOME", rig.home)
			e.Setenv("PATH", rig.bin+":"+e.Getenv("PATH"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":         exits,
			"sub":           substitute,
			"without":       without,
			"killed-when":   killedWhen,
			"swap-host-key": swapHostKey,
			"sudoers":       sudoers,
			"same-unknowns": sameUnknowns,
			"restart": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 1 {
					ts.Fatalf("usage: restart MACHINE")
				}
				ts.Check(ts.Value(sshRigKey{}).(*sshRig).restart(args[0]))
			},
		},
	})
}

// sshRigKey is where a script keeps its rig.
type sshRigKey struct{}

// keepKernel puts back what a script that fails may leave behind.
func keepKernel(t *testing.T, path string) {
	before, err := os.ReadFile(path)
	if err != nil {
		t.Skipf("the kernel lacks what scripts change: %v", err)
	}
	t.Cleanup(func() {
		if err := os.WriteFile(path, before, 0o644); err != nil {
			t.Error(err)
		}
	})
}

// fill replaces placeholders in all files below a directory.
func fill(dir string, oldnew ...string) error {
	r := strings.NewReplacer(oldnew...)
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(path, []byte(r.Replace(string(text))), 0o644)
	})
}

// needSSHD skips, or fails where WEFT_REQUIRE holds openssh, what cannot run
// here.
func needSSHD(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		require.Missing(t, require.OpenSSH, "OpenSSH's server changes users and namespaces: run as root")
	}
	for _, name := range []string{sshdPath, "ssh", "unshare", "sudo"} {
		if _, err := exec.LookPath(name); err != nil {
			require.Missing(t, require.OpenSSH, "%v: install openssh-server, openssh-client, sudo and util-linux", err)
		}
	}
	if out, err := exec.Command("unshare", "--mount", "--pid", "--fork", "true").CombinedOutput(); err != nil {
		require.Missing(t, require.OpenSSH, "no namespaces, and this machine is not to be touched: %v: %s", err, out)
	}
}

const sshdPath = "/usr/sbin/sshd"

// An sshRig is a client's home, and machines that it can log in to as root and as weft, for
// whom sudo has the rules that a script gives it. Each is an OpenSSH server in namespaces of its own, with which all of its processes
// end: what it keeps is below the test's directory, and what a restart empties
// is in memory. The kernel is that of this machine.
type sshRig struct {
	home string // with .ssh
	bin  string // with an ssh that reads home's config
	dir  string

	config, known strings.Builder
	machines      []*sshMachine
}

// An sshMachine is one server.
type sshMachine struct {
	address string
	dir     string // its home; below it full is a full disk, and ro cannot be written
	stop    func() // pulls the plug
	pid     int    // whose only child is the server
}

func newSSHRig(dir string) (*sshRig, error) {
	r := &sshRig{home: filepath.Join(dir, "home"), bin: filepath.Join(dir, "bin"), dir: dir}
	// Where machineScript mounts.
	for _, d := range []string{r.bin, filepath.Join(r.home, ".ssh"), "/var/lib/weft", "/run/weft", "/run/sshd"} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, err
		}
	}
	key, err := writeKey(r.file("id_ed25519"))
	if err != nil {
		return nil, err
	}
	client, err := exec.LookPath("ssh")
	if err != nil {
		return nil, err
	}
	return r, errors.Join(
		os.WriteFile(filepath.Join(dir, "authorized_keys"), ssh.MarshalAuthorizedKey(key), 0o600),
		// To ssh the home directory is that of the password file.
		os.WriteFile(filepath.Join(r.bin, "ssh"), []byte("#!/bin/sh\nexec "+client+" -F "+r.file("config")+" \"$@\"\n"), 0o755))
}

// file is a file of the client's ssh.
func (r *sshRig) file(name string) string { return filepath.Join(r.home, ".ssh", name) }

// stop stops all machines.
func (r *sshRig) stop() {
	for _, m := range r.machines {
		m.stop()
	}
}

// restart pulls the plug of a machine and starts it again.
func (r *sshRig) restart(name string) error {
	for _, m := range r.machines {
		if filepath.Base(m.dir) == name {
			m.stop()
			return r.serve(m)
		}
	}
	return fmt.Errorf("there is no machine %s", name)
}

// start starts a machine that is known by all of the names.
func (r *sshRig) start(names ...string) (*sshMachine, error) {
	m := &sshMachine{dir: filepath.Join(r.dir, names[0]), stop: func() {}}
	for _, d := range []string{"etc", "etc/sysctl.d", "lib", "sbin", "full", "ro"} {
		if err := os.MkdirAll(filepath.Join(m.dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	key, err := writeKey(filepath.Join(m.dir, "etc", "host_key"))
	if err != nil {
		return nil, err
	}
	id := make([]byte, 16)
	rand.Read(id) // never fails
	if err := os.WriteFile(filepath.Join(m.dir, "etc", "machine-id"), fmt.Appendf(nil, "%x\n", id), 0o644); err != nil {
		return nil, err
	}
	if err := m.enrol(); err != nil {
		return nil, err
	}
	// OpenSSH takes no port 0: the kernel is asked for a free one. An operator
	// may be faster.
	for range 5 {
		free, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		m.address = free.Addr().String()
		free.Close()
		if err = r.serve(m); err == nil {
			r.machines = append(r.machines, m)
			return m, r.describe(m, key, names)
		}
	}
	return nil, err
}

// enrol makes the user weft, and root's rules of sudo.
func (m *sshMachine) enrol() error {
	for name, more := range map[string]string{"passwd": "weft:x:4711:65534::/:/bin/sh\n", "shadow": "weft:*:19000:0:99999:7:::\n"} {
		text, err := os.ReadFile("/etc/" + name)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(m.dir, "etc", name), append(text, more...), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(m.dir, "etc", "sudoers"), nil, 0o440)
}

// machineScript turns the namespaces into the machine of directory $1, and
// runs the rest in it.
const machineScript = `set -e
for d in /run/weft /run/sshd; do mount -t tmpfs -o mode=0755 tmpfs "$d"; done
mount --bind "$1/lib" /var/lib/weft
mount --bind "$1/etc/sysctl.d" /etc/sysctl.d
mount --bind "$1/etc/machine-id" /etc/machine-id
mount -t tmpfs -o size=64k tmpfs "$1/full"; head -c 1m /dev/zero >"$1/full/filler" 2>/dev/null || true
mount --bind "$1/sbin" /usr/local/sbin
for f in passwd shadow sudoers; do mount --bind "$1/etc/$f" "/etc/$f"; done
install -m 0644 "$1/../authorized_keys" /run/sshd/keys
mount -t tmpfs tmpfs "$1/ro"; echo before >"$1/ro/file"; mount -o remount,ro "$1/ro"
shift; exec "$@"`

// serve starts a machine's server and waits until it listens.
func (r *sshRig) serve(m *sshMachine) error {
	etc := filepath.Join(m.dir, "etc")
	config := strings.Join([]string{
		"ListenAddress " + m.address,
		"HostKey " + filepath.Join(etc, "host_key"),
		"AuthorizedKeysFile /run/sshd/keys",
		"StrictModes no", "UsePAM no", "PermitRootLogin yes", "PasswordAuthentication no", "PidFile none",
		"AcceptEnv LANG LC_*", "Subsystem sftp internal-sftp", // as Debian has it
		"SetEnv HOME=" + m.dir, // without start-up files of root's
	}, "\n") + "\n"
	if err := os.WriteFile(filepath.Join(etc, "sshd_config"), []byte(config), 0o600); err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(etc, "sshd.log"))
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
		"sh", "-c", machineScript, "sh", m.dir, sshdPath, "-D", "-e", "-f", filepath.Join(etc, "sshd_config"))
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }()
	for {
		c, err := net.Dial("tcp", m.address)
		if err == nil {
			m.pid, m.stop = cmd.Process.Pid, func() { cmd.Process.Kill(); <-ended }
			return c.Close()
		}
		select {
		case <-ended:
			text, _ := os.ReadFile(log.Name())
			return fmt.Errorf("OpenSSH's server did not start: %s", bytes.TrimSpace(text))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// settles waits until nothing is at work on the machine that a login has left behind,
// also one that was lost.
func (m *sshMachine) settles(t *testing.T) {
	t.Helper()
	children := func(pid string) []string {
		text, err := os.ReadFile(filepath.Join("/proc", pid, "task", pid, "children"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(text))
	}
	server := children(strconv.Itoa(m.pid))
	if len(server) != 1 {
		t.Fatalf("the machine's server is %q", server)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left := children(server[0])
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("processes are left on the machine: %q", left)
		}
	}
}

// describe writes what the client needs to find and to trust a machine.
func (r *sshRig) describe(m *sshMachine, key ssh.PublicKey, names []string) error {
	_, port, err := net.SplitHostPort(m.address)
	if err != nil {
		return err
	}
	for _, name := range names {
		fmt.Fprintf(&r.config, "Host %s\n  HostName 127.0.0.1\n  Port %s\n  HostKeyAlias %s\n", name, port, name)
		fmt.Fprintln(&r.known, knownhosts.Line([]string{name}, key))
	}
	everywhere := fmt.Sprintf("Host *\n  User root\n  UserKnownHostsFile %s\n  GlobalKnownHostsFile none\n  IdentityFile %s\n  IdentityAgent none\n",
		r.file("known_hosts"), r.file("id_ed25519"))
	return errors.Join(
		os.WriteFile(r.file("config"), []byte(r.config.String()+everywhere), 0o600),
		os.WriteFile(r.file("known_hosts"), []byte(r.known.String()), 0o600))
}

// writeKey makes a key, writes its private half and returns the public one.
func writeKey(path string) (ssh.PublicKey, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
		return nil, err
	}
	return ssh.NewPublicKey(public)
}
