//go:build linux

package guest

import (
	"context"
	"strings"
	"testing"
)

// testRestarts has the kernel's host and weft's own write and read what they have
// written while weft-target is restarted, and the kernel's host is reset. Each
// write is verified. A device cannot be taken away here: Soft-RoCE waits until no
// process has it open.
func testRestarts(t *testing.T, one, two *Guest, soft softRDMA) {
	serveWeft(t, two, soft, "backend = \"file\"\npath = \"/disk\"\nsize = 67108864")
	connectWeft(t, one, soft, "")
	// Which is longer than its parts, however slow those are.
	writing := spawn(t, one, "rm -f /run/enough; until [ -e /run/enough ]; do fio --name=lab --filename=/dev/nvme0n1 --ioengine=libaio --direct=1 --rw=randrw --bs=4k --iodepth=8 --size=4M"+
		" --time_based --runtime=5 --verify=crc32c --verify_backlog=128 --verify_fatal=1; done")
	const moves = `
reads() { read -r n _ </sys/block/nvme0n1/stat; echo $n; }
before=$(reads)
for i in $(seq 1200); do [ "$(cat /sys/class/nvme/nvme0/state)" = live ] && [ "$(reads)" -gt $((before + 32)) ] && exit; sleep 0.2; done
cat /sys/class/nvme/nvme0/state >&2; dmesg | tail -20 >&2; exit 1`
	run(t, one, moves)
	run(t, two, "systemctl restart lab-target\n"+serving)
	run(t, one, moves)
	run(t, one, "nvme reset /dev/nvme0\n"+moves)
	run(t, one, "touch /run/enough")
	if err := <-writing; err != nil {
		t.Errorf("the kernel's host: %v", err)
	}
	run(t, one, "nvme disconnect -n nqn.2026-11.net.example:weft")

	writing = spawn(t, one, "/root/weft-initiator verify --transport rdma --traddr "+soft.two+":4421 --nqn nqn.2026-11.net.example:weft "+hostNames+
		" --connect-timeout 120s --keep-alive-tmo 60s --runtime 20s --size 4M --bs 4096 --iodepth 8 --i-will-overwrite nqn.2026-11.net.example:weft/1")
	run(t, two, "for i in $(seq 600); do /root/weft-target --root /run/lab status --json | grep -q '\"io_queues\": [1-9]' && exit; sleep 0.2; done; exit 1")
	run(t, two, "systemctl restart lab-target\n"+serving)
	if err := <-writing; err != nil {
		t.Errorf("weft-initiator: %v", err)
	}
	run(t, two, "systemctl stop lab-target; rm -r /run/lab")
}

// testMemlock gives each agent too little locked memory: both say so, and what
// to do.
func testMemlock(t *testing.T, one, two *Guest, soft softRDMA) {
	const poor = "prlimit --memlock=65536 setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "
	serveWeft(t, two, soft, inMemory)
	check := "/root/weft-initiator check --transport rdma --traddr " + soft.two + ":4421 --nqn nqn.2026-11.net.example:weft " + hostNames + " --connect-timeout 120s 2>&1"
	if out := run(t, one, poor+check+" || true"); !strings.Contains(out, "ulimit -l") {
		t.Errorf("weft-initiator with 64 KiB of locked memory: %s", out)
	}
	run(t, one, check)
	run(t, two, "systemctl stop lab-target; systemd-run --quiet --unit=lab-poor --property=LimitMEMLOCK=64K --property=CapabilityBoundingSet=~CAP_IPC_LOCK /root/weft-target --root /run/lab serve\n"+serving)
	if out := run(t, one, check+" && echo connected || true"); strings.Contains(out, "connected") {
		t.Errorf("it connected: %s", out)
	}
	if log := run(t, two, "journalctl -q -o cat -u lab-poor"); !strings.Contains(log, "LimitMEMLOCK") {
		t.Errorf("weft-target with 64 KiB of locked memory: %s", log)
	}
	run(t, two, "systemctl is-active lab-poor; systemctl stop lab-poor; rm -r /run/lab")
}

// testCHAP has the kernel's host prove to weft-target who it is.
func testCHAP(t *testing.T, one, two *Guest, soft softRDMA) {
	run(t, two, "mkdir -p /run/lab/etc/weft; umask 077; /root/weft-target key >/run/lab/etc/weft/host.key")
	key := strings.TrimSpace(run(t, two, "cat /run/lab/etc/weft/host.key"))
	other := strings.TrimSpace(run(t, two, "/root/weft-target key"))
	serveWeft(t, two, soft, inMemory+"\n[[subsystem.auth]]\nhost = \"nqn.2014-08.org.nvmexpress:uuid:11111111-2222-3333-4444-555555555555\"\nkey_file = \"/etc/weft/host.key\"")
	for _, secret := range []string{"", " --dhchap-secret=" + other} {
		if out := run(t, one, nvmeConnect(soft)+secret+" 2>&1 && echo connected || true"); strings.Contains(out, "connected") {
			t.Errorf("with %q it connected: %s", secret, out)
		}
	}
	connectWeft(t, one, soft, " --dhchap-secret="+key)
	run(t, one, "dd if=/dev/nvme0n1 of=/dev/null bs=64k count=16 iflag=direct; nvme disconnect -n nqn.2026-11.net.example:weft")
	run(t, two, "systemctl stop lab-target; rm -r /run/lab")
}

// spawn runs a script meanwhile.
func spawn(t testing.TB, g *Guest, script string) <-chan error {
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := g.Run(ctx, script)
		ended <- err
	}()
	return ended
}
