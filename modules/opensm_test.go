package modules

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"weft/internal/require"
	"weft/modules/host"
)

// TestOpenSM has OpenSM, the subnet manager that most InfiniBand networks have,
// sweep a subnet of ibsim, and reads a port of it before and after with the
// script that reads servers.
//
// Real are the state, the LIDs, the GID and the partition keys: OpenSM set them
// with the packets that it would send to cards, and umad2sim shows them in the
// files of sysfs. Of what a kernel would show beside them, which there is none
// of, the case adds link_layer and the IP interface; they are SYNTHETIC, as is
// the PCI device.
func TestOpenSM(t *testing.T) {
	net := newSubnet(t, "st1", "cn1", "manager")

	st1 := net.read("st1", "0xffff")
	before := st1.Server.NICs[0].RDMA[0]
	if s := before.Subnet; before.State != "INIT" || s.Physical != "LinkUp" || s.LID != 0 || s.Manager != 0 || pkeys(s.PKeys) != "0xffff" {
		t.Errorf("before the sweep: %+v %+v", before, s)
	}
	if guid(before) != net.says("st1", "Port GUID") {
		t.Errorf("GID %q, ibstat has GUID %s", before.Subnet.GID, net.says("st1", "Port GUID"))
	}
	if len(st1.Findings) > 0 {
		t.Errorf("before the sweep: %v", st1.Findings)
	}
	cn1 := net.read("cn1", "0xffff").Server.NICs[0].RDMA[0]

	partitions := "Default=0x7fff, ipoib, mtu=5: ALL=limited, SELF=full;\nstorage=0x0001, ipoib: %s=full, %s=limited;\n"
	net.sweep(fmt.Sprintf(partitions, guid(before), guid(cn1)))
	manager := net.read("manager", "0xffff").Server.NICs[0].RDMA[0].Subnet
	lids := map[int]bool{manager.LID: true}
	for _, test := range []struct{ host, ipoib, keys, finding string }{
		{"st1", "0x8001", "0x7fff, 0x8001", ""},
		{"st1", "0xffff", "0x7fff, 0x8001", "ib0 is in the partition of key 0xffff, of which ibsim0/1 is a limited member (key 0x7fff): it reaches no other limited one"},
		{"cn1", "0x8001", "0x7fff, 0x0001", "ib0 is in the partition of key 0x8001, of which ibsim0/1 is a limited member (key 0x0001): it reaches no other limited one"},
		{"cn1", "0x8002", "0x7fff, 0x0001", "ib0 is in the partition of key 0x8002, and the subnet manager gave ibsim0/1 only 0x7fff, 0x0001"},
		{"manager", "0xffff", "0xffff", ""},
	} {
		d := net.read(test.host, test.ipoib)
		p := d.Server.NICs[0].RDMA[0]
		s := p.Subnet
		if p.State != "ACTIVE" || s.LID == 0 || s.Manager != manager.LID || pkeys(s.PKeys) != test.keys || !strings.HasPrefix(s.GID, "fe80:0000:0000:0000:") {
			t.Errorf("%s after the sweep: %+v %+v", test.host, p, s)
		}
		if got := net.says(test.host, "Base lid"); got != strconv.Itoa(s.LID) {
			t.Errorf("%s has LID %d, ibstat says %s", test.host, s.LID, got)
		}
		lids[s.LID] = true
		if text := findings(d); !strings.HasSuffix(text, test.finding) || test.finding == "" && text != "" {
			t.Errorf("%s with %s: %q, wanted %q", test.host, test.ipoib, text, test.finding)
		}
	}
	if len(lids) != 3 {
		t.Errorf("three ports have the LIDs %v", lids)
	}

	// The manager takes st1 out of its partition again.
	net.sweep(fmt.Sprintf(partitions, guid(cn1), guid(cn1)))
	if text := findings(net.read("st1", "0x8001")); !strings.HasSuffix(text, "and the subnet manager gave ibsim0/1 only 0x7fff") {
		t.Errorf("out of its partition: %q", text)
	}
}

// guid is that of a port, as files of OpenSM and ibstat write it.
func guid(p host.RDMAPort) string {
	digits := strings.ReplaceAll(p.Subnet.GID, ":", "")
	return "0x" + digits[max(0, len(digits)-16):]
}

func findings(d *Facts) string {
	var list []string
	for _, f := range d.Findings {
		list = append(list, f.String())
	}
	return strings.Join(list, "\n")
}

// A subnet is one switch with a port for each host, simulated by ibsim.
type subnet struct {
	t    *testing.T
	ctx  context.Context
	dir  string
	env  []string
	hook string // umad2sim, which leads programs to ibsim
}

// newSubnet starts ibsim, or skips what cannot run here. Programs find it by the
// name of an abstract socket.
func newSubnet(t *testing.T, hosts ...string) *subnet {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("ibsim runs on Linux")
	}
	missing := func(format string, args ...any) {
		t.Helper()
		if _, err := os.Stat("/sys/class/infiniband"); err == nil {
			t.Skipf(format, args...) // make deps installs no subnet manager where it would find a real subnet
		}
		require.Missing(t, require.OpenSM, format, args...)
	}
	hooks, _ := filepath.Glob("/usr/lib/*/umad2sim/libumad2sim.so")
	if len(hooks) == 0 {
		missing("no umad2sim: install ibsim-utils")
	}
	for program, of := range map[string]string{"ibsim": "ibsim-utils", "opensm": "opensm", "ibstat": "infiniband-diags"} {
		if _, err := exec.LookPath(tool(program)); err != nil {
			missing("no %s: install %s", program, of)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	t.Cleanup(cancel)
	dir := t.TempDir()
	n := &subnet{t, ctx, dir, append(os.Environ(), "IBSIM_SOCKNAME=weft-"+strconv.Itoa(os.Getpid())+"-"+filepath.Base(filepath.Dir(dir)),
		"OSM_TMP_DIR="+dir, "OSM_CACHE_DIR="+dir), hooks[0]}
	text := fmt.Sprintf("Switch %d \"switch\"\n", len(hosts))
	for i, h := range hosts {
		text += fmt.Sprintf("[%d] \"%s\"[1]\n", i+1, h)
	}
	for i, h := range hosts {
		text += fmt.Sprintf("\nHca 1 \"%s\"\n[1] \"switch\"[%d]\n", h, i+1)
	}
	n.write("net", text)
	cmd := exec.CommandContext(ctx, tool("ibsim"), "-s", "-n", "net")
	cmd.Dir, cmd.Env = dir, n.env
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was killed
	})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "simulator ready") {
			return n
		}
	}
	t.Fatal("ibsim did not start")
	return nil
}

// tool is a program that Debian has where only root looks.
func tool(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/usr/sbin/" + name
}

func (n *subnet) write(name, text string) {
	n.t.Helper()
	path := filepath.Join(n.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		n.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		n.t.Fatal(err)
	}
}

// at is a command on a host of the subnet.
func (n *subnet) at(host string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(n.ctx, tool(args[0]), args[1:]...)
	cmd.Dir, cmd.Env = n.dir, append(n.env[:len(n.env):len(n.env)], "SIM_HOST="+host, "LD_PRELOAD="+n.hook)
	return cmd
}

// sweep lets the subnet manager set the subnet up once. Answers may take long on
// a busy machine.
func (n *subnet) sweep(partitions string) {
	n.t.Helper()
	n.write("partitions", partitions)
	out, err := n.at("manager", "opensm", "-o", "-t", "20000", "-F", "/dev/null", "-f", "log", "-P", "partitions").CombinedOutput()
	log, _ := os.ReadFile(filepath.Join(n.dir, "log"))
	if err != nil || !strings.Contains(string(log), "SUBNET UP") {
		n.t.Fatalf("opensm: %v\n%s%s", err, out, log)
	}
}

// says is a value that ibstat prints.
func (n *subnet) says(host, key string) string {
	n.t.Helper()
	out, err := n.at(host, "ibstat").Output()
	value := regexp.MustCompile(`(?m)^\s*` + key + `: (\S+)$`).FindSubmatch(out)
	if err != nil || value == nil {
		n.t.Fatalf("ibstat: %v\n%s", err, out)
	}
	return string(value[1])
}

// read reads the port of a host as that of the server st1, whose interface is
// in a partition.
func (n *subnet) read(host, ipoib string) *Facts {
	n.t.Helper()
	const pci = "0000:41:00.0"
	root, err := os.MkdirTemp(n.dir, "root")
	if err != nil {
		n.t.Fatal(err)
	}
	device := filepath.Join(root, "sys/bus/pci/devices", pci)
	n.files(host, filepath.Join(device, "infiniband"))
	for name, value := range map[string]string{
		"vendor": "0x15b3", "device": "0x101b", "uevent": "DRIVER=mlx5_core", "infiniband/ibsim0/ports/1/link_layer": "InfiniBand",
		"net/ib0/mtu": "2044", "net/ib0/operstate": "up", "net/ib0/mode": "datagram", "net/ib0/pkey": ipoib,
	} {
		rel, err := filepath.Rel(n.dir, filepath.Join(device, name))
		if err != nil {
			n.t.Fatal(err)
		}
		n.write(rel, value+"\n")
	}
	out, err := exec.CommandContext(n.ctx, "sh", "-uc", strings.ReplaceAll(HostOS("linux").Facts.Looks(true, nil)[0].Args[2], "/sys/", root+"/sys/"), "sh", "all", pci).Output()
	if err != nil {
		n.t.Fatal(err)
	}
	return answered(n.t, []byte(`
weft { name = "facts" }
fabric "f" {
  transport = "infiniband"
  host_mtu  = 2044
  plane "a" { subnet = "10.0.0.0/24" }
}
server "st1" {
  host = "st1.example.net"
  rnic "p0" {
    match   = { pci = "`+pci+`" }
    address = "10.0.0.11/24"
    fabric  = fabric.f
  }
}
`), []byte(strings.ReplaceAll(string(out), root, "")))
}

// files copies what umad2sim shows to a program on a host below
// /sys/class/infiniband: real files, for as long as the program runs.
func (n *subnet) files(host, to string) {
	n.t.Helper()
	cmd := n.at(host, "cat", "/sys/class/infiniband/ibsim0/node_type", "-")
	hold, err := cmd.StdinPipe()
	if err != nil {
		n.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		n.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		err = os.CopyFS(to, os.DirFS(filepath.Join(n.dir, "sys-"+strconv.Itoa(cmd.Process.Pid), "sys/class/infiniband")))
	}
	_ = hold.Close()
	_, _ = io.Copy(io.Discard, out)
	if ended := cmd.Wait(); err != nil || ended != nil || line != "1: CA\n" {
		n.t.Fatalf("read as %s: %v, %v: %q", host, err, ended, line)
	}
}

func pkeys(list []host.PKey) string {
	var words []string
	for _, k := range list {
		words = append(words, k.String())
	}
	return strings.Join(words, ", ")
}
