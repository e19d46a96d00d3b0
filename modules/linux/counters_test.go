//go:build unix

package linux

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/tally"
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
	write("sys/class/infiniband/rxe_p0/ports/1/link_layer", "Ethernet\n")
	write("sys/class/infiniband/rxe_p0/ports/1/counters/symbol_error", "5\n")
	write(pci+"0000:42:00.0/net/ib0/mtu", "4092\n")
	write(pci+"0000:42:00.0/infiniband/mlx5_0/node_type", "1: CA\n")
	write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n")
	write("sys/class/infiniband/mlx5_0/ports/1/counters/link_downed", "3\n")
	write("sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "65535\n")
	write("bin/ethtool", "#!/bin/sh\necho \"of $2: 7\"\n")
	script := strings.ReplaceAll(nicScript, "/sys/", root+"/sys/")
	cmd := exec.Command("/bin/sh", "-c", script, "sh", "0000:41:00.0", "0000:41:00.1", "0000:42:00.0")
	cmd.Env = []string{"PATH=" + root + "/bin:/usr/bin:/bin"}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const want = "nic 0000:41:00.0\nof ens1: 7\nnic 0000:41:00.1\nof eth1: 7\nhw sent_pkts 12\n" +
		"nic 0000:42:00.0\nof ib0: 7\nib link_downed 3\nib symbol_error 65535\n"
	if string(out) != want {
		t.Errorf("got\n%swant\n%s", out, want)
	}
}

// What a port of InfiniBand counts is known whatever the driver; a counter that
// stands at its most says nothing.
func TestInfiniBandCounters(t *testing.T) {
	is := parseNICs("nic 0000:42:00.0\ndriver ib_new\nib link_downed 3\nib symbol_error 65535\n")["0000:42:00.0"]
	got, lacks := map[string]uint64{}, map[string]string{}
	for _, name := range ibNames() {
		samples, why := name.of(is, "p0")
		for _, s := range samples {
			got[s.Name] = s.Value
		}
		if samples == nil {
			lacks[name.name] = why
		}
	}
	if len(got) != 1 || got[tally.IBLinkDowned] != 3 {
		t.Errorf("%v", got)
	}
	if why := lacks[tally.IBSymbolErrors]; !strings.Contains(why, "perfquery -R") || !strings.Contains(lacks[tally.IBTransmitWait], "shows no port_xmit_wait") {
		t.Errorf("%v", lacks)
	}
}

// PFC frames are those that ask for a pause, by the names of each driver.
func TestPFCCounters(t *testing.T) {
	for text, driver := range map[string]string{
		"rx_priority_%d_xoff.nic: 4411\ntx_priority_%d_xoff.nic: 12\n":             "ice",
		"rx_ppp%d_frames         : 4411\ntx_ppp%d_frames         : 12\n":           "cxgb4",
		"rx_pfc_ena_frames_pri%d: 4411\ntx_pfc_ena_frames_pri%d: 12\n":             "bnxt_en",
		"     rx_prio%d_pause: 4411\n     tx_prio%d_pause: 12\n     rx_pause: 9\n": "mlx5_core",
	} {
		is := parseNICs("nic 0000:41:00.0\ndriver " + driver + "\n" + strings.ReplaceAll(text, "%d", "3"))["0000:41:00.0"]
		got := map[string]uint64{}
		for _, name := range nicNames(driver) {
			samples, _ := name.of(is, "p0")
			for _, s := range samples {
				if s.Priority == 3 {
					got[s.Name] = s.Value
				}
			}
		}
		if got[tally.PFCRx] != 4411 || got[tally.PFCTx] != 12 {
			t.Errorf("%s: %v", driver, got)
		}
	}
}

// Without an interface of the port nothing is counted, and it is said why.
func TestCountersOfNoPort(t *testing.T) {
	is := parseNICs("nic 0000:41:00.0\nports eth2/port/0/02:00:00:00:00:02 eth3/port/1/02:00:00:00:00:03\n")["0000:41:00.0"]
	if is == nil || !is.unfound || len(is.ports) != 2 {
		t.Errorf("%+v", is)
	}
}

func FuzzParseNICs(f *testing.F) {
	f.Add("nic 0000:41:00.0\ndriver mlx5_core\nNIC statistics:\n     rx_prio3_pause_duration: 120\n     rx_discards_phy: 0\nhw out_of_sequence 3\n")
	f.Add("nic x\nethtool failed\nhw a b\n")
	f.Fuzz(func(t *testing.T, text string) {
		for pci, nic := range parseNICs(text) {
			for _, name := range nicNames(nic.driver) {
				for _, s := range func() []tally.Count { got, _ := name.of(nic, pci); return got }() {
					if s.Port != pci || s.Name == "" {
						t.Errorf("%+v", s)
					}
				}
			}
		}
	})
}
