//go:build linux

package guest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/require"
)

// needGuests skips a test unless guests are asked for and can run here. Whoever
// demands them with WEFT_REQUIRE=lab gets a failure instead. They are not part
// of every go test: they want the machine for themselves.
func needGuests(t testing.TB) {
	t.Helper()
	demanded := require.Demanded(require.Lab)
	if when := os.Getenv("WEFT_LAB"); when == "later" || when == "" && !demanded {
		t.Skip("guests with real kernels run by make lab")
	}
	err := Missing()
	if err == nil {
		return
	}
	if demanded {
		t.Fatalf("%v\nhint: %s", err, hint.Of(err))
	}
	t.Skipf("%v (%s)", err, hint.Of(err))
}

// patience is how long anything in guests may take on a busy machine.
const patience = 20 * time.Minute

// TestImage is that there is an image to boot from. make lab runs it beside the
// compilers: it waits for a mirror much of the time.
func TestImage(t *testing.T) { built(t) }

// built is the image, which is made where there is none.
func built(t testing.TB) *Image {
	t.Helper()
	needGuests(t)
	image, err := Build(t.Context(), os.Stderr)
	if err != nil {
		t.Fatalf("%v\nhint: %s", err, hint.Of(err))
	}
	if image.Built > 0 {
		minutes(t, "image", image.Built)
	}
	return image
}

// lab boots two guests on two planes, and ends them with the test.
func lab(t testing.TB) *Lab {
	t.Helper()
	image := built(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	two := func(last string) []NIC {
		return []NIC{
			{Plane: "a", PCI: "0000:41:00.0", DCB: true},
			{Plane: "b", PCI: "0000:41:00.1", MAC: "02:00:00:00:0b:0" + last, DCB: true},
		}
	}
	begun, logs := time.Now(), t.ArtifactDir()
	l, err := Start(ctx, []Spec{
		{Name: "one.example.net", Users: []string{"weft"}, NICs: two("1")},
		{Name: "two.example.net", NICs: two("2"), Drives: []Drive{{ID: "nvme-eui.0000000000000001", Size: 1 << 30}}},
	}, Options{Image: image, Log: os.Stderr, Logs: logs})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, g := range l.Guests() {
				t.Logf("console of %s:\n%s", g.Name(), g.ConsoleTail(30))
			}
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	minutes(t, "boot", time.Since(begun))
	return l
}

// minutes notes how long a part took.
func minutes(t testing.TB, part string, took time.Duration) {
	t.Logf("lab: %-10s %4.1f min", part, took.Minutes())
}

// run runs a script in a guest.
func run(t testing.TB, g *Guest, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	out, err := g.Run(ctx, script)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestGuests(t *testing.T) {
	l := lab(t)
	one, two := l.Guest("one.example.net"), l.Guest("two.example.net")
	for _, part := range []struct {
		name string
		test func(*testing.T, *Lab, *Guest, *Guest)
	}{
		{"identity", testIdentity},
		{"planes", testPlanes},
		{"cut", testCut},
		{"dcb", testDCB},
		{"nvme-tcp", func(t *testing.T, l *Lab, one, two *Guest) { testNVMe(t, one, two, "tcp") }},
		{"nvme-rdma", func(t *testing.T, l *Lab, one, two *Guest) { testNVMe(t, one, two, "rdma") }},
		{"weft-roce", func(t *testing.T, l *Lab, one, two *Guest) {
			testRDMA(t, l, one, two, softRDMA{"rdma_rxe", "eth1", "CA", "a", "10.90.1.1", "10.90.1.2"})
		}},
		{"weft-iwarp", func(t *testing.T, l *Lab, one, two *Guest) { // siw is not built by Debian
			testRDMA(t, l, one, two, softRDMA{"siw", "eth2", "RNIC", "b", "10.90.2.1", "10.90.2.2"})
		}},
		{"never boots", testNeverBoots},
		{"reset", testReset},
	} {
		begun := time.Now()
		if !t.Run(part.name, func(t *testing.T) { part.test(t, l, one, two) }) {
			return // what follows builds on it
		}
		minutes(t, part.name, time.Since(begun))
	}
}

func testIdentity(t *testing.T, _ *Lab, one, two *Guest) {
	if got := run(t, one, "hostname; id weft -un; sudo -u weft sudo -n id -un; ls /sys/bus/pci/devices/0000:41:00.1/virtio*/net"); got != "one\nweft\nroot\neth2\n" {
		t.Errorf("one: %q", got)
	}
	if got := run(t, two, "lsblk -bno SIZE,TYPE $(readlink -f /dev/disk/by-id/nvme-eui.0000000000000001); cat /sys/class/net/eth2/address"); strings.Join(strings.Fields(got), " ") != "1073741824 disk 02:00:00:00:0b:02" {
		t.Errorf("two: %q", got)
	}
	if failed := run(t, one, "systemctl --failed --no-legend --plain"); failed != "" {
		t.Errorf("units that failed:\n%s", failed)
	}
	// Nothing leads out of a guest but its planes.
	if got := run(t, one, "ip -4 route show default"); got != "" {
		t.Errorf("a way out: %s", got)
	}
	t.Log(run(t, one, "systemd-analyze; systemd-analyze blame | head -15"))
}

// testPlanes gives the cards addresses and sends packets that fill a large
// MTU, and sees them pass the hub.
func testPlanes(t *testing.T, l *Lab, one, two *Guest) {
	for n, g := range []*Guest{one, two} {
		run(t, g, fmt.Sprintf("for c in 1 2; do ip link set eth$c mtu 9000 up; ip addr add 10.90.$c.%d/24 dev eth$c; done", n+1))
	}
	before := two.Port(1).Counts()
	run(t, one, "ping -c 3 -w 120 -I eth1 10.90.1.2")
	run(t, one, "ping -c 3 -w 120 -M do -s 8972 -I eth2 10.90.2.2")
	after := two.Port(1).Counts()
	if got := after.OutBytes - before.OutBytes; got < 3*9000 || after.Lost != before.Lost {
		t.Errorf("plane b carried %d bytes to two: %+v", got, after)
	}
	l.Plane("b").Delay(300 * time.Millisecond)
	defer l.Plane("b").Delay(0)
	slow := run(t, one, "ping -c 1 -w 120 -I eth2 10.90.2.2")
	var least float64
	if at := strings.Index(slow, "rtt min/avg/max/mdev = "); at < 0 {
		t.Errorf("no time in %s", slow)
	} else if _, err := fmt.Sscanf(slow[at:], "rtt min/avg/max/mdev = %f", &least); err != nil || least < 600 {
		t.Errorf("a delay of 300 ms each way, and an answer after %g ms, %v", least, err)
	}
}

// testCut cuts one plane: nothing passes, the other goes on, and the loss is
// counted. A pulled cable is something that the guest sees itself.
func testCut(t *testing.T, l *Lab, one, two *Guest) {
	l.Plane("a").Cut(true)
	run(t, one, "! ping -c 2 -w 4 -I eth1 10.90.1.2")
	run(t, one, "ping -c 1 -w 120 -I eth2 10.90.2.2")
	if c := one.Port(0).Counts(); c.Lost == 0 {
		t.Errorf("nothing was lost: %+v", c)
	}
	l.Plane("a").Cut(false)
	run(t, one, "ping -c 1 -w 120 -I eth1 10.90.1.2")

	if err := one.Carrier(0, false); err != nil {
		t.Fatal(err)
	}
	run(t, one, "for i in $(seq 600); do [ $(cat /sys/class/net/eth1/carrier) = 0 ] && exit; sleep 0.1; done; exit 1")
	if err := one.Carrier(0, true); err != nil {
		t.Fatal(err)
	}
	run(t, one, "ping -c 1 -w 120 -I eth1 10.90.1.2")
}

// testDCB speaks to the stand-in through the real tool and the real kernel.
func testDCB(t *testing.T, _ *Lab, one, _ *Guest) {
	run(t, one, `
dcb dcbx set dev eth1 host ieee
dcb ets set dev eth1 willing off prio-tc all:0 3:3 tc-tsa all:ets tc-bw all:0 0:50 3:50
dcb app add dev eth1 dscp-prio 26:3
dcb pfc set dev eth1 prio-pfc all:off 3:on
`)
	for look, want := range map[string]string{
		"dcb -j pfc show dev eth1":  `"prio_pfc":[false,false,false,true,false,false,false,false]`,
		"dcb -j ets show dev eth1":  `"tc_bw":[50,0,0,50,0,0,0,0]`,
		"dcb -j app show dev eth1":  `"dscp_prio":[[26,3`,
		"dcb -j dcbx show dev eth1": `{"host":true,"ieee":true}`,
		"dcb -j pfc show dev eth2":  `"prio_pfc":[false,false,false,false,false,false,false,false]`,
		"cat /sys/class/net/*/mtu":  "9000",
	} {
		if got := run(t, one, look); !strings.Contains(got, want) {
			t.Errorf("%s: %s", look, got)
		}
	}
	for _, refused := range []string{
		"dcb dcbx set dev eth1 ieee",
		"dcb ets set dev eth1 tc-tsa all:ets tc-bw all:0 0:60 3:50",
		"dcb app add dev eth1 ethtype-prio 0x8906:3",
		"dcb pfc show dev eth0", // the management card has no stand-in
	} {
		run(t, one, "! "+refused)
	}
}

// nvmet exports a memory disk by the kernel's own target, through configfs.
const nvmet = `
modprobe null_blk nr_devices=0 # the ones made by itself forget what is written
modprobe -a nvmet-tcp nvmet-rdma
s=/sys/kernel/config/nvmet/subsystems/nqn.2026-11.net.example:lab
if [ ! -d $s ]; then
	mkdir -p /sys/kernel/config/nullb/lab
	cd /sys/kernel/config/nullb/lab
	echo 64 >size; echo 4096 >blocksize; echo 1 >memory_backed; echo 1 >power
	mkdir $s $s/namespaces/1
	echo 1 >$s/attr_allow_any_host
	echo -n /dev/$(ls /sys/block | grep -x -e 'nullb.*' -e lab) >$s/namespaces/1/device_path
	echo 1 >$s/namespaces/1/enable
fi
p=/sys/kernel/config/nvmet/ports/$PORT
mkdir $p
echo ipv4 >$p/addr_adrfam; echo $TYPE >$p/addr_trtype; echo $ADDR >$p/addr_traddr; echo 4420 >$p/addr_trsvcid
ln -s $s $p/subsystems/lab
`

// testNVMe makes the kernels speak NVMe over a plane: kernel target, kernel
// host, nvme-cli, and fio that reads back what it wrote.
func testNVMe(t *testing.T, one, two *Guest, transport string) {
	port := "1"
	if transport == "rdma" {
		port = "2"
		for _, g := range []*Guest{one, two} {
			run(t, g, "modprobe rdma_rxe; rdma link add rxe0 type rxe netdev eth1; rdma -j link show | grep -q '\"ACTIVE\"'")
		}
	}
	run(t, two, "PORT="+port+" TYPE="+transport+" ADDR=10.90.1.2"+nvmet)
	run(t, one, "modprobe nvme-"+transport)
	connect := "-t " + transport + " -a 10.90.1.2 -s 4420"
	if got := run(t, one, "nvme discover "+connect); !strings.Contains(got, "nqn.2026-11.net.example:lab") {
		t.Errorf("discovered: %s", got)
	}
	run(t, one, "nvme connect "+connect+" -n nqn.2026-11.net.example:lab -i 1 --keep-alive-tmo=120 --ctrl-loss-tmo=600")
	// The disk comes a moment after the connection.
	run(t, one, `
for i in $(seq 600); do [ -b /dev/nvme0n1 ] && break; sleep 0.1; done
fio --name=lab --filename=/dev/nvme0n1 --ioengine=libaio --direct=1 --rw=write --bs=16k --iodepth=4 --size=1M --verify=crc32c --do_verify=1 --verify_fatal=1
`)
	if got := run(t, one, "cat /sys/class/nvme/nvme0/transport /sys/class/nvme/nvme0/state"); got != transport+"\nlive\n" {
		t.Errorf("the controller: %q", got)
	}
	run(t, one, "nvme disconnect -n nqn.2026-11.net.example:lab")
	run(t, two, unexport(port))
}

// unexport takes away a port that nvmet made.
func unexport(port string) string {
	return "rm /sys/kernel/config/nvmet/ports/" + port + "/subsystems/lab; rmdir /sys/kernel/config/nvmet/ports/" + port
}

// testReset presses the button of one guest, restarts the other in good order,
// and finds what was synced to disk and nothing that was volatile.
func testReset(t *testing.T, _ *Lab, one, two *Guest) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, g := range []*Guest{one, two} {
		run(t, g, "echo kept >/var/lib/kept; sync; echo gone >/run/gone")
	}
	again := make(chan error, 1)
	go func() { again <- one.Reset(ctx) }()
	if err := errors.Join(two.Reboot(ctx), <-again); err != nil {
		t.Fatal(err)
	}
	for _, g := range []*Guest{one, two} {
		if got := run(t, g, "cat /var/lib/kept; ls /run/gone 2>&1 || true; ip -o -4 addr show dev eth1"); !strings.HasPrefix(got, "kept\n") || !strings.Contains(got, "No such file") || strings.Contains(got, "10.90") {
			t.Errorf("%s: %s", g.Name(), got)
		}
	}
}
