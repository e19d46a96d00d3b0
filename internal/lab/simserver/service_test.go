//go:build unix

package simserver

import (
	"context"
	"io"
	"net/netip"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/sftp"

	"weft/internal/labctl"
)

const unitText = `[Unit]
Description=a target
[Service]
Type=notify
Environment="COLOUR=deep blue" OTHER=x
ExecStart=/usr/local/lib/weft/weft-target serve \
   --config "/etc/weft/target.toml"
ExecReload=/bin/kill -HUP $MAINPID
Restart=on-failure
ProtectSystem=strict
RuntimeDirectory=weft
RuntimeDirectoryPreserve=yes
StateDirectory=weft/pod/mirrors
[Install]
WantedBy=multi-user.target
`

// target is a server with an agent and its unit.
func target(t *testing.T, n *Network, name, addr string) *Server {
	s := spec(t, name)
	s.Portals = []netip.AddrPort{netip.MustParseAddrPort(addr)}
	srv := server(t, n, s)
	upload(t, srv, "weft-target")
	upload(t, srv, "weft-initiator")
	if err := srv.rootView().WriteFile("/etc/systemd/system/weft-target.service", []byte(unitText), 0o644); err != nil {
		t.Fatal(err)
	}
	return srv
}

func expect(t *testing.T, s *Server, line string, want result) {
	t.Helper()
	if got := local(t, s, "root", line); got != want {
		t.Errorf("%s\n got %+v\nwant %+v", line, got, want)
	}
}

func TestService(t *testing.T) {
	t.Parallel()
	n := network(t)
	s := target(t, n, "st1", "10.1.0.1:4420")
	probe := "/usr/local/lib/weft/weft-initiator read 10.1.0.1:4420"
	const unit = "weft-target.service"

	expect(t, s, "systemctl is-active nope", result{"inactive\n", "", 4})
	expect(t, s, "systemctl start nope", result{"", "Failed to start nope.service: Unit nope.service not found.\n", 5})
	expect(t, s, "systemctl is-active "+unit, result{"inactive\n", "", 3})
	expect(t, s, "systemctl is-enabled "+unit, result{"disabled\n", "", 1})
	if got := local(t, s, "weft", "systemctl start "+unit); got.status != 4 {
		t.Errorf("without root: %+v", got)
	}
	if got := local(t, s, "root", probe); got.status != 1 || !strings.Contains(got.err, "127.0.0.1:0") {
		t.Errorf("before the target is up: %+v", got)
	}

	// What runs is the file that was uploaded.
	expect(t, s, "systemctl enable --now "+unit, result{"",
		"Created symlink /etc/systemd/system/multi-user.target.wants/weft-target.service → /etc/systemd/system/weft-target.service.\n", 0})
	expect(t, s, "systemctl is-active "+unit+"; systemctl is-enabled "+unit, result{"active\nenabled\n", "", 0})
	expect(t, s, probe, result{"hello from 10.1.0.1:4420", "", 0})
	expect(t, s, "journalctl -u weft-target -n 1", result{"serving deep blue\n", "", 0})
	pid := mainPID(t, s)
	if exe, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/exe"); err == nil && exe != filepath.Join(s.Root(), agentDir, "weft-target") {
		t.Errorf("process %d runs %s", pid, exe)
	}

	// Another server of the lab reaches it by its name in the fabric.
	other := target(t, n, "cn1", "10.1.0.2:4420")
	expect(t, other, probe, result{"hello from 10.1.0.1:4420", "", 0})

	// Restarting makes a new process; a file changed on disk needs a reload.
	expect(t, s, "systemctl restart "+unit, result{})
	if again := mainPID(t, s); again == pid {
		t.Error("restart kept the process")
	}
	expect(t, other, probe, result{"hello from 10.1.0.1:4420", "", 0})
	expect(t, s, "echo '#' >>/etc/systemd/system/weft-target.service; systemctl show -p NeedDaemonReload,ActiveState "+unit,
		result{"ActiveState=active\nNeedDaemonReload=yes\n", "", 0})
	expect(t, s, "systemctl daemon-reload; systemctl show --value -p NeedDaemonReload "+unit, result{"no\n", "", 0})

	// A reboot starts what is enabled; a kill is not mended.
	s.Reboot()
	expect(t, other, probe, result{"hello from 10.1.0.1:4420", "", 0})
	kill(t, s)
	expect(t, s, "systemctl show -p Result,ActiveState,MainPID "+unit, result{"ActiveState=failed\nMainPID=0\nResult=signal\n", "", 0})
	if got := local(t, other, "root", probe); got.status != 1 {
		t.Errorf("after the kill: %+v", got)
	}
	expect(t, s, "systemctl start weft-target && systemctl stop weft-target; systemctl is-active weft-target", result{"inactive\n", "", 3})
	if known, err := s.StartUnit("weft-target"); !known || err != nil {
		t.Errorf("starting: %v %v", known, err)
	}
	if !s.StopUnit("weft-target") || s.StopUnit("nope") {
		t.Error("stopping does not know what is there")
	}
	expect(t, other, "systemctl is-active weft-target", result{"inactive\n", "", 3})
	expect(t, s, "systemctl is-active weft-target", result{"inactive\n", "", 3})
	expect(t, s, "systemctl disable weft-target", result{"", "Removed \"/etc/systemd/system/multi-user.target.wants/weft-target.service\".\n", 0})
	s.Reboot()
	expect(t, s, "systemctl is-active weft-target", result{"inactive\n", "", 3})
}

func mainPID(t *testing.T, s *Server) int {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(local(t, s, "weft", "systemctl show --value -p MainPID weft-target").out))
	if err != nil || pid == 0 {
		t.Fatalf("main process %d: %v", pid, err)
	}
	return pid
}

// kill kills the target as someone at the real machine would, and waits until
// the service manager knows.
func kill(t *testing.T, s *Server) {
	t.Helper()
	s.mu.Lock()
	proc := s.units["weft-target.service"].proc
	s.mu.Unlock()
	if err := syscall.Kill(mainPID(t, s), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-proc.done
}

func TestServiceFails(t *testing.T) {
	s := target(t, network(t), "st1", "10.1.0.1:4420")
	for _, test := range []struct{ exec, want string }{
		{"/usr/local/lib/weft/weft-target fail", "ended before it was ready: exit status 7"},
		{"/usr/local/lib/weft/weft-target fly", "ended before it was ready: exit status 0"},
		{"/usr/local/lib/weft/missing serve", "no such file"},
		{"/bin/true", "services outside of /usr/local/lib/weft are not simulated"},
		{"weft-target", "absolute path"},
		{"/usr/local/lib/weft/weft-target %i", "not simulated in the lab"},
	} {
		text := strings.Replace(unitText, "/usr/local/lib/weft/weft-target serve \\\n   --config \"/etc/weft/target.toml\"", test.exec, 1)
		if err := s.rootView().WriteFile("/etc/systemd/system/weft-target.service", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := local(t, s, "root", "systemctl daemon-reload; systemctl start weft-target")
		if got.status != 1 || !strings.Contains(got.err, test.want) {
			t.Errorf("%s: %+v, want %q", test.exec, got, test.want)
		}
	}
	if got := local(t, s, "root", "systemctl status weft-target"); !strings.Contains(got.out, "told to fail") {
		t.Errorf("the journal has not what the agent said: %+v", got)
	}
}

func TestOneshot(t *testing.T) {
	s := server(t, network(t), spec(t, "st1"))
	text := "[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/usr/sbin/ip link set dev ens1f0np0 mtu 9000\n" +
		"ExecStart=/bin/sh -c 'echo done >/run/done'\n[Install]\nWantedBy=multi-user.target\n"
	if err := s.rootView().WriteFile("/etc/systemd/system/weft-restore.service", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	local(t, s, "root", "systemctl enable weft-restore")
	s.Reboot()
	expect(t, s, "systemctl is-active weft-restore; cat /sys/class/net/ens1f0np0/mtu /run/done", result{"active\n9000\ndone\n", "", 0})
}

// TestAgentIsKilled sees that a session that ends takes its agent along.
func TestAgentIsKilled(t *testing.T) {
	s := target(t, network(t), "cn1", "10.1.0.1:4420")
	ctx, cancel := context.WithCancel(t.Context())
	pr, pw := io.Pipe()
	done := make(chan int)
	go func() {
		done <- s.Exec(ctx, "root", "/usr/local/lib/weft/weft-initiator wait", nil, pw, io.Discard)
		_ = pw.Close()
	}()
	if _, err := io.ReadFull(pr, make([]byte, len("waiting\n"))); err != nil {
		t.Fatal(err)
	}
	cancel()
	if status := <-done; status == 0 {
		t.Error("the agent ended well")
	}
}

// TestEndTarget ends a target whose lab is gone.
func TestEndTarget(t *testing.T) {
	s := target(t, network(t), "st1", "10.1.0.1:4420")
	labctl.EndTarget(s.Root()) // nothing runs: nothing happens
	if err := s.rootView().MkdirAll("/run/weft", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := s.rootView().WriteFile("/run/weft/target.sock", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	labctl.EndTarget(s.Root()) // nobody answers
	n, err := newNotice()
	if err != nil {
		t.Fatal(err)
	}
	defer n.close()
	cmd := s.command(agentDir+"/weft-target", []string{"--root", ".", "serve"}, []string{n.env()})
	if err := s.net.start.start(cmd); err != nil {
		t.Fatal(err)
	}
	<-n.ready(&s.background)
	labctl.EndTarget(s.Root())
	if err := cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("the target ended with %v", err)
	}
}

// TestBackground sees that nothing outlives its session.
func TestBackground(t *testing.T) {
	s := target(t, network(t), "st1", "10.1.0.1:4420")
	expect(t, s, "sleep 1000 & /usr/local/lib/weft/weft-initiator wait >/dev/null & echo done", result{"done\n", "", 0})
}

func TestSFTP(t *testing.T) {
	s := server(t, network(t), spec(t, "st1"))
	c, err := sftp.NewClient(login(t, s, "weft"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	write := func(name string) error {
		f, err := c.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Chmod(0o640); err != nil {
			return err
		}
		_, err = f.Write([]byte("content"))
		return err
	}
	if err := write("/tmp/a"); err != nil {
		t.Fatal(err)
	}
	if err := write("/tmp/a"); err == nil {
		t.Error("a file that is there was written over")
	}
	expectLocal := local(t, s, "weft", "cat /tmp/a; stat -c %a /tmp/a")
	if expectLocal != (result{"content640\n", "", 0}) {
		t.Errorf("as a shell sees it: %+v", expectLocal)
	}
	if err := c.Remove("/tmp/a"); err != nil {
		t.Errorf("remove: %v", err)
	}
	for what, err := range map[string]error{
		"mkdir": c.Mkdir("/tmp/d"), "rename": c.Rename("/tmp/a", "/tmp/b"), "symlink": c.Symlink("/tmp/b", "/tmp/link"), "truncate": c.Truncate("/tmp/b", 0),
	} {
		if err == nil {
			t.Errorf("%s is not refused, which no upload needs", what)
		}
	}
	if err := write("/etc/x"); !os.IsPermission(err) {
		t.Errorf("writing in /etc: %v", err)
	}
	if err := c.Remove("/tmp/none"); err == nil {
		t.Error("what is not there was removed")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(s.Root()), "secret"), []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/../secret", "../../../../secret", filepath.Join(filepath.Dir(s.Root()), "secret")} {
		if write(name) == nil || c.Remove(name) == nil {
			t.Errorf("%s can be reached", name)
		}
		if _, err := c.Open(name); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

func FuzzResolve(f *testing.F) {
	s, err := New(NewNetwork(), Spec{Name: "f", Root: filepath.Join(f.TempDir(), "root"), Journal: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		_ = s.Close() // the folder goes anyway
		s.net.Close()
	})
	for name, to := range map[string]string{"/tmp/up": "../..", "/tmp/abs": "/etc", "/tmp/loop": "loop", "/tmp/x": "up/../abs/./hostname"} {
		if err := s.rootView().Symlink(to, name); err != nil {
			f.Fatal(err)
		}
	}
	for _, name := range []string{"/tmp/up/../../etc", "../x", "/tmp/loop/a", "/tmp/x/", "/sys/class/net/lo/../..", "/dev/null/x", "", "//..//", "/.../..a"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p, err := s.rootView().resolve(name, true)
		if err == nil && (path.Clean(p) != p || !path.IsAbs(p)) {
			t.Errorf("%q became %q", name, p)
		}
	})
}

func FuzzParseUnit(f *testing.F) {
	f.Add(unitText)
	f.Add("[Service]\nType=oneshot\nExecStart=/bin/sh -c 'a \"b\"'\nExecStart=\n")
	f.Add("no section = here\n[Service")
	f.Fuzz(func(t *testing.T, text string) {
		s, err := parseUnit(text)
		if err == nil && (len(s.start) == 0 || len(s.start[0]) == 0) {
			t.Error("a service without a command was accepted")
		}
	})
}

// TestUnknownSettings: a unit with a setting that systemd would not know, or not
// take, does not start here.
func TestUnknownSettings(t *testing.T) {
	t.Parallel()
	n := network(t)
	s := target(t, n, "st1", "10.1.0.1:4420")
	const unit = "/etc/systemd/system/weft-target.service"
	for _, line := range []string{
		"ProtectSytem=strict", "ProtectSystem=very", "PrivateTmp=maybe", "SystemCallFilter=@sytem-service", "CapabilityBoundingSet=CAP_EVERYTHING",
		"MemoryMax=half", "MemoryMax=4 G", "TasksMax=-1", "UMask=77", "RestrictAddressFamilies=INET", "StateDirectory=/var/lib/weft",
		"StateDirectory=weft/../../etc", "RuntimeDirectory=we%i", "RuntimeDirectoryPreserve=no", "SystemCallErrorNumber=1", "Restart=sometimes", "User=nobody",
	} {
		text := strings.Replace(unitText, "[Install]", line+"\n[Install]", 1)
		if err := s.rootView().WriteFile(unit, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		expect(t, s, "systemctl daemon-reload", result{"", "", 0})
		got := local(t, s, "root", "systemctl start weft-target.service")
		if got.status != 1 || !strings.Contains(got.err, "unit file: line ") {
			t.Errorf("%s: %+v", line, got)
		}
	}
	// Folders that the unit names are there when it runs.
	if err := s.rootView().WriteFile(unit, []byte(unitText), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, s, "systemctl daemon-reload", result{"", "", 0})
	expect(t, s, "test -d /var/lib/weft/pod/mirrors", result{"", "", 1})
	expect(t, s, "systemctl start weft-target.service", result{"", "", 0})
	expect(t, s, "test -d /var/lib/weft/pod/mirrors", result{"", "", 0})
}
