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
	return strings.ReplaceAll(text, "interface eth1/51-54", "interface Ethernet1/51") + "interface Ethernet1/9\n  service-policy type qos input " + qos + "\n  service-policy type queuing output " + queuing + "\n"
}

// What published configurations mean.
func TestMeaning(t *testing.T) {
	for file, c := range map[string]struct{ qos, queuing, classes, remarks string }{
		"pareshgupta_roce_enable_v0.60.txt": {"QOS_CLASSIFICATION", "QOS_EGRESS_PORT",
			"default [] 0 50% | ROCEv2 [24 25 26 27 28 29 30 31] 3 50% lossless ecn 950000-3000000 7 | CNP [48] 7 strict", ""},
		"zartbot_n93180fx2_dscp26_cos5.txt": {"QOS_MARKING", "QOS-EGRESS-100G-PORT",
			"default [] 0 30% | RoCEv2-DATA [26] 5 70% lossless ecn 400000-800000 5 | RoCEv2-CNP [48] 6 strict", "the classes have 90 percent of the bandwidth in sum: other traffic is given 30"},
		"azurelocal_tor_qos.txt": {"AZLocal_SERVICES", "QOS_EGRESS_PORT", "",
			"class RDMA: match cos 3: weft classifies by DSCP only | class RDMA is left out: it has no DSCP, or is in queue 0 | class CLUSTER: match cos 7: weft classifies by DSCP only | class CLUSTER is left out: it has no DSCP, or is in queue 0"},
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
		if k.ECN != nil {
			text += fmt.Sprintf(" ecn %d-%d %d", k.ECN.Min, k.ECN.Max, k.ECN.Probability)
		}
		list = append(list, text)
	}
	return strings.Join(list, " | ")
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
