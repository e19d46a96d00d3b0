package simswitch

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// h3c is an S6800 with a few ports.
func h3c(change ...func(*Spec)) *Switch {
	spec := Spec{OS: "comware", Hostname: "leaf-b", Serial: "210200A00000000001"}
	for i := 1; i <= 4; i++ {
		port := fmt.Sprintf("HundredGigE1/0/%d", i)
		spec.Ports = append(spec.Ports, port)
		spec.Neighbours = append(spec.Neighbours, Neighbour{Port: port, SystemName: fmt.Sprintf("st%d", i), PortID: fmt.Sprintf("0200-0000-000%d", i)})
	}
	for _, f := range change {
		f(&spec)
	}
	return New(spec)
}

// losslessH3C is what makes an S6800 carry RoCE.
var losslessH3C = []string{
	"qos map-table dot1p-lp", "import 0 export 0", "import 1 export 1", "import 2 export 2", "import 3 export 3", "quit",
	"qos map-table dscp-dot1p", "import 26 export 3", "import 27 export 5", "quit",
	"qos wred queue table WEFT-rdma",
	"queue 3 low-limit 6000 high-limit 12000 discard-probability 5", "queue 3 ecn", "queue 3 weighting-constant 0", "quit",
	"interface HundredGigE1/0/1", "jumboframe enable 9216",
	"priority-flow-control enable", "priority-flow-control no-drop dot1p 3", "priority-flow-control deadlock enable",
	"qos trust dscp", "qos wfq byte-count", "qos wfq af3 group 1 byte-count 50", "qos wfq 0 group 1 byte-count 50",
	"qos wfq cs6 group sp", "qos gts queue 6 cir 1000000 cbs 64000", "qos wred apply WEFT-rdma", "quit",
}

const losslessH3CPort = `#
interface HundredGigE1/0/1
 port link-mode bridge
 description server port 1
 port access vlan 40
 jumboframe enable 9216
 priority-flow-control enable
 priority-flow-control no-drop dot1p 3
 priority-flow-control deadlock enable
 qos trust dscp
 qos wfq byte-count
 qos wfq af3 group 1 byte-count 50
 qos wfq be group 1 byte-count 50
 qos wfq cs6 group sp
 qos gts queue 6 cir 1000000 cbs 64000
 qos wred apply WEFT-rdma
#
`

func TestComware(t *testing.T) {
	sw := h3c()
	c := login(t, start(t, sw), "netops", 24)
	c.until("<leaf-b>")
	if got := c.run("screen-length disable", "<leaf-b>"); got != "" {
		t.Errorf("screen-length printed %q", got)
	}
	has(t, c.run("system-view", "[leaf-b]"), "System View: return to User View with Ctrl+Z.\n")
	for _, line := range losslessH3C {
		c.send(line + "\n")
		if got := c.until("]"); strings.Contains(got, "%") || strings.Contains(got, "ERROR") {
			t.Fatalf("%s: %s", line, got)
		}
	}
	c.run("interface HGE1/0/1", "[leaf-b-HundredGigE1/0/1]")
	if got := c.run("display this", "[leaf-b-HundredGigE1/0/1]"); got != losslessH3CPort+"return\n" {
		t.Errorf("display this: %s", got)
	}
	c.run("return", "<leaf-b>")
	got := c.run("display current-configuration", "<leaf-b>")
	has(t, got, "#\n version 7.1.070, Release 2612P06\n#\n sysname leaf-b\n#\n", losslessH3CPort,
		"#\nqos map-table dot1p-lp\n import 0 export 0\n import 1 export 1\n import 2 export 2\n#\nqos map-table dscp-dot1p\n import 27 export 5\n#\n",
		"#\nqos wred queue table WEFT-rdma\n queue 3 drop-level 0 low-limit 6000 high-limit 12000 discard-probability 5\n queue 3 drop-level 1",
		" queue 3 weighting-constant 0\n queue 3 ecn\n#\n", "\n#\nreturn\n", " lldp global enable\n")
	has(t, c.run("display current-configuration interface HundredGigE 1/0/1", "<leaf-b>"), losslessH3CPort)
	has(t, c.run("display qos map-table dscp-dot1p", "<leaf-b>"), "MAP-TABLE NAME: dscp-dot1p", "  26    :    3\n  27    :    5\n  28    :    3\n")
	has(t, c.run("display priority-flow-control interface", "<leaf-b>"),
		"HGE1/0/1                         Enabled    Enabled   3           3     0", "HGE1/0/2                         Disabled   Disabled              0     0")
	has(t, c.run("display interface brief", "<leaf-b>"), "HGE1/0/1             UP   100G(a)   F(a)   A    40   server port 1\n")
	has(t, c.run("display lldp neighbor-information list", "<leaf-b>"), "st1                  HGE1/0/1        0200-0000-0001  0200-0000-0001\n")
	has(t, c.run("display lldp neighbor-information verbose", "<leaf-b>"), "of port 1[HundredGigE1/0/1]:\n", " Port ID             : 0200-0000-0001\n", " System name         : st1\n")
	has(t, c.run("display version", "<leaf-b>"), "H3C Comware Software, Version 7.1.070, Release 2612P06\n", "H3C S6800-54QF uptime is ")
	has(t, c.run("display device manuinfo", "<leaf-b>"), "DEVICE_SERIAL_NUMBER : 210200A00000000001\n")
	has(t, c.run("display current-configuration | include wred apply", "<leaf-b>"), " qos wred apply WEFT-rdma\n")
	has(t, c.run("save force", "<leaf-b>"), "Configuration is saved to device successfully.\n")
	if sw.StartupConfig() != sw.RunningConfig() {
		t.Error("startup is not running")
	}
	c.send("quit\n")
	c.closed()
}

func TestComwareErrors(t *testing.T) {
	sw := h3c()
	if err := sw.Edit(losslessH3C...); err != nil {
		t.Fatal(err)
	}
	c := login(t, start(t, sw), "netops", 24)
	c.until("<leaf-b>")
	const port = "[leaf-b-HundredGigE1/0/2]"
	tests := []struct{ prompt, line, want string }{
		{"<leaf-b>", "show version", "        ^\n % Unrecognized command found at '^' position.\n"},
		{"<leaf-b>", "display", "% Incomplete command found at '^' position.\n"},
		{"<leaf-b>", "display version now", "% Too many parameters found at '^' position.\n"},
		{"[leaf-b]", "sys", "System View"},
		{"[leaf-b]", "interface HundredGigE1/0/99", "ERROR: "},
		{"[leaf-b]", "undo qos wred queue table WEFT-rdma", "ERROR: WRED table WEFT-rdma is in use by interface HundredGigE1/0/1"},
		{"[leaf-b]", "qos wred queue 5 ecn", "% Unrecognized command"},
		{port, "interface HundredGigE 1/0/2", ""},
		{port, "interface HundredGigE 1/0/3", "% Unrecognized command"},
		{port, "qos wred apply NOPE", "ERROR: WRED table NOPE does not exist"},
		{port, "qos wfq af3 group 1 byte-count 10", "ERROR: "},
		{port, "priority-flow-control deadlock enable", "ERROR: "},
		{port, "priority-flow-control no-drop dot1p 3 5", "% Too many parameters"},
		{port, "priority-flow-control no-drop dot1p 9", "% Wrong parameter"},
		{port, "qos trust dscp", ""},
		{port, "undo qos trust", ""},
		{port, "jumboframe enable 9216", ""},
		{port, "undo jumboframe enable", ""},
		{"[leaf-b]", "quit", ""},
		{"[leaf-b-wred-table-T]", "qos wred queue table T", ""},
		{"[leaf-b-wred-table-T]", "queue 1 low-limit 20 high-limit 20", "ERROR: the high limit"},
		{"[leaf-b]", "quit", ""},
		{"[leaf-b-maptbl-dot1p-lp]", "qos map-table dot1p-lp", ""},
		{"[leaf-b-maptbl-dot1p-lp]", "import 8 export 1", "% Wrong parameter"},
		{"[leaf-b-maptbl-dot1p-lp]", "undo import all", ""},
		{"<leaf-b>", "return", ""},
	}
	for _, tt := range tests {
		got := c.run(tt.line, tt.prompt)
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
	}
	has(t, sw.RunningConfig(), "interface HundredGigE1/0/2\n port link-mode bridge\n description server port 2\n port access vlan 40\n undo jumboframe enable\n#\n")
	hasNot(t, sw.RunningConfig(), "dot1p-lp")
}

func TestComwareCommitDelay(t *testing.T) {
	clock := NewManualClock(time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC))
	sw := h3c(func(s *Spec) { s.Clock = clock })
	addr := start(t, sw)
	c := login(t, addr, "netops", 24)
	c.until("<leaf-b>")
	c.run("system-view", "[leaf-b]")
	before := sw.RunningConfig()
	c.send("configuration commit delay ?")
	c.until("INTEGER<1-65535>  Delay in minutes")
	c.until("[leaf-b]configuration commit delay ")
	if got := c.run("5", "[leaf-b]"); got != "" {
		t.Errorf("commit delay printed %q", got)
	}
	for _, line := range losslessH3C {
		c.send(line + "\n")
		c.until("]")
	}
	has(t, sw.RunningConfig(), losslessH3CPort)
	clock.Advance(4 * time.Minute)
	c.run("configuration commit delay 3", "[leaf-b]") // armed anew: the way back stays
	clock.Advance(2 * time.Minute)
	has(t, sw.RunningConfig(), losslessH3CPort)
	clock.Advance(time.Minute)
	if sw.RunningConfig() != before {
		t.Error("it did not go back by itself")
	}
	has(t, c.run("configuration commit", "[leaf-b]"), "ERROR: ")

	c.run("configuration commit delay 5", "[leaf-b]")
	if err := sw.Edit(losslessH3C...); err != nil {
		t.Fatal(err)
	}
	other := login(t, addr, "netops", 24) // any session may confirm
	other.until("<leaf-b>")
	other.run("system-view", "[leaf-b]")
	if got := other.run("configuration commit", "[leaf-b]"); got != "" {
		t.Errorf("the confirmation printed %q", got)
	}
	clock.Advance(time.Hour)
	has(t, sw.RunningConfig(), losslessH3CPort)
}

func TestComwareFiles(t *testing.T) {
	sw := h3c()
	c := login(t, start(t, sw), "netops", 24)
	c.until("<leaf-b>")
	c.send("save flash:/weft-base.cfg\n")
	c.until("Continue? [Y/N:y]")
	has(t, c.run("y", "<leaf-b>"), "Configuration is saved to flash successfully.")
	c.send("save flash:/weft-base.cfg\n")
	c.until("Continue? [Y/N:y]")
	c.send("\n")
	c.until("flash:/weft-base.cfg exists, overwrite? [Y/N:y]")
	c.run("y", "<leaf-b>")
	c.send("save\n")
	c.until("Are you sure? [Y/N]:")
	c.send("y\n")
	c.until("press the enter key):")
	has(t, c.run("y", "<leaf-b>"), "The file name is invalid(does not end with .cfg).")

	has(t, c.run("mkdir lease", "<leaf-b>"), "Creating directory flash:/lease... Done.")
	has(t, c.run("mkdir flash:/lease", "<leaf-b>"), "ERROR: file exists")
	has(t, c.run("dir", "<leaf-b>"), "drw-", "   lease\n", "   weft-base.cfg\n")
	c.send("rmdir lease\n")
	c.until("[Y/N:y]")
	has(t, c.run("", "<leaf-b>"), "Removing directory flash:/lease... Done.")

}

func TestComwarePages(t *testing.T) {
	c := login(t, start(t, h3c()), "netops", 10)
	c.until("<leaf-b>")
	c.send("display current-configuration\n")
	c.until("---- More ----")
	c.send("\n")
	c.until("---- More ----")
	c.send("q")
	c.until("<leaf-b>")
	c.send("system-view\n")
	c.until("[leaf-b]")
	c.send("\x1a")
	c.until("<leaf-b>")
}
