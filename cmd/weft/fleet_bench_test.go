//go:build linux

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"weft/internal/bundle"
	"weft/internal/remote"
	"weft/internal/remote/remotetest"
	"weft/internal/remote/ssh"
	"weft/internal/run"
	"weft/inventory"
)

// names are of machines that the rig serves as one.
func names(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("n%02d", i)
	}
	return list
}

// A fleet is many names of one OpenSSH server, and files that describe what is
// there already: there is nothing to do.
type fleet struct {
	rig       *sshRig
	machine   *sshMachine
	weft, dir string
	names     []string
	resources int // of each name
}

func newFleet(tb testing.TB, names []string, resources int) *fleet {
	tb.Helper()
	needSSHD(tb)
	f := &fleet{names: names, resources: resources, dir: tb.TempDir(), weft: weftBinary(tb)}
	check := func(err error) {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
	}
	rig, err := newSSHRig(tb.TempDir())
	check(err)
	f.rig = rig
	tb.Cleanup(rig.stop)
	f.machine, err = rig.start(names...)
	check(err)
	check(os.Mkdir(f.conf(), 0o755))
	var blocks strings.Builder
	for i := range resources {
		name := filepath.Join(f.conf(), fmt.Sprint("f", i))
		check(os.WriteFile(name, []byte("content\n"), 0o644))
		if i%3 == 2 {
			fmt.Fprintf(&blocks, "  command \"c%d\" {\n    run     = [\"touch\", %q]\n    creates = %q\n  }\n", i, name, name)
		} else {
			fmt.Fprintf(&blocks, "  file %q { content = \"content\\n\" }\n", name)
		}
	}
	check(os.WriteFile(filepath.Join(f.dir, "main.weft.hcl"), fmt.Appendf(nil,
		"weft { name = \"bench\" }\nserver \"node\" {\n  for_each = toset([%s])\n  host     = each.key\n%s}\n",
		`"`+strings.Join(names, `", "`)+`"`, blocks.String()), 0o600))
	check(f.remember())
	return f
}

// env is what a weft needs that plans for the fleet.
func (f *fleet) env() []string {
	return append(os.Environ(), "HOME="+f.rig.home, "PATH="+f.rig.bin+":"+os.Getenv("PATH"))
}

// here has this process, and the wefts that it starts, know the fleet.
func (f *fleet) here(tb testing.TB) *fleet {
	tb.Setenv("HOME", f.rig.home)
	tb.Setenv("PATH", f.rig.bin+":"+os.Getenv("PATH"))
	return f
}

func (f *fleet) conf() string { return filepath.Join(f.machine.dir, "conf") }

// remember writes the ledger in which the machine knows all of its names.
func (f *fleet) remember() error {
	parts := newServices(nil, io.Discard, io.Discard, bundle.New())
	parts.opts.dir = f.dir
	var m *inventory.Model
	var p *run.Site
	m, err := parts.project.load()
	if err == nil {
		p, err = parts.fabric.open(m)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(map[string]any{"format": 1, "owner": "bench", "serial": 1, "roster": p.Input.Roster})
	if err != nil {
		return err
	}
	dir := filepath.Join(f.machine.dir, "lib", "bench")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "ledger.json"), text, 0o600)
}

// weftBinary is this test, called weft, with its weft-lab beside it.
func weftBinary(tb testing.TB) string {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	dir := tb.TempDir()
	for _, name := range []string{"weft", "weft-lab"} {
		name = filepath.Join(dir, name)
		if os.Link(self, name) == nil {
			continue
		}
		raw, err := os.ReadFile(self)
		if err == nil {
			err = os.WriteFile(name, raw, 0o755)
		}
		if err != nil {
			tb.Fatal(err)
		}
	}
	return filepath.Join(dir, "weft")
}

// A cost is what a process took.
type cost struct {
	elapsed, cpu time.Duration
	rss          int64 // at most, in bytes
}

// ran runs a process that must succeed.
func ran(tb testing.TB, want, name string, args ...string) cost {
	tb.Helper()
	var out bytes.Buffer
	cmd := exec.Command(name, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	begun := time.Now()
	if err := cmd.Run(); err != nil || !strings.Contains(out.String(), want) {
		tb.Fatalf("%s: %v, want %q in\n%s", cmd, err, want, out.String())
	}
	used := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	return cost{time.Since(begun), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), used.Maxrss << 10}
}

// plan is a plan that finds nothing to do.
func (f *fleet) plan(tb testing.TB) cost {
	tb.Helper()
	return ran(tb, "Nothing to do: all of ", f.weft, "-C", f.dir, "plan", "--detailed-exitcode", "--concise")
}

// logins logs in to every name and runs one command there, as many at a time as
// plan does.
func (f *fleet) logins(tb testing.TB) time.Duration {
	tb.Helper()
	d := ssh.NewDialer(ssh.Config{})
	queue := make(chan string)
	var all sync.WaitGroup
	begun := time.Now()
	for range 16 {
		all.Go(func() {
			for name := range queue {
				if err := login1(tb.Context(), d, name); err != nil {
					tb.Error(err)
				}
			}
		})
	}
	for _, name := range f.names {
		queue <- name
	}
	close(queue)
	all.Wait()
	return time.Since(begun)
}

func login1(ctx context.Context, d *ssh.Dialer, name string) error {
	c, err := d.Dial(ctx, ssh.Target{Name: name})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Run(ctx, remote.Cmd{Args: []string{"true"}})
	return err
}

// playbook is the same for Ansible, on some of the names.
func (f *fleet) playbook(b *testing.B, names []string) (time.Duration, error) {
	program, err := exec.LookPath("ansible-playbook")
	if err != nil {
		return 0, err
	}
	var tasks strings.Builder
	for i := range f.resources {
		name := filepath.Join(f.conf(), fmt.Sprint("f", i))
		if i%3 == 2 {
			fmt.Fprintf(&tasks, "    - command: {cmd: 'touch %s', creates: '%s'}\n", name, name)
		} else {
			fmt.Fprintf(&tasks, "    - copy: {content: \"content\\n\", dest: '%s'}\n", name)
		}
	}
	for file, text := range map[string]string{
		"play.yml":    "- hosts: all\n  tasks:\n" + tasks.String(),
		"hosts":       strings.Join(names, "\n") + "\n",
		"ansible.cfg": "[defaults]\nforks = 20\nhost_key_checking = True\n[ssh_connection]\npipelining = True\nretries = 20\nssh_args = -F " + f.rig.file("config") + " -o ControlMaster=auto -o ControlPersist=60s\n",
	} {
		if err := os.WriteFile(filepath.Join(f.dir, file), []byte(text), 0o600); err != nil {
			return 0, err
		}
	}
	cmd := exec.Command(program, "--check", "-i", "hosts", "play.yml")
	cmd.Dir = f.dir
	begun := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	return time.Since(begun), nil
}

// To plan 50 names of a real sshd where nothing is to be done takes little more
// than to log in to them. Ansible's check of the same runs beside it, on 20 of
// the names.
func BenchmarkPlanOpenSSH(b *testing.B) {
	f := newFleet(b, names(50), 12).here(b)
	f.plan(b) // what is read for the first time is in memory from now on
	var plans, floors []time.Duration
	for b.Loop() {
		for range 3 {
			floors = append(floors, f.logins(b))
			plans = append(plans, f.plan(b).elapsed)
		}
	}
	took, floor := median(plans), median(floors)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(took.Seconds(), "s/plan")
	b.ReportMetric(floor.Seconds(), "s/logins")
	b.ReportMetric(took.Seconds()/floor.Seconds(), "of-logins")
	b.Logf("load average %s", load())
	peer := f.names[:20]
	check, err := f.playbook(b, peer)
	if err != nil {
		b.Logf("peer not run: %v", err)
		return
	}
	b.ReportMetric(check.Seconds(), "s/ansible-of-20")
	b.ReportMetric(check.Seconds()/float64(len(peer))/(took.Seconds()/float64(len(f.names))), "x-ansible")
}

func median(list []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(list))[len(list)/2]
}

// load is the load average of the last minute, with which a time is to be read.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return cmp.Or(strings.Fields(string(text))...)
}

// relayed puts a relay between the names and their machine.
func (f *fleet) relayed(tb testing.TB) *remotetest.Relay {
	tb.Helper()
	relay := remotetest.NewRelay(tb, f.machine.address)
	config, err := os.ReadFile(f.rig.file("config"))
	if err != nil {
		tb.Fatal(err)
	}
	_, was, _ := strings.Cut(f.machine.address, ":")
	_, port, _ := strings.Cut(relay.Address, ":")
	changed := strings.ReplaceAll(string(config), "Port "+was, "Port "+port)
	if err := os.WriteFile(f.rig.file("config"), []byte(changed), 0o600); err != nil {
		tb.Fatal(err)
	}
	return relay
}

// With a round trip of 50 ms the number of resources does not count.
func BenchmarkPlanFarAway(b *testing.B) {
	for _, resources := range []int{12, 120} {
		b.Run(fmt.Sprint(resources, " resources"), func(b *testing.B) {
			f := newFleet(b, names(1), resources).here(b)
			f.relayed(b).Delay(25 * time.Millisecond)
			f.plan(b)
			var plans, floors []time.Duration
			for b.Loop() {
				plans = append(plans, f.plan(b).elapsed)
				floors = append(floors, f.logins(b))
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(plans).Seconds(), "s/plan")
			b.ReportMetric(median(floors).Seconds(), "s/login")
		})
	}
}

// A plan waits for a server at most four times after it has logged in, however
// much there is to read. Machines that are busy make it look like more.
func TestPlanRoundTrips(t *testing.T) {
	const most = 4
	for _, resources := range []int{12, 120} {
		f := newFleet(t, names(1), resources).here(t)
		relay := f.relayed(t)
		// A busy machine counts more, never less: the least of each is true.
		bare, all, least := math.MaxInt, math.MaxInt, 0
		for quiet := 100 * time.Millisecond; quiet < 10*time.Second; quiet *= 2 {
			relay.CountTrips(quiet)
			f.logins(t)
			bare = min(bare, relay.Trips()-1) // of which one is the command
			relay.CountTrips(quiet)
			f.plan(t)
			all = min(all, relay.Trips())
			if least = all - bare; 1 <= least && least <= most {
				break
			}
		}
		if least < 1 || least > most {
			t.Errorf("%d resources: %d round trips after the login; want at most %d", resources, least, most)
		}
	}
}

// doctor waits for a server at most once more than a plan does, whatever it judges.
func TestDoctorRoundTrips(t *testing.T) {
	f := newFleet(t, names(1), 12).here(t)
	relay := f.relayed(t)
	planned, examined := math.MaxInt, math.MaxInt
	for quiet := 100 * time.Millisecond; quiet < 10*time.Second; quiet *= 2 { // as above
		relay.CountTrips(quiet)
		f.plan(t)
		planned = min(planned, relay.Trips())
		relay.CountTrips(quiet)
		out, _ := exec.Command(f.weft, "-C", f.dir, "doctor").CombinedOutput() // how this machine is does not matter
		if !strings.Contains(string(out), " results pass in ") {
			t.Fatalf("%s", out)
		}
		if examined = min(examined, relay.Trips()); examined <= planned+1 {
			return
		}
	}
	t.Errorf("%d round trips, and a plan takes %d; want at most one more", examined, planned)
}

const fleetText = `weft { name = "bench" }
connection "default" {
  user   = "weft"
  become = "sudo"
}
server "node" {
  count = %d
  host  = "n${count.index}.example.net"
  sysctl "vm.swappiness" { value = "60" }
  kernel_module "nvmet" {}
  package "rdma-core" {}
  package "chrony" {}
%s}
`

// Thousands of servers plan on one laptop. The lab is a process of its own.
func BenchmarkPlanFleet(b *testing.B) {
	for _, servers := range []int{500, 5000} {
		b.Run(fmt.Sprint(servers, " servers"), func(b *testing.B) {
			dir, weft := b.TempDir(), weftBinary(b)
			var files strings.Builder
			for i := range 8 {
				fmt.Fprintf(&files, "  file \"/etc/f%d\" { content = \"content\\n\" }\n", i)
			}
			if err := os.WriteFile(filepath.Join(dir, "main.weft.hcl"), fmt.Appendf(nil, fleetText, servers, files.String()), 0o600); err != nil {
				b.Fatal(err)
			}
			ran(b, "The lab is up", weft, "-C", dir, "lab", "up", "--detach")
			defer ran(b, "", weft, "-C", dir, "lab", "down")
			var all []cost
			for b.Loop() {
				all = append(all, ran(b, fmt.Sprintf("Plan: %d to change; ", 12*servers), weft, "-C", dir, "--lab", "plan", "--concise"))
			}
			c := all[len(all)/2]
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(c.elapsed.Seconds(), "s/plan")
			b.ReportMetric(c.cpu.Seconds(), "CPU-s/plan")
			b.ReportMetric(float64(c.rss)/1e6, "MB")
			b.Logf("load average %s", load())
		})
	}
}
