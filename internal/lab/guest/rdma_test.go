//go:build linux

package guest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// softRDMA is one of the kernel's two kinds of RDMA in software, on one plane.
type softRDMA struct {
	module, nic string
	node        string // node_type of its device
	plane       string
	one, two    string // the guests' addresses
}

// testRDMA runs weft's own RDMA on the libraries and the kernel: what elsewhere
// is tested with a double of them, both ends in one guest, and then each agent
// with the kernel as its peer and with the other agent.
func testRDMA(t *testing.T, l *Lab, one, two *Guest, soft softRDMA) {
	soft.add(t, one, two)
	for _, g := range []*Guest{one, two} {
		if got := run(t, g, "cat /sys/class/infiniband/soft/node_type"); !strings.HasSuffix(strings.TrimSpace(got), " "+soft.node) {
			t.Errorf("node type %q, want %s", got, soft.node)
		}
	}
	for name, args := range map[string][]string{
		"rdma.test":      {"test", "-c", "weft/internal/nvme/rdma"},
		"verbs.test":     {"test", "-c", "weft/internal/nvme/rdma/verbs"},
		"perf.test":      {"test", "-c", "weft/internal/nvme/rdma/perf"},
		"weft-target":    {"build", "weft/cmd/weft-target"},
		"weft-initiator": {"build", "weft/cmd/weft-initiator"},
	} {
		to := one
		if name == "weft-target" {
			to = two
		}
		put(t, to, compile(t, name, args...), "/root/"+name)
	}
	for _, suite := range []string{"verbs", "rdma", "perf"} {
		begun := time.Now()
		passed, out := runSuite(t, one, suite, soft)
		for try := 1; !passed && try < soft.tries(); try++ {
			t.Logf("%s, once more after:\n%s", suite, out)
			passed, out = runSuite(t, one, suite, soft)
		}
		if !passed {
			t.Errorf("%s:\n%s", suite, out)
		}
		t.Logf("%s: %.1f min, %d pass", suite, time.Since(begun).Minutes(), strings.Count(out, "--- PASS"))
	}
	testWeftTarget(t, l, one, two, soft)
	if soft.module != "siw" {
		testRestarts(t, one, two, soft)
		testMemlock(t, one, two, soft)
		testCHAP(t, one, two, soft)
	}
	testWeftInitiator(t, one, two, soft)
}

// tries is how often a thing may be tried: siw now and then leaves lying what has
// come in, until the connection is given up (rdma_link.md, real/siw.txtar).
func (soft softRDMA) tries() int {
	if soft.module == "siw" {
		return 5
	}
	return 1
}

// initiate runs weft-initiator, again where a connection was given up and the kind of
// RDMA may be tried again.
func (soft softRDMA) initiate(t *testing.T, g *Guest, args string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for try := 1; ; try++ {
		_, err := g.Run(ctx, "/root/weft-initiator "+args)
		if err == nil {
			return
		}
		lost := strings.Contains(err.Error(), "has disconnected") ||
			strings.Contains(err.Error(), "did not answer") || strings.Contains(err.Error(), "no answer in time")
		if !lost || try == soft.tries() {
			t.Fatal(err)
		}
		t.Logf("once more after: %v", err)
	}
}

// add makes it the only RDMA there is in guests.
func (soft softRDMA) add(t testing.TB, guests ...*Guest) {
	t.Helper()
	for _, g := range guests {
		run(t, g, "for link in $(ls /sys/class/infiniband 2>/dev/null); do rdma link delete $link; done\n"+
			"modprobe "+soft.module+"; rdma link add soft type "+strings.TrimPrefix(soft.module, "rdma_")+" netdev "+soft.nic+"\n"+
			"for i in $(seq 600); do grep -q ACTIVE /sys/class/infiniband/soft/ports/1/state && exit; sleep 0.1; done; exit 1")
	}
}

// compile makes a program for guests.
func compile(t testing.TB, name string, args ...string) string {
	t.Helper()
	at := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", append([]string{args[0], "-o", at, "-ldflags=-s -w"}, args[1:]...)...)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return at
}

// runSuite runs the tests of a package that want RDMA; none of them may skip.
func runSuite(t *testing.T, g *Guest, suite string, soft softRDMA) (passed bool, out string) {
	t.Helper()
	out = run(t, g, fmt.Sprintf(`cd /root; ulimit -l unlimited
WEFT_RDMA_ADDR=%s WEFT_RDMA_INTERFACE=%s ./%s.test -test.v -test.timeout 20m -test.run '^Test(Transfers|BadKey|CloseWakes|Refused|NoAllocation|.*Hardware)$' 2>&1 || echo FAIL`, soft.one, soft.nic, suite))
	return strings.Contains(out, "--- PASS") && !strings.Contains(out, "--- SKIP") && !strings.Contains(out, "FAIL"), out
}

// serving waits until weft-target serves.
const serving = `for i in $(seq 600); do /root/weft-target --root /run/lab status >/dev/null 2>&1 && exit; sleep 0.2; done
journalctl -u lab-target >&2; exit 1`

// hostNames make a host one that weft-target lets in.
const hostNames = "--hostnqn nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"

// inMemory is a disk of weft-target.
const inMemory = "backend = \"memory\"\nsize = 67108864"

// serveWeft starts weft-target with a disk, beside the kernel's target. What is
// said after the disk belongs to the subsystem.
func serveWeft(t testing.TB, two *Guest, soft softRDMA, disk string) {
	t.Helper()
	run(t, two, `mkdir -p /run/lab/etc/weft
cat >/run/lab/etc/weft/target.toml <<X
owner = "lab"
[[portal]]
transport = "rdma"
address = "`+soft.two+`:4421"
[[subsystem]]
nqn = "nqn.2026-11.net.example:weft"
serial = "LAB"
allow_hosts = ["nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555"]
[[subsystem.namespace]]
id = 1
uuid = "6ba7b811-9dad-11d1-80b4-00c04fd430c8"
block_size = 4096
`+disk+`
X
systemd-run --quiet --unit=lab-target --property=LimitMEMLOCK=infinity /root/weft-target --root /run/lab serve
`+serving)
}

// testWeftTarget has the kernel's host and weft's own write to weft-target, the
// first while the plane is cut.
func testWeftTarget(t *testing.T, l *Lab, one, two *Guest, soft softRDMA) {
	serveWeft(t, two, soft, inMemory)
	soft.initiate(t, one, "verify --transport rdma --traddr "+soft.two+":4421 --nqn nqn.2026-11.net.example:weft "+hostNames+
		" --connect-timeout 120s --keep-alive-tmo 60s --size 4M --bs 4096 --iodepth 8 --number-ios 2000 --i-will-overwrite nqn.2026-11.net.example:weft/1")
	run(t, one, "modprobe nvme-rdma")
	if got := run(t, one, "nvme discover -t rdma -a "+soft.two+" -s 4421 "+hostNames+hostID); !strings.Contains(got, "nqn.2026-11.net.example:weft\n") || !strings.Contains(got, "trtype:  rdma") {
		t.Errorf("discovered: %s", got)
	}
	connectWeft(t, one, soft, "")
	ended := spawn(t, one, "fio --name=lab --filename=/dev/nvme0n1 --ioengine=libaio --direct=1 --rw=randrw --bs=4k --iodepth=8 --size=4M"+
		" --time_based --runtime=60 --verify=crc32c --verify_backlog=128 --verify_fatal=1")
	run(t, one, "until pgrep -x fio >/dev/null; do sleep 0.2; done; sleep 5")
	l.Plane(soft.plane).Cut(true)
	select {
	case err := <-ended:
		l.Plane(soft.plane).Cut(false)
		t.Fatalf("fio ended while nothing passed: %v", err)
	case <-time.After(10 * time.Second):
	}
	l.Plane(soft.plane).Cut(false)
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if got := run(t, one, "cat /sys/class/nvme/nvme0/transport /sys/class/nvme/nvme0/state"); got != "rdma\nlive\n" {
		t.Errorf("the controller: %q", got)
	}
	run(t, one, "nvme disconnect -n nqn.2026-11.net.example:weft")
	run(t, two, "systemctl stop lab-target; rm -r /run/lab")
}

const hostID = " --hostid 11111111-2222-3333-4444-555555555555"

// nvmeConnect is the kernel's way to weft-target.
func nvmeConnect(soft softRDMA) string {
	return "nvme connect -t rdma -a " + soft.two + " -s 4421 -n nqn.2026-11.net.example:weft " + hostNames + hostID + " -i 1 --keep-alive-tmo=120 --ctrl-loss-tmo=600"
}

// connectWeft connects the kernel's host, which has no patience with a queue that
// takes 3 seconds to connect.
func connectWeft(t *testing.T, one *Guest, soft softRDMA, more string) {
	run(t, one, "connect() { "+nvmeConnect(soft)+more+"; }\n"+
		"connect || connect || connect || { dmesg | tail -20 >&2; exit 1; }\n"+
		"for i in $(seq 600); do [ -b /dev/nvme0n1 ] && exit; sleep 0.1; done; exit 1")
}

// testWeftInitiator has weft-initiator write to the kernel's target and read
// all of it back.
func testWeftInitiator(t *testing.T, one, two *Guest, soft softRDMA) {
	run(t, two, "PORT=3 TYPE=rdma ADDR="+soft.two+nvmet)
	to := "--transport rdma --traddr " + soft.two + ":4420 --nqn nqn.2026-11.net.example:lab " + hostNames + " --connect-timeout 120s --keep-alive-tmo 60s "
	soft.initiate(t, one, "check "+to)
	soft.initiate(t, one, "verify "+to+"--size 4M --bs 4096 --iodepth 8 --number-ios 2000 --fsync 16 --i-will-overwrite nqn.2026-11.net.example:lab/1")
	run(t, two, unexport("3"))
}

// put copies a program into a guest.
func put(t testing.TB, g *Guest, from, to string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stop := context.AfterFunc(ctx, g.forgetClient)
	defer stop()
	f, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	client, err := g.login(ctx)
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	session.Stdin = io.Reader(f)
	if out, err := session.CombinedOutput("cat >" + to + " && chmod 755 " + to); err != nil {
		t.Fatalf("%s: %v\n%s", to, err, out)
	}
}
