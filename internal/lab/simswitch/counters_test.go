package simswitch

import (
	"strings"
	"testing"
)

// Counters follow what the configuration makes of a DSCP, and nothing else.
func TestNXOSCounters(t *testing.T) {
	sw := leaf()
	const in, out = "Ethernet1/1", "Ethernet1/2"
	show := func(line string) string {
		s := newSession(sw, "test", nil)
		reply := s.do(line)
		if !s.ok {
			t.Fatalf("%s: %s", line, reply)
		}
		return reply
	}
	sw.Forward(in, out, 26, 10, 1000)
	if prio, paused, err := sw.Overrun(in, 26, 5); prio != 0 || paused || err != nil {
		t.Errorf("an unconfigured port pauses: %d %v %v", prio, paused, err)
	}
	if err := sw.Edit("class-map type qos match-any R", "match dscp 26", "exit", "policy-map type qos P", "class R", "set qos-group 3", "exit", "exit",
		"policy-map type network-qos N", "class type network-qos c-8q-nq3", "pause pfc-cos 3", "exit", "exit",
		"system qos", "service-policy type network-qos N", "exit",
		"interface "+in, "service-policy type qos input P", "priority-flow-control mode on"); err != nil {
		t.Fatal(err)
	}
	sw.Forward(in, out, 26, 7, 700)
	if prio, paused, err := sw.Overrun(in, 26, 5); prio != 3 || !paused || err != nil {
		t.Errorf("a lossless class is dropped: %d %v %v", prio, paused, err)
	}
	text := show("show queuing interface " + out)
	first, rest, _ := strings.Cut(text, "QOS GROUP 1 ")
	_, third, _ := strings.Cut(rest, "QOS GROUP 3 ")
	if !strings.Contains(first, "|                   Tx Pkts |              10|               0|") || !strings.Contains(third, "|                   Tx Pkts |               7|") {
		t.Errorf("queues of %s:\n%s", out, text)
	}
	text = show("show queuing interface " + in)
	for _, want := range []string{"| WRED/AFD & Tail Drop Pkts |               5|", "      3         3  Inactive                   5  Inactive                   0"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := show("show queuing pfc-queue interface " + in + " detail"); !strings.Contains(text, "[Disabled]") {
		t.Errorf("watchdog: %s", text)
	}
	if err := sw.Edit("priority-flow-control watch-dog-interval on", "interface Ethernet1/1", "priority-flow-control watch-dog-interval on"); err != nil {
		t.Fatal(err)
	}
	if text := show("show queuing pfc-queue interface " + in + " detail"); !strings.Contains(text, "| QOS GROUP 3 [Active] PFC [YES] PFC-COS [3]") {
		t.Errorf("watchdog: %s", text)
	}
}

func TestComwareCounters(t *testing.T) {
	sw := h3c()
	const in, out = "HundredGigE1/0/1", "HundredGigE1/0/2"
	show := func(line string) string {
		s := newSession(sw, "test", nil)
		reply := s.do(line)
		if !s.ok {
			t.Fatalf("%s: %s", line, reply)
		}
		return reply
	}
	sw.Forward(in, out, 26, 10, 1000) // not trusted: priority 0, which is queue 2 here
	if err := sw.Edit("qos map-table dscp-dot1p", "import 26 export 3", "quit", "interface "+in, "qos trust dscp",
		"priority-flow-control enable", "priority-flow-control no-drop dot1p 3"); err != nil {
		t.Fatal(err)
	}
	sw.Forward(in, out, 26, 7, 700)
	if prio, paused, err := sw.Overrun(in, 26, 4); prio != 3 || !paused || err != nil {
		t.Errorf("%d %v %v", prio, paused, err)
	}
	if prio, paused, err := sw.Overrun(out, 26, 4); prio != 0 || paused || err != nil {
		t.Errorf("%d %v %v", prio, paused, err)
	}
	text := show("display qos queue-statistics interface " + out + " outbound")
	for _, want := range []string{" Queue 2\n  Forwarded: 10 packets, 1000 bytes\n  Dropped: 4 packets", " Queue 3\n  Forwarded: 7 packets, 700 bytes\n  Dropped: 0 packets"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if text := show("display priority-flow-control interface " + in); !strings.Contains(text, "3           3     0          4 ") {
		t.Errorf("PFC:\n%s", text)
	}
	if _, _, err := sw.Overrun("HundredGigE9/0/1", 26, 1); err == nil {
		t.Error("a port that is not there was overrun")
	}
}
