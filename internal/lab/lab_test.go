//go:build unix

package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weft/internal/hint"
	"weft/internal/lab/simserver"
	"weft/internal/lab/simswitch"
	"weft/internal/labctl"
	"weft/internal/remote"
	"weft/internal/remote/ssh"
	"weft/internal/require"
	"weft/inventory"
)

func TestMain(m *testing.M) {
	require.Patience(8)
	goleak.VerifyTestMain(m)
}

// model is two planes, one switch each, and n servers on both; the first one
// is a target.
func model(n int) *inventory.Model {
	m := &inventory.Model{Name: "test"}
	cred := &inventory.Credential{User: "netops"}
	a := &inventory.Switch{Block: inventory.Block{Addr: "switch.leaf-a"}, Name: "leaf-a", OS: "nxos", Host: "leaf-a.example.net", Serial: "FDO1", Credential: cred}
	b := &inventory.Switch{Block: inventory.Block{Addr: "switch.leaf-b"}, Name: "leaf-b", OS: "nxos", Host: "leaf-b.example.net", Serial: "FDO2", Credential: cred}
	m.Switches = []*inventory.Switch{a, b, {Name: "spine", OS: "nxos", Unmanaged: true}}
	for i := range n {
		s := &inventory.Server{Block: inventory.Block{Addr: fmt.Sprintf("server.n%d", i)}, Name: fmt.Sprintf("n%d", i), OS: "linux", Host: fmt.Sprintf("n%d.example.net", i)}
		for p, sw := range []*inventory.Switch{a, b} {
			r := &inventory.RNIC{Name: fmt.Sprintf("p%d", p), Server: s, PCI: fmt.Sprintf("0000:41:00.%d", p)}
			s.RNICs = append(s.RNICs, r)
			m.Links = append(m.Links, &inventory.Link{From: inventory.LinkEnd{RNIC: r},
				To: inventory.LinkEnd{Switch: sw, Port: fmt.Sprintf("Eth1/%d", i+1)}, Speed: 100e9})
		}
		m.Servers = append(m.Servers, s)
	}
	pool := &inventory.Pool{Server: m.Servers[0], Drives: []string{"nvme-eui.1"}}
	m.Pools = []*inventory.Pool{pool}
	m.Volumes = []*inventory.Volume{{Pool: pool, Size: 5 << 40}}
	m.Targets = []*inventory.Target{{Server: m.Servers[0], Portals: []inventory.Portal{{Address: netip.MustParseAddrPort("10.1.0.1:4420")}}}}
	return m
}

func start(t *testing.T, m *inventory.Model, dir string) *Lab {
	t.Helper()
	var log bytes.Buffer
	l, err := Start(t.Context(), m, Options{Dir: dir, Log: &log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Stop(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// dialer reaches the lab of a directory as weft does.
func dialer(dir string) *ssh.Dialer {
	return ssh.NewDialer(ssh.Config{ConfigFile: filepath.Join(dir, ".weft", "lab", "ssh_config")})
}

func dial(t *testing.T, dir, name string) *ssh.Client {
	t.Helper()
	c, err := dialer(dir).Dial(t.Context(), ssh.Target{Name: name, User: "weft", Become: "sudo", ConnectTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // the device may have gone first
	return c
}

func output(t *testing.T, h remote.Host, args ...string) string {
	t.Helper()
	out, err := h.Run(t.Context(), remote.Cmd{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return string(out.Stdout)
}

// TestServers drives simulated servers with weft's own SSH.
func TestServers(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "100%")
	start(t, model(3), dir)
	h := dial(t, dir, "n0.example.net")
	if got := output(t, h, "hostname"); got != "n0.example.net\n" {
		t.Errorf("hostname %q", got)
	}
	if got := output(t, h, "stat", "-c", "%s", "/dev/disk/by-id/nvme-eui.1"); got != fmt.Sprintln(5<<40+5<<34) {
		t.Errorf("size of the drive: %q", got)
	}
	content := strings.Repeat("0123456789", 100_000)
	if err := h.WriteFile(t.Context(), "/etc/weft/secret", strings.NewReader(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := h.ReadFile(t.Context(), "/etc/weft/secret"); err != nil || string(got) != content {
		t.Errorf("read back %d bytes, %v", len(got), err)
	}
	if _, err := h.ReadFile(t.Context(), "/etc/weft/none"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	mtu := remote.Look{PCI: "0000:41:00.1", File: "/sys/class/net/{if}/mtu"}
	link := remote.Look{PCI: "0000:41:00.0", Args: []string{"ip", "-j", "link", "show", "dev", "{if}"}}
	sum := remote.Look{File: "/etc/weft/secret", Sum: true, Root: true}
	none := remote.Look{PCI: "0000:99:00.0", File: "/sys/class/net/{if}/mtu"}
	seen, err := remote.Read(t.Context(), h, []remote.Look{mtu, link, sum, none})
	if err != nil {
		t.Fatal(err)
	}
	if s := seen.Of(mtu); s.Text() != "1500" || s.Interface != "ens1f1np1" {
		t.Errorf("MTU: %+v", s)
	}
	if s := seen.Of(link); s.Err != nil || !strings.Contains(s.Text(), `"ifname":"ens1f0np0"`) {
		t.Errorf("link: %+v", s)
	}
	if s := seen.Of(sum); s.Err != nil || s.Mode.Perm() != 0o600 || s.Size != int64(len(content)) {
		t.Errorf("sum: %+v", s)
	}
	if s := seen.Of(none); !s.Absent {
		t.Errorf("a card that is not there: %+v", s)
	}
	_, err = h.Run(t.Context(), remote.Cmd{Args: []string{"ip", "link", "set", "dev", "ens1f0np0", "mtu", "10000"}})
	var exit *remote.ExitError
	if !errors.As(err, &exit) || exit.Code != 2 || string(exit.Output.Stderr) != "Error: mtu greater than device maximum.\n" {
		t.Errorf("MTU beyond the card's: %v", err)
	}
}

// TestPath pings through a simulated switch that must first take the frames.
func TestPath(t *testing.T) {
	dir := t.TempDir()
	start(t, model(2), dir)
	a, b := dial(t, dir, "n0.example.net"), dial(t, dir, "n1.example.net")
	for n, h := range []remote.Host{a, b} {
		output(t, h, "ip", "link", "set", "dev", "ens1f0np0", "mtu", "9000")
		output(t, h, "ip", "addr", "add", fmt.Sprintf("10.1.0.%d/24", n+1), "dev", "ens1f0np0")
	}
	ping := remote.Cmd{Args: []string{"ping", "-M", "do", "-c", "3", "-s", "8972", "10.1.0.2"}}
	if _, err := a.Run(t.Context(), ping); err == nil {
		t.Error("a jumbo frame went through a switch with its default MTU")
	}
	for _, n := range []string{"1", "2"} {
		if err := labctl.Edit(dir, "leaf-a.example.net", "interface Ethernet1/"+n, "mtu 9216"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Run(t.Context(), ping); err != nil {
		t.Errorf("after the change by hand: %v", err)
	}
	if err := labctl.Edit(dir, "leaf-a.example.net", "make it so"); err == nil {
		t.Error("the switch took nonsense")
	}
	if err := labctl.Edit(dir, "n0.example.net", "mtu 9216"); err == nil {
		t.Error("a server was edited like a switch")
	}
}

func TestSwitches(t *testing.T) {
	dir := t.TempDir()
	l := start(t, model(2), dir)
	c, err := dialer(dir).Dial(t.Context(), ssh.Target{Name: "leaf-b.example.net", User: "netops", ConnectTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	d, err := l.find("switch.leaf-b")
	if err != nil {
		t.Fatal(err)
	}
	spec := d.sw.Spec()
	if spec.Serial != "FDO2" || spec.Hostname != "leaf-b" || len(spec.Ports) != commonPorts || len(spec.Neighbours) != 2 {
		t.Errorf("switch %+v", spec)
	}
	if n := spec.Neighbours[1]; n.Port != "Ethernet1/2" || n.SystemName != "n1.example.net" || !strings.HasPrefix(n.PortID, "02:") {
		t.Errorf("neighbour %+v", n)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, model(1), dir)
	const name = "n0.example.net"
	fault := func(device, name string) {
		t.Helper()
		if err := labctl.Fault(dir, device, name); err != nil {
			t.Fatal(err)
		}
	}
	h := dial(t, dir, name)
	fault(name, "no-sudo")
	var become *remote.BecomeError
	if _, err := h.Run(t.Context(), remote.Cmd{Args: []string{"true"}}); !errors.As(err, &become) {
		t.Errorf("without sudo: %v", err)
	}
	fault(name, "sudo")
	output(t, h, "ip", "addr", "add", "10.1.0.1/24", "dev", "ens1f0np0")

	fault(name, "drop")
	if _, err := h.Run(t.Context(), remote.Cmd{Args: []string{"true"}}); err == nil {
		t.Error("a cut connection still works")
	}
	fault(name, "refuse")
	var unreachable *remote.UnreachableError
	_, err := dialer(dir).Dial(t.Context(), ssh.Target{Name: name, User: "weft", ConnectTimeout: 2 * time.Second})
	if !errors.As(err, &unreachable) {
		t.Errorf("while connections are refused: %v", err)
	}
	fault(name, "accept")
	fault(name, "reboot")
	if got := output(t, dial(t, dir, name), "ip", "-j", "-4", "addr", "show", "dev", "ens1f0np0"); strings.Contains(got, "10.1.0.1") {
		t.Errorf("the address outlived a reboot: %s", got)
	}
	fault("leaf-a.example.net", "refuse-line=^mtu")
	if err := labctl.Edit(dir, "leaf-a.example.net", "interface Ethernet1/1", "mtu 9216"); err == nil {
		t.Error("the switch took a line that it was told to refuse")
	}
	for _, bad := range [][2]string{{name, "stop-target"}, {name, "explode"}, {name, "slow=x"}, {"nobody", "drop"}, {"leaf-a.example.net", "overheat"}, {"leaf-a.example.net", "deny=("}} {
		if err := labctl.Fault(dir, bad[0], bad[1]); err == nil {
			t.Errorf("%v was accepted", bad)
		}
	}
}

// TestLife takes a lab up and down as weft lab does.
func TestLife(t *testing.T) {
	dir := t.TempDir()
	if s, err := labctl.Running(dir); s != nil || err != nil {
		t.Fatalf("before: %v %v", s, err)
	}
	if err := labctl.Edit(dir, "x", "y"); err == nil {
		t.Error("an edit without a lab")
	}
	l := start(t, model(1), dir)
	s, err := labctl.Running(dir)
	if err != nil || s == nil || s.PID != os.Getpid() || len(s.Devices) != 3 || !strings.Contains(s.Warning, "SIMULATED") {
		t.Fatalf("running: %+v %v", s, err)
	}
	for _, name := range []string{"lab.json", "key", "ssh_config", "known_hosts"} {
		info, err := os.Stat(filepath.Join(dir, ".weft", "lab", name))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	if _, err := Start(t.Context(), model(1), Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("a second lab in the same directory: %v", err)
	}
	if s, err := labctl.Running(dir); err != nil || s == nil {
		t.Errorf("the first lab after the second: %v %v", s, err)
	}
	// Without the token nobody is heard.
	forge(t, dir, s.Token, "0")
	if err := labctl.Edit(dir, "leaf-a.example.net", "mtu 9216"); err == nil || !strings.Contains(err.Error(), "no reply") {
		t.Errorf("a request without the token: %v", err)
	}
	forge(t, dir, `"token": "0"`, `"token": "`+s.Token+`"`)

	// A weft of another version refuses the lab, and can only stop it.
	forge(t, dir, labctl.Version(), "0.0.9 (other)")
	for what, ask := range map[string]func() error{
		"running": func() error { _, err := labctl.Running(dir); return err },
		"status":  func() error { _, err := labctl.Status(dir); return err },
		"config":  func() error { _, err := labctl.Config(dir); return err },
		"fault":   func() error { return labctl.Fault(dir, "leaf-a.example.net", "drop") },
	} {
		if err := ask(); err == nil || !strings.Contains(err.Error(), "weft-lab 0.0.9 (other)") || !strings.Contains(err.Error(), "weft "+labctl.Version()) || !strings.Contains(hint.Of(err), "lab down") {
			t.Errorf("%s of another version: %v, hint %q", what, err, hint.Of(err))
		}
	}

	served := make(chan error, 1)
	go func() { served <- l.Serve(context.Background()) }()
	if err := labctl.Down(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
	for _, name := range []string{"lab.json", "key", "ssh_config", "known_hosts", "servers"} {
		if _, err := os.Stat(filepath.Join(dir, ".weft", "lab", name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if s, err := labctl.Running(dir); s != nil || err != nil {
		t.Errorf("after: %v %v", s, err)
	}
	if err := labctl.Down(t.Context(), dir); err != nil {
		t.Errorf("going down twice: %v", err)
	}
}

// forge replaces text in the state of a lab.
func forge(t *testing.T, dir, old, text string) {
	t.Helper()
	name := filepath.Join(dir, ".weft", "lab", "lab.json")
	state, err := os.ReadFile(name)
	if err == nil && !bytes.Contains(state, []byte(old)) {
		err = fmt.Errorf("no %q in %s", old, state)
	}
	if err == nil {
		err = os.WriteFile(name, bytes.Replace(state, []byte(old), []byte(text), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestCrashed starts where a lab died without a word.
func TestCrashed(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".weft", "lab", "servers", "gone", "etc")
	if err := os.MkdirAll(left, 0o700); err != nil {
		t.Fatal(err)
	}
	state := fmt.Sprintf(`{"pid": %d, "control": "127.0.0.1:1", "token": "x", "version": %q}`, os.Getpid(), labctl.Version())
	if err := os.WriteFile(filepath.Join(dir, ".weft", "lab", "lab.json"), []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := labctl.Running(dir); s != nil || err != nil {
		t.Errorf("a process that is no lab counts as one: %v %v", s, err)
	}
	start(t, model(1), dir)
	if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the former lab's files are left: %v", err)
	}
	if got := output(t, dial(t, dir, "n0.example.net"), "id", "-u"); got != "0\n" {
		t.Errorf("id %q", got)
	}
}

// TestStaysHere sees that names the lab does not know lead nowhere, and that
// OpenSSH reads the file as weft does.
func TestStaysHere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with space")
	l := start(t, model(1), dir)
	for _, name := range []string{"unknown.example.net", "192.0.2.1"} {
		_, err := dialer(dir).Dial(t.Context(), ssh.Target{Name: name, User: "weft", ConnectTimeout: 2 * time.Second})
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
			t.Errorf("%s: %v", name, err)
		}
	}
	client := require.Tool(t, require.OpenSSH, "ssh")
	d, err := l.find("n0.example.net")
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(dir, ".weft", "lab", "ssh_config")
	out, err := exec.CommandContext(t.Context(), client, "-F", config, "-G", d.name).Output()
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(d.listener.Addr().String(), ":")
	for _, want := range []string{"hostname 127.0.0.1\n", "port " + port + "\n", "hostkeyalias " + d.name + "\n"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("ssh -G does not say %q:\n%s", want, out)
		}
	}
	out, err = exec.CommandContext(t.Context(), client, "-F", config, "-o", "BatchMode=yes", "weft@"+d.name, "sudo -n whoami; hostname").Output()
	if err != nil || string(out) != "root\nn0.example.net\n" {
		t.Errorf("OpenSSH: %q %v", out, err)
	}
}

func TestTwinRefuses(t *testing.T) {
	for name, change := range map[string]func(*inventory.Model){
		"the same host":         func(m *inventory.Model) { m.Servers[1].Host = m.Servers[0].Host },
		"not a host name":       func(m *inventory.Model) { m.Servers[1].Host = "../x" },
		"is not simulated":      func(m *inventory.Model) { m.Switches[0].OS = "eos" },
		"host \"*\" cannot":     func(m *inventory.Model) { m.Switches[0].Host = "*" },
		"host \"-oX=y\" cannot": func(m *inventory.Model) { m.Switches[0].Host = "-oX=y" },
	} {
		m := model(2)
		change(m)
		dir := t.TempDir()
		if _, err := Start(t.Context(), m, Options{Dir: dir}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, ".weft", "lab", "lab.json")); err == nil {
			t.Errorf("%s: a lab is left", name)
		}
	}
}

func TestManyDevices(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	l := start(t, model(200), dir)
	if n := len(l.State().Devices); n != 202 {
		t.Fatalf("%d devices", n)
	}
	for _, i := range []int{0, 77, 199} {
		name := fmt.Sprintf("n%d.example.net", i)
		if got := output(t, dial(t, dir, name), "sh", "-c", "hostname 2>/dev/null"); got != name+"\n" {
			t.Errorf("%s says it is %q", name, got)
		}
	}
}

func TestWay(t *testing.T) {
	end := func(server string) simserver.End { return simserver.End{Server: server, PCI: "0000:41:00.0"} }
	m := model(3)
	spine := m.Switches[2]
	for i := range 2 {
		m.Links = append(m.Links, &inventory.Link{From: inventory.LinkEnd{Switch: m.Switches[i], Port: "Ethernet1/32"},
			To: inventory.LinkEnd{Switch: spine, Port: fmt.Sprintf("Ethernet1/%d", i+1)}})
	}
	tw, err := newTwin(m)
	if err != nil {
		t.Fatal(err)
	}
	jumbo := func(ports ...string) func() string {
		text := ""
		for _, p := range ports {
			text += "interface " + p + "\n  description x\n  mtu 9216\n\n"
		}
		return func() string { return text }
	}
	tw.running["leaf-a"] = jumbo("Ethernet1/1", "Ethernet1/2", "Ethernet1/32")
	tw.running["leaf-b"] = jumbo("Ethernet1/3")
	a, b := end("n0.example.net"), end("n1.example.net")
	far := simserver.End{Server: "n2.example.net", PCI: "0000:41:00.1"}
	for _, test := range []struct {
		from, to simserver.End
		mtu      int
		ok       bool
	}{
		{a, b, 9216, true},
		{a, end("n2.example.net"), 1500, true}, // its port has the default
		{a, far, 1500, true},                   // over the spine: the uplink of leaf-b has the default
		{a, end("unknown"), noLimit, true},     // nothing is known of its cable
	} {
		if mtu, ok := tw.way(test.from, test.to); mtu != test.mtu || ok != test.ok {
			t.Errorf("%v to %v: %d %v, want %d %v", test.from, test.to, mtu, ok, test.mtu, test.ok)
		}
	}
	tw.cables = nil
	if _, ok := tw.way(a, far); ok {
		t.Error("two planes without a cable between them reach each other")
	}
	if mtu := simswitch.MTU("comware", "interface HundredGigE1/0/1\n port link-mode bridge\n jumboframe enable 9216\n#\n", "HundredGigE1/0/1"); mtu != 9216 {
		t.Errorf("Comware: %d", mtu)
	}
}

func TestPortNames(t *testing.T) {
	for _, test := range []struct{ os, port, want string }{
		{"nxos", "Eth1/11", "Ethernet1/11"}, {"nxos", "ethernet1/1/2", "Ethernet1/1/2"}, {"nxos", "mgmt0", "mgmt0"},
		{"comware", "HGE1/0/3", "HundredGigE1/0/3"}, {"comware", "XGE1/0/3", "Ten-GigabitEthernet1/0/3"},
		{"comware", "Twenty-FiveGigE1/0/3", "Twenty-FiveGigE1/0/3"}, {"nxos", "", ""},
	} {
		if got := simswitch.PortName(test.os, test.port); got != test.want {
			t.Errorf("%s %s: %s", test.os, test.port, got)
		}
	}
}
