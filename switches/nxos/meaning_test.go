package nxos

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/switches"
)

// inForce puts the policies of a published example on a port, as its text says to.
func inForce(text, qos, queuing string) string {
	text = strings.ReplaceAll(text, "interface ethernet1/1-32", "interface Ethernet1/1")
	return strings.ReplaceAll(text, "interface eth1/51-54", "interface Ethernet1/51") + "interface Ethernet1/9\n  priority-flow-control mode on\n  service-policy type qos input " + qos + "\n  service-policy type queuing output " + queuing + "\n"
}

// What published configurations mean.
func TestMeaning(t *testing.T) {
	for file, c := range map[string]struct{ qos, queuing, classes, remarks string }{
		"pareshgupta_roce_enable_v0.60.txt": {"QOS_CLASSIFICATION", "QOS_EGRESS_PORT",
			"default [] 0 50% | ROCEv2 [24 25 26 27 28 29 30 31] 3 50% lossless ecn 950000-3000000 7 | CNP [48] 7 strict", ""},
		"zartbot_n93180fx2_dscp26_cos5.txt": {"QOS_MARKING", "QOS-EGRESS-100G-PORT",
			"default [] 0 30% | RoCEv2-DATA [26] 5 70% lossless headroom 147456 ecn 400000-800000 5 | RoCEv2-CNP [48] 6 strict", "class RoCEv2-DATA, policy QOS-NETWORK, class c-8q-nq5: mtu 2240 has no word in weft" +
				" | class RoCEv2-CNP, policy QOS-EGRESS-100G-PORT, class c-out-8q-q6: shape min 0 mbps max 50000 mbps has no word in weft" +
				" | service-policy type queuing input QOS-INGRESS-100G-PORT is not on every port with these classes: Ethernet1/9" +
				" | class RoCEv2-DATA, policy QOS-INGRESS-100G-PORT, class c-in-q5: pause buffer-size 147456 pause-threshold 114688 resume-threshold 107688 is its headroom" +
				" | the classes have 90 percent of the bandwidth in sum: other traffic is given 30"},
		"azurelocal_tor_qos.txt": {"AZLocal_SERVICES", "QOS_EGRESS_PORT", "",
			"class RDMA: match cos 3: weft classifies by DSCP only | class RDMA is left out: it has no DSCP, or is in queue 0 | class CLUSTER: match cos 7: weft classifies by DSCP only | class CLUSTER is left out: it has no DSCP, or is in queue 0" +
				" | policy QOS_NETWORK, class c-8q-nq3: pause pfc-cos 3: no class by DSCP is in queue 3" +
				" | policy QOS_EGRESS_PORT, class c-out-8q-q3: bandwidth remaining percent 50: no class by DSCP is in queue 3" +
				" | policy QOS_EGRESS_PORT, class c-out-8q-q3: random-detect minimum-threshold 300 kbytes maximum-threshold 300 kbytes drop-probability 100 weight 0 ecn: no class by DSCP is in queue 3" +
				" | policy QOS_EGRESS_PORT, class c-out-8q-q7: bandwidth percent 1: no class by DSCP is in queue 7"},
	} {
		t.Run(file, func(t *testing.T) {
			text := inForce(require.Transcript(t, "cisco_nxos/CONFIG_EXAMPLES/"+file), c.qos, c.queuing)
			if got := meaning(OS(), map[string]string{showRunning: text}); classes(got) != c.classes || strings.Join(got.Remarks, " | ") != c.remarks {
				t.Errorf("classes %q, want %q\nremarks %q", classes(got), c.classes, got.Remarks)
			}
		})
	}
}

func classes(m switches.Meaning) string {
	var list []string
	for _, k := range m.Classes {
		text := fmt.Sprintf("%s %v %d", k.Name, k.DSCP, k.Priority)
		if k.Strict {
			text += " strict"
		} else {
			text += fmt.Sprintf(" %d%%", k.Bandwidth)
		}
		if k.PFC {
			text += " lossless"
		}
		if k.Headroom != nil {
			text += fmt.Sprintf(" headroom %d", k.Headroom.Size)
		}
		if k.ECN != nil {
			text += fmt.Sprintf(" ecn %d-%d %d", k.ECN.Min, k.ECN.Max, k.ECN.Probability)
		}
		list = append(list, text)
	}
	return strings.Join(list, " | ")
}

// Each line of the policies in force is understood or in a remark, also where it stands in
// classes that the operator defined, and where ports differ.
func TestMeaningOfOthersLines(t *testing.T) {
	const (
		classify = "class-map type qos match-all STORE\n  match dscp 26\npolicy-map type qos IN\n  class STORE\n    set qos-group %d\n"
		network  = "policy-map type network-qos NET\n  class type network-qos %s\n%ssystem qos\n  service-policy type network-qos NET\n"
		port     = "interface Ethernet1/%d\n  priority-flow-control mode on\n  service-policy type qos input %s\n"
		nothing  = "the classes have 0 percent of the bandwidth in sum: other traffic is given 100"
	)
	queue3 := fmt.Sprintf(classify, 3)
	port1 := fmt.Sprintf(port, 1, "IN")
	noDrop := fmt.Sprintf(network, "c-8q-nq3", "    pause pfc-cos 3\n")
	out := func(lines string) string {
		return "policy-map type queuing OUT\n  class type queuing c-out-8q-q3\n" + lines + "system qos\n  service-policy type queuing output OUT\n"
	}
	lossless := "default [] 0 100% | STORE [26] 3 0% lossless"
	for name, c := range map[string]struct{ text, classes, remarks string }{
		"a network-qos class of the operator's": {"class-map type network-qos STORE-NQ\n  match qos-group 4\n" + fmt.Sprintf(classify, 4) + fmt.Sprintf(network, "STORE-NQ", "    pause pfc-cos 4\n") + port1,
			"default [] 0 100% | STORE [26] 4 0% lossless", nothing},
		"one of an older Nexus": {queue3 + fmt.Sprintf(network, "c-nq3", "    pause no-drop\n") + port1, lossless, nothing},
		"one that no queue is known of": {"class-map type network-qos FCOE\n  match cos 3\n" + queue3 + fmt.Sprintf(network, "FCOE", "    pause no-drop\n") + port1, "default [] 0 100% | STORE [26] 3 0%",
			"policy NET, class FCOE: match cos 3: weft knows the queue of such a class by one qos-group only | policy NET, class FCOE: pause no-drop: of which queue, is not known | " + nothing},
		"another CoS than the queue": {fmt.Sprintf(classify, 1) + fmt.Sprintf(network, "c-8q-nq1", "    pause pfc-cos 3\n") + port1, "default [] 0 100% | STORE [26] 1 0% lossless",
			"class STORE, policy NET, class c-8q-nq1: queue 1 is no-drop and pauses CoS 3 (pause pfc-cos 3): weft has one number for both | " + nothing},
		"two CoS": {queue3 + fmt.Sprintf(network, "c-8q-nq3", "    pause pfc-cos 3,4\n") + port1, lossless,
			"class STORE, policy NET, class c-8q-nq3: queue 3 is no-drop and pauses CoS 3,4 (pause pfc-cos 3,4): weft has one number for both | " + nothing},
		"no-drop of a queue without a class": {queue3 + fmt.Sprintf(network, "c-8q-nq5", "    pause pfc-cos 5\n") + port1, "default [] 0 100% | STORE [26] 3 0%",
			"policy NET, class c-8q-nq5: pause pfc-cos 5: no class by DSCP is in queue 5 | " + nothing},
		"other traffic is lossless": {queue3 + fmt.Sprintf(network, "c-8q-nq-default", "    pause pfc-cos 0\n") + port1, "default [] 0 100% | STORE [26] 3 0%",
			"policy NET, class c-8q-nq-default: pause pfc-cos 0: other traffic is lossless, which weft has no word for | " + nothing},
		"other traffic is not in queue 0": {queue3 + "policy-map type qos IN\n  class class-default\n    set qos-group 2\n" + port1, "default [] 0 100% | STORE [26] 3 0%",
			"class class-default: set qos-group 2: weft leaves other traffic in queue 0 | " + nothing},
		"an MTU of the class": {queue3 + fmt.Sprintf(network, "c-8q-nq3", "    mtu 2240\n") + port1, "default [] 0 100% | STORE [26] 3 0%",
			"class STORE, policy NET, class c-8q-nq3: mtu 2240 has no word in weft | " + nothing},
		"WRED that drops": {queue3 + noDrop + out("    random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0\n") + port1, lossless,
			"class STORE, policy OUT, class c-out-8q-q3: random-detect minimum-threshold 150 kbytes maximum-threshold 3000 kbytes drop-probability 7 weight 0: it is lossless, and drops early instead of marking, for want of ecn | " + nothing},
		"ECN in packets": {queue3 + out("    random-detect minimum-threshold 100 packets maximum-threshold 200 packets drop-probability 50 weight 7 ecn\n") + port1, "default [] 0 100% | STORE [26] 3 0%",
			"class STORE, policy OUT, class c-out-8q-q3: random-detect minimum-threshold 100 packets maximum-threshold 200 packets drop-probability 50 weight 7 ecn: it marks with ECN, from a depth that is not told in bytes | " + nothing},
		"lines of a queue": {queue3 + out("    bandwidth remaining percent 50\n    shape min 0 gbps max 40 gbps\n    queue-limit 1000 kbytes\n") + port1, "default [] 0 50% | STORE [26] 3 50%",
			"class STORE, policy OUT, class c-out-8q-q3: shape min 0 gbps max 40 gbps has no word in weft | class STORE, policy OUT, class c-out-8q-q3: queue-limit 1000 kbytes has no word in weft | the classes have 50 percent of the bandwidth in sum: other traffic is given 50"},
		"a queuing class of the operator's": {"class-map type queuing match-any Q3\n  match qos-group 3\n" + queue3 + strings.ReplaceAll(out("    bandwidth percent 40\n"), "c-out-8q-q3", "Q3") + port1, "default [] 0 60% | STORE [26] 3 40%",
			"the classes have 40 percent of the bandwidth in sum: other traffic is given 60"},
		"a buffer of what arrives": {queue3 + noDrop + "policy-map type queuing HEAD\n  class type queuing c-in-q3\n    pause buffer-size 101920 pause-threshold 39936 resume-threshold 38400\n" + port1 + "  service-policy type queuing input HEAD\n", lossless + " headroom 101920",
			"class STORE, policy HEAD, class c-in-q3: pause buffer-size 101920 pause-threshold 39936 resume-threshold 38400 is its headroom | " + nothing},
		"a buffer of a lossy class": {queue3 + "policy-map type queuing HEAD\n  class type queuing c-in-q3\n    queue-limit 4000\n" + port1 + "  service-policy type queuing input HEAD\n", "default [] 0 100% | STORE [26] 3 0%",
			"class STORE, policy HEAD, class c-in-q3: queue-limit 4000 has no word in weft | " + nothing},
		"ports with another policy": {queue3 + "policy-map type qos OTHER\n  class STORE\n    set qos-group 5\n" + port1 + fmt.Sprintf(port, 2, "IN") + fmt.Sprintf(port, 3, "OTHER"), "default [] 0 100% | STORE [26] 3 0%",
			"service-policy type qos input OTHER (Ethernet1/3): another policy than IN, which most ports have and which is told | " + nothing},
		"a port with queues of its own": {queue3 + out("    bandwidth percent 40\n") + port1 + fmt.Sprintf(port, 2, "IN") + fmt.Sprintf(port, 3, "IN") + "  service-policy type queuing output OWN\n", "default [] 0 60% | STORE [26] 3 40%",
			"service-policy type queuing output OWN (Ethernet1/3): another policy than OUT, which most ports have and which is told | the classes have 40 percent of the bandwidth in sum: other traffic is given 60"},
		"PFC that waits for DCBX": {queue3 + noDrop + strings.Replace(port1, "mode on", "mode auto", 1), lossless,
			"1 of 1 ports with these policies have no line priority-flow-control mode on, so that PFC is off there unless the NIC agrees to it by DCBX: Ethernet1/1 | " + nothing},
	} {
		t.Run(name, func(t *testing.T) {
			if got := meaning(OS(), map[string]string{showRunning: c.text}); classes(got) != c.classes || strings.Join(got.Remarks, " | ") != c.remarks {
				t.Errorf("classes %q, want %q\nremarks %q, want %q", classes(got), c.classes, strings.Join(got.Remarks, " | "), c.remarks)
			}
		})
	}
}

// Policies of weft's, and those that are nowhere in force, mean nothing to adopt.
func TestMeaningOfNothing(t *testing.T) {
	const policies = "class-map type qos match-any %[1]s-rdma\n  match dscp 26\npolicy-map type qos %[1]s-in\n  class %[1]s-rdma\n    set qos-group 3\n"
	for name, text := range map[string]string{
		"nothing":        "",
		"not in force":   fmt.Sprintf(policies, "HAND"),
		"weft's":         fmt.Sprintf(policies, "WEFT-a-roce") + "interface Ethernet1/1\n  service-policy type qos input WEFT-a-roce-in\n",
		"a policy gone":  "interface Ethernet1/1\n  service-policy type qos input HAND-in\n",
		"not classified": "policy-map type qos HAND-in\n  class class-default\n    set qos-group 0\ninterface Ethernet1/1\n  service-policy type qos input HAND-in\n",
	} {
		if m := meaning(OS(), map[string]string{showRunning: text}); m.Classes != nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	m := meaning(OS(), map[string]string{showRunning: fmt.Sprintf(policies, "HAND") + "system qos\n  service-policy type qos input HAND-in\n"})
	if classes(m) != "default [] 0 100% | HAND-rdma [26] 3 0%" || !slices.Contains(m.Remarks, "the classes have 0 percent of the bandwidth in sum: other traffic is given 100") {
		t.Errorf("%q %q", classes(m), m.Remarks)
	}
}

func FuzzMeaning(f *testing.F) {
	f.Add("class-map match-any a\n  match dscp 1-9,x\npolicy-map a\n  class a\n    set qos-group 9\nsystem qos\n  service-policy input a\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, k := range meaning(OS(), map[string]string{showRunning: text}).Classes {
			if k.Priority < 0 || k.Priority > 7 || k.Priority == 0 && k.Name != switches.AllOther {
				t.Errorf("%+v", k)
			}
		}
	})
}
