//go:build unix

package prove

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestNICScript reads cards as the kernel shows them: the interface of a virtio
// card is below the virtio device, that of others below the card itself.
func TestNICScript(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	const pci = "sys/bus/pci/devices/"
	write(pci+"0000:41:00.0/net/ens1/mtu", "9000\n")
	write(pci+"0000:41:00.1/virtio2/net/eth1/mtu", "9000\n")
	write("sys/class/infiniband/rxe_p0/ports/1/gid_attrs/ndevs/0", "eth1\n")
	write("sys/class/infiniband/rxe_p0/ports/1/hw_counters/sent_pkts", "12\n")
	write("bin/ethtool", "#!/bin/sh\necho \"of $2: 7\"\n")
	script := strings.ReplaceAll(nicScript, "/sys/", root+"/sys/")
	cmd := exec.Command("/bin/sh", "-c", script, "sh", "0000:41:00.0", "0000:41:00.1")
	cmd.Env = []string{"PATH=" + root + "/bin:/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const want = "nic 0000:41:00.0\nof ens1: 7\nnic 0000:41:00.1\nof eth1: 7\nhw sent_pkts 12\n"
	if string(out) != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}
