package simswitch

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// leaf is a Nexus with a few ports.
func leaf(change ...func(*Spec)) *Switch {
	spec := Spec{OS: "nxos", Hostname: "leaf-a", Serial: "FDO00000001"}
	for i := 1; i <= 4; i++ {
		port := fmt.Sprintf("Ethernet1/%d", i)
		spec.Ports = append(spec.Ports, port)
		spec.Neighbours = append(spec.Neighbours, Neighbour{Port: port, SystemName: fmt.Sprintf("st%d", i), PortID: fmt.Sprintf("0200.0000.000%d", i)})
	}
	for _, f := range change {
		f(&spec)
	}
	return New(spec)
}

// lossless is what makes a Nexus carry RoCE.
var lossless = []string{
	"class-map type qos match-any WEFT-rdma", "match dscp 26", "exit",
	"class-map type qos match-any WEFT-cnp", "match dscp 48", "exit",
	"policy-map type qos WEFT-in",
	"class WEFT-rdma", "set qos-group 3", "class WEFT-cnp", "set qos-group 6", "class class-default", "set qos-group 0", "exit",
	"policy-map type queuing WEFT-out",
	"class type queuing c-out-8q-q3", "bandwidth remaining percent 50",
	"random-detect minimum-threshold 150 kbytes maximum-threshold 1500 kbytes drop-probability 5 weight 0 ecn",
	"class type queuing c-out-8q-q6", "priority level 1",
	"class type queuing c-out-8q-q-default", "bandwidth remaining percent 50", "exit",
	"policy-map type network-qos WEFT-nq",
	"class type network-qos c-8q-nq3", "mtu 9216", "pause pfc-cos 3", "class type network-qos c-8q-nq-default", "mtu 9216",
	"system qos",
	"service-policy type queuing output WEFT-out", "service-policy type network-qos WEFT-nq", "exit",
	"interface Ethernet1/1",
	"priority-flow-control mode on", "priority-flow-control watch-dog-interval on", "mtu 9216",
	"service-policy type qos input WEFT-in", "exit",
}

const losslessPrinted = `
policy-map type network-qos WEFT-nq
  class type network-qos c-8q-nq3
    mtu 9216
    pause pfc-cos 3
  class type network-qos c-8q-nq-default
    mtu 9216
`

func TestNXOSOneStage(t *testing.T) {
	sw := leaf()
	c := login(t, start(t, sw), "netops", 24)
	c.until("leaf-a# ")
	if got := c.run("terminal length 0", "leaf-a# "); got != "" {
		t.Errorf("terminal length printed %q", got)
	}
	has(t, c.run("conf t", "leaf-a(config)# "), "Enter configuration commands")
	for _, line := range lossless {
		c.send(line + "\n")
		if got := c.until(")# "); strings.Contains(got, "%") || strings.Contains(got, "ERROR") {
			t.Fatalf("%s: %s", line, got)
		}
	}
	c.send("end\n")
	c.until("leaf-a# ")
	got := c.run("show running-config", "leaf-a# ")
	has(t, got, losslessPrinted, "!Command: show running-config\n", "!Running configuration last done at: ", "version 10.3(4a) Bios:version",
		"\nclass-map type qos match-any WEFT-rdma\n  match dscp 26\nclass-map type qos match-any WEFT-cnp\n  match dscp 48\n",
		"\nsystem qos\n  service-policy type queuing output WEFT-out\n  service-policy type network-qos WEFT-nq\n",
		"interface Ethernet1/1\n  description server port 1\n  switchport\n  switchport access vlan 40\n  priority-flow-control mode on\n  priority-flow-control watch-dog-interval on\n  mtu 9216\n  service-policy type qos input WEFT-in\n  no shutdown\n",
		"interface Ethernet1/2\n  description server port 2\n  switchport\n  switchport access vlan 40\n  no shutdown\n",
		"snmp-server host 192.0.2.10")
	order := []string{"hostname leaf-a", "policy-map type network-qos", "vdc leaf-a", "feature lldp", "class-map type qos", "policy-map type qos", "system qos", "copp profile", "interface Ethernet1/1", "boot nxos"}
	for i := 1; i < len(order); i++ {
		if strings.Index(got, order[i-1]) > strings.Index(got, order[i]) {
			t.Errorf("%q stands after %q", order[i-1], order[i])
		}
	}
	has(t, c.run("show interface priority-flow-control", "leaf-a# "),
		"Ethernet1/1        On   On   (8)       0          0\n", "Ethernet1/2        Auto Off            0          0\n")
	has(t, c.run("sh run | section \"system qos\"", "leaf-a# "), "system qos\n  service-policy type queuing output WEFT-out\n")
	has(t, c.run("show version", "leaf-a# "), "NXOS: version 10.3(4a)", "Processor Board ID FDO00000001")
	has(t, c.run("show lldp neighbors", "leaf-a# "), "st1                  Eth1/1 ")
	has(t, c.run("copy running-config startup-config", "leaf-a# "), "Copy complete.")
	if sw.StartupConfig() != sw.RunningConfig() {
		t.Error("startup is not running")
	}
	c.send("exit\n")
	c.closed()
}

func TestNXOSErrors(t *testing.T) {
	c := login(t, start(t, leaf()), "netops", 24)
	c.until("leaf-a# ")
	tests := []struct{ prompt, line, want string }{
		{"leaf-a# ", "shwo version", "        ^\n% Invalid command at '^' marker.\n"},
		{"leaf-a# ", "show", "\n            ^\n% Incomplete command at '^' marker.\n"},
		{"leaf-a# ", "co t", "        ^\n% Ambiguous command at '^' marker.\n"},
		{"leaf-a(config)# ", "conf t", "Enter"},
		{"leaf-a(config)# ", "mtu 9216", "% Invalid command"},
		{"leaf-a(config)# ", "interface Ethernet1/99", "ERROR: Ethernet1/99: the interface does not exist"},
		{"leaf-a(config-if)# ", "int eth 1/2", ""},
		{"leaf-a(config-if)# ", "mtu 100", "                       ^\n% Invalid command at '^' marker.\n"},
		{"leaf-a(config-if)# ", "service-policy type qos input NOPE", "ERROR: policy-map NOPE of type qos does not exist"},
		{"leaf-a(config-if)# ", "priority-flow-control watch-dog-interval 200", "% Invalid command"},
		{"leaf-a(config-pmap-qos)# ", "policy-map type qos P", ""},
		{"leaf-a(config-pmap-qos)# ", "class C", "ERROR: undefined class"},
		{"leaf-a(config-cmap-qos)# ", "class-map type qos match-any C", ""},
		{"leaf-a(config-pmap-qos)# ", "policy-map P", ""},
		{"leaf-a(config-pmap-c-qos)# ", "class C", ""},
		{"leaf-a(config-pmap-c-qos)# ", "no class-map type qos match-all C", "ERROR: class-map type qos match-any C is configured"},
		{"leaf-a(config-pmap-c-qos)# ", "no class-map type qos match-any C", "ERROR: class-map C is in use by policy-map type qos P"},
		{"leaf-a(config-if)# ", "interface e1/2", ""},
		{"leaf-a(config-if)# ", "service-policy type qos input P", ""},
		{"leaf-a(config-if)# ", "no policy-map type qos P", "ERROR: policy-map P is in use by interface Ethernet1/2"},
		{"leaf-a(config-if)# ", "no policy-map type qos OTHER", "ERROR: "},
		{"leaf-a(config-if)# ", "no service-policy type qos input OTHER", "ERROR: "},
		{"leaf-a(config-if)# ", "no service-policy type qos input P", ""},
		{"leaf-a(config-if)# ", "no service-policy type qos input P", "ERROR: "},
		{"leaf-a(config-if)# ", "no mtu", ""},
		{"leaf-a(config-if-range)# ", "interface eth1/1-3", ""},
		{"leaf-a(config-if-range)# ", "mtu 9216", ""},
		{"leaf-a(config-if)# ", "interface eth1/4", ""},
		{"leaf-a(config-if)# ", "mtu 9000", "ERROR: Ethernet1/4: MTU on L2 interfaces can only be set to default or system-jumboMTU"},
		{"leaf-a(config-pmap-que)# ", "policy-map type queuing Q", ""},
		{"leaf-a(config-pmap-c-que)# ", "class type queuing c-out-8q-q-default", ""},
		{"leaf-a(config-pmap-c-que)# ", "bandwidth remaining percent 60", ""},
		{"leaf-a(config-pmap-c-que)# ", "class type queuing c-out-8q-q3", ""},
		{"leaf-a(config-pmap-c-que)# ", "bandwidth remaining percent 41", "ERROR: the bandwidth"},
		{"leaf-a(config-pmap-c-que)# ", "class type queuing c-out-8q-q9", "% Invalid command"},
		{"leaf-a(config-pmap-c-que)# ", "no interface Ethernet1/1", "ERROR: "},
		{"leaf-a# ", "end", ""},
	}
	for _, tt := range tests {
		got := c.run(tt.line, tt.prompt)
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s: got %q, want %q", tt.line, got, tt.want)
		}
	}
	has(t, c.run("show running-config interface eth1/3", "leaf-a# "), "!Command: show running-config interface Ethernet1/3", "  mtu 9216\n")
	hasNot(t, c.run("show running-config interface eth1/4", "leaf-a# "), "mtu")
}

func TestNXOSTwoStage(t *testing.T) {
	clock := NewManualClock(time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC))
	sw := leaf(func(s *Spec) { s.Clock = clock })
	addr := start(t, sw)
	c := login(t, addr, "netops", 24)
	c.until("leaf-a# ")
	c.run("terminal length 0", "leaf-a# ")
	const dual = "leaf-a(config-dual-stage)# "
	stage := func(lines ...string) {
		c.run("configure dual-stage", dual)
		for _, line := range lines {
			c.send(line + "\n")
			if got := c.until(")# "); strings.Contains(got, "%") || strings.Contains(got, "ERROR") {
				t.Fatalf("%s: %s", line, got)
			}
		}
	}
	before := sw.RunningConfig()
	stage(lossless...)
	if sw.RunningConfig() != before {
		t.Fatal("a line took effect before its commit")
	}
	cached := c.run("show configuration", dual)
	has(t, cached, "! Cached configuration\n!\nclass-map type qos match-any WEFT-rdma\n match dscp 26\n!\n",
		"interface Ethernet1/1\n priority-flow-control mode on\n")
	has(t, c.run("commit confirmed 300", dual), "Verification Succeeded.\n\nProceeding to apply configuration.",
		"Configuration committed by user 'netops' using Commit ID : 1000000001\n")
	has(t, sw.RunningConfig(), losslessPrinted)
	if left, armed := sw.Armed(); !armed || left != 5*time.Minute {
		t.Errorf("armed: %v, %v", left, armed)
	}

	// A second login sees it and cannot confirm it.
	other := login(t, addr, "netops", 24)
	other.until("leaf-a# ")
	other.run("terminal length 0", "leaf-a# ")
	has(t, other.run("show running-config", "leaf-a# "), losslessPrinted)
	other.run("configure dual-stage", dual)
	has(t, other.run("commit", dual), "ERROR: ")

	clock.Advance(301 * time.Second)
	c.until("Confirm commit Timer expired, triggering rollback commit\r\nRollback in progress\r\n")
	c.until("Configuration committed by rollback using Commit ID : 1000000002\r\n" + dual)
	if got := sw.RunningConfig(); got != before {
		t.Errorf("it went back to:\n%s", got)
	}

	stage(lossless...)
	c.run("commit confirmed 30", dual)
	if got := c.run("commit", dual); got != "" {
		t.Errorf("the confirmation printed %q", got)
	}
	clock.Advance(time.Hour)
	has(t, sw.RunningConfig(), losslessPrinted)
	if got := c.run("show configuration", dual); got != "! Cached configuration\n" {
		t.Errorf("cached after the commit: %q", got)
	}

	// What cannot be applied applies nothing.
	stage("interface Ethernet1/2", "mtu 9216", "service-policy type qos input NOPE")
	has(t, c.run("commit confirmed 30", "leaf-a(config-dual-stage-if)# "), "Failed. err=policy-map NOPE", "\ncommit verification failed\n")
	if sw.RunningConfig() == "" || strings.Count(sw.RunningConfig(), "mtu 9216") != 3 {
		t.Errorf("a failed commit left something behind:\n%s", sw.RunningConfig())
	}
	if got := c.run("abort", "leaf-a# "); got != "" {
		t.Errorf("abort printed %q", got)
	}
}

func TestNXOSRevertOutlivesItsSession(t *testing.T) {
	clock := NewManualClock(time.Date(2026, 4, 1, 10, 0, 0, 0, time.UTC))
	sw := leaf(func(s *Spec) { s.Clock = clock })
	addr := start(t, sw)
	before := sw.RunningConfig()
	c := login(t, addr, "netops", 24)
	c.until("leaf-a# ")
	c.run("configure dual-stage", "leaf-a(config-dual-stage)# ")
	c.run("interface e1/1", "leaf-a(config-dual-stage-if)# ")
	c.run("mtu 9216", "leaf-a(config-dual-stage-if)# ")
	c.run("commit confirmed 60", "leaf-a(config-dual-stage)# ")
	sw.DropAfter(0)
	sw.DropAfter(1)
	c.run("show clock", "leaf-a(config-dual-stage)# ")
	c.send("show clock\n")
	c.closed()
	has(t, sw.RunningConfig(), "mtu 9216")
	clock.Advance(time.Minute)
	if sw.RunningConfig() != before {
		t.Error("it did not go back by itself")
	}
}

func TestNXOSFiles(t *testing.T) {
	sw := leaf()
	c := login(t, start(t, sw), "netops", 24)
	c.until("leaf-a# ")
	c.run("terminal length 0", "leaf-a# ")
	has(t, c.run("copy running-config bootflash:weft-base.cfg", "leaf-a# "), "Copy complete.")
	has(t, c.run("show file bootflash:///weft-base.cfg", "leaf-a# "), "hostname leaf-a")
	c.send("copy running-config bootflash:weft-base.cfg\n")
	c.until("overwrite (y/n)?[n] ")
	c.run("y", "leaf-a# ")
	c.run("terminal dont-ask", "leaf-a# ")
	has(t, c.run("copy running-config bootflash:weft-base.cfg", "leaf-a# "), "Copy complete.")
	c.run("mkdir bootflash:lease", "leaf-a# ")
	has(t, c.run("mkdir bootflash:lease", "leaf-a# "), "ERROR: file exists")
	has(t, c.run("dir bootflash:", "leaf-a# "), "lease/", "weft-base.cfg")
	c.run("rmdir bootflash:lease no-prompt", "leaf-a# ")
	c.run("delete bootflash:weft-base.cfg no-prompt", "leaf-a# ")
	hasNot(t, c.run("dir bootflash:", "leaf-a# "), "lease/", "weft-base.cfg")
}

func TestNXOSTerminal(t *testing.T) {
	c := login(t, start(t, leaf()), "netops", 10)
	c.until("leaf-a# ")
	c.send("show running-config\n")
	first := c.until("--More--")
	if n := strings.Count(first, "\n"); n != 10 { // the echo and nine lines
		t.Errorf("%d lines on the first page", n)
	}
	c.send(" ")
	c.until("--More--")
	c.send("q")
	c.until("leaf-a# ")

	c.send("conf t\n")
	c.until("(config)# ")
	c.send("interface Ethernet1/1\x1a")
	c.until("^Z")
	c.until("leaf-a# ")
	c.send("configure dual-stage\n")
	c.until("(config-dual-stage)# ")
	c.send("commit confirmed ?")
	c.until("  <30-65535>  Seconds until rollback unless there is a confirming commit\r\n")
	c.until("leaf-a(config-dual-stage)# commit confirmed ")
	c.send("\x15abort\n")
	c.until("leaf-a# ")
	c.send("show cloxx\x7f\x7fck\n")
	c.until("UTC")
}

func TestNXOSFaults(t *testing.T) {
	sw := leaf()
	if err := sw.Edit("interface Ethernet1/1", "mtu 9216"); err != nil {
		t.Fatal(err)
	}
	if err := sw.Edit("mtu 9216"); err == nil {
		t.Error("an unknown line was accepted by hand")
	}
	sw.Refuse(regexp.MustCompile(`^pause `))
	err := sw.Edit(lossless...)
	if err == nil || !strings.Contains(err.Error(), `"pause pfc-cos 3"`) {
		t.Errorf("refused: %v", err)
	}
	sw.Refuse(nil)
	if err := sw.Edit(lossless...); err != nil {
		t.Errorf("after the fault: %v", err)
	}
}

func TestNXOSNoStats(t *testing.T) {
	sw := leaf(func(s *Spec) { s.NoStats = true })
	if err := sw.Edit(lossless...); err != nil {
		t.Fatal(err)
	}
	has(t, sw.RunningConfig(), "  service-policy type qos input WEFT-in no-stats\n")
	if err := sw.Edit("interface Ethernet1/1", "no service-policy type qos input WEFT-in", "no policy-map type qos WEFT-in"); err != nil {
		t.Error(err)
	}
}
