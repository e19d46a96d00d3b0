package ssh

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"weft/internal/remote"
	"weft/internal/remote/remotetest"
	"weft/internal/require"
)

func TestConformance(t *testing.T) {
	t.Parallel()
	f := newFiles(t)
	key := edKey(t)
	s := startServer(t, []ssh.Signer{key}, nil)
	f.know(s.address, key)
	f.host("server", s.address)
	c := dial(t, f.dialer(), Target{Name: "server", User: "weft"})
	remotetest.Run(t, func(*testing.T) remote.Host { return c })
}

// With sudo the command is in a session that the server's signals do not
// reach, as when it is root's.
func TestConformanceBecome(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/proc/self/environ"); err != nil {
		t.Skipf("commands of root are found through /proc: %v", err)
	}
	f := newFiles(t)
	key := edKey(t)
	s := startServer(t, []ssh.Signer{key}, func(s *testServer) {
		s.deaf = true
		s.env = fakeSudo(t, "[ \"$1 $2\" = '-n --' ] || exit 1\nshift 2\nexec \"$@\"")
	})
	f.know(s.address, key)
	f.host("server", s.address)
	c := dial(t, f.dialer(), Target{Name: "server", Become: "sudo"})
	remotetest.Run(t, func(*testing.T) remote.Host { return c })
}

// fakeSudo is an environment in which sudo is a script.
func fakeSudo(t *testing.T, script string) []string {
	t.Helper()
	dir := t.TempDir()
	write(t, filepath.Join(dir, "sudo"), "#!/bin/sh\n"+script+"\n")
	return []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
}

// TestConformanceOpenSSH runs the suite against OpenSSH's own server, one
// process per connection on sockets of ours, so that no port is fixed.
func TestConformanceOpenSSH(t *testing.T) {
	require.Long(t, "8 s")
	t.Parallel()
	sshd := require.Tool(t, require.OpenSSH, "/usr/sbin/sshd")
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for name, subsystem := range map[string]string{"sftp": "Subsystem sftp internal-sftp", "no sftp": ""} {
		t.Run(name, func(t *testing.T) { conformOpenSSH(t, sshd, me, subsystem) })
	}
}

func conformOpenSSH(t *testing.T, sshd string, me *user.User, subsystem string) {
	f := newFiles(t)
	key, public := openSSHKeys(t, f)
	f.write("authorized_keys", string(ssh.MarshalAuthorizedKey(public)))
	f.write("sshd_config", strings.Join([]string{
		"HostKey " + f.path("host_key"),
		"AuthorizedKeysFile " + f.path("authorized_keys"),
		"StrictModes no", "UsePAM no", "PermitRootLogin yes", "PasswordAuthentication no",
		"PidFile none", "LogLevel ERROR", subsystem,
		"SetEnv HOME=" + f.dir, // without start-up files of the one who tests
	}, "\n")+"\n")
	if me.Uid == "0" {
		// Where the system's own start script makes it.
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(sshd, "-t", "-f", f.path("sshd_config")).CombinedOutput(); err != nil {
		t.Skipf("OpenSSH's server does not start here: %v: %s", err, out)
	}
	address := serveInetd(t, sshd, "-i", "-e", "-f", f.path("sshd_config"))
	f.know(address, key)
	f.host("server", address)
	target := Target{Name: "server", User: me.Username}
	if me.Uid != "0" {
		// An account without a password that works is locked for it.
		if c, err := f.dialer().Dial(t.Context(), target); err != nil && strings.Contains(err.Error(), "unable to authenticate") {
			require.Missing(t, require.OpenSSH, "OpenSSH's server does not let %s in: %v", me.Username, err)
		} else if err == nil {
			c.Close()
		}
	}
	c := dial(t, f.dialer(), target)
	remotetest.Run(t, func(*testing.T) remote.Host { return c })

	large := bytes.Repeat([]byte("weft"), sftpFrom)
	switch path, err := c.upload(t.Context(), large); {
	case subsystem == "":
		if !errors.Is(err, remote.ErrNoUpload) {
			t.Errorf("an upload without SFTP: %v", err)
		}
	case err != nil:
		t.Error(err)
	default:
		defer os.Remove(path)
		info, err := os.Stat(path)
		if err != nil || info.Mode() != 0o600 || info.Size() != int64(len(large)) {
			t.Errorf("uploaded: %v, %v", info, err)
		}
		if err := c.WriteFile(t.Context(), f.path("large"), bytes.NewReader(large), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// serveInetd gives each connection to a process of its own.
func serveInetd(t *testing.T, args ...string) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			file, err := c.(*net.TCPConn).File()
			c.Close()
			if err != nil {
				continue
			}
			var stderr strings.Builder
			cmd := exec.Command(args[0], args[1:]...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = file, file, &stderr
			work.Go(func() {
				if err := cmd.Run(); err != nil {
					t.Logf("%s: %v: %s", args[0], err, stderr.String())
				}
				file.Close()
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		work.Wait()
	})
	return listener.Addr().String()
}

// openSSHKeys writes a host key and returns it with the public half of the
// client's.
func openSSHKeys(t *testing.T, f *clientFiles) (ssh.Signer, ssh.PublicKey) {
	t.Helper()
	hostKey := newEd25519(t)
	f.writeKey("host_key", hostKey, "")
	client := newEd25519(t)
	return signer(t, hostKey), f.writeKey("key", client, "")
}

// dial connects for the length of a test.
func dial(t *testing.T, d *Dialer, target Target) *Client {
	t.Helper()
	c, err := d.Dial(context.Background(), target)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
