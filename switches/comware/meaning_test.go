package comware

import (
	"fmt"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/switches"
)

// shown is what a switch prints whose map is that of factories, other than for some DSCPs.
func shown(running, model string, dscp map[int]int) map[string]string {
	out := "MAP-TABLE NAME: dscp-dot1p   TYPE: pre-define\nIMPORT  :  EXPORT\n"
	for d := range 64 {
		to, is := dscp[d]
		if !is {
			to = d / 8
		}
		out += fmt.Sprintf("  %d    :    %d\n", d, to)
	}
	return map[string]string{showRunning: running, showDSCP: out, showVersion: "H3C " + model + " uptime is 19 weeks"}
}

// What published configurations mean, and what nobody has set.
func TestMeaning(t *testing.T) {
	template := require.Transcript(t, "hp_comware/CONFIG_EXAMPLES/h3c_aidc_template_current-configuration_shape.txt")
	ops := require.Transcript(t, "hp_comware/CONFIG_EXAMPLES/h3c_400g_ops_interface.txt")
	ops = strings.ReplaceAll(strings.Replace(ops, "interface range FourHundredGigE 1/0/95 to FourHundredGigE 1/0/128", "interface FourHundredGigE1/0/95", 1), "\n", "\n ")
	table := "qos wred queue table 400G-WRED-Template\n queue 3 drop-level 0 low-limit 1000 high-limit 2000 discard-probability 20\n queue 3 ecn\n"
	system := "the system view says priority-flow-control poolid 0 headroom 80000, which has no word in weft" +
		" | the system view says buffer egress cell queue 6 shared ratio 100, which has no word in weft" +
		" | the system view says buffer egress cell queue 3 shared ratio 100, which has no word in weft" +
		" | the system view says buffer apply, which has no word in weft" +
		" | the system view says priority-flow-control deadlock cos 3 interval 10, which has no word in weft" +
		" | the system view says priority-flow-control deadlock precision high, which has no word in weft" +
		" | the system view says priority-flow-control deadlock auto-recover cos 3 delay 10, which has no word in weft" +
		" | priority-flow-control deadlock enable has no word in weft"
	buffers := "priority-flow-control dot1p 5 headroom 2000 has no word in weft | priority-flow-control dot1p 5 ingress-buffer dynamic 6 has no word in weft | priority-flow-control deadlock enable has no word in weft"
	own := "DSCP 56-63 have queue 7, of the switch's own packets, which weft leaves to these: they are other traffic"
	const port = "interface HundredGigE1/0/1\n qos trust dscp\n priority-flow-control enable\n priority-flow-control no-drop dot1p 3\n"
	for name, c := range map[string]struct {
		out              map[string]string
		classes, remarks string
	}{
		"template": {shown(template, "S9825-64D", nil), "default [] 0 84% | priority-3 [24 25 26 27 28 29 30 31] 3 16% lossless | priority-6 [48 49 50 51 52 53 54 55] 6 strict", system + " | qos wred apply 400G-WRED-Template: the contents of that table are unknown | " + own},
		"template with its table": {shown(template+table, "S9825-64D", map[int]int{24: 0, 25: 0, 27: 0, 28: 0, 29: 0, 30: 0, 31: 0}),
			"default [] 0 84% | priority-3 [26] 3 16% lossless ecn 208000-416000 20 | priority-6 [48 49 50 51 52 53 54 55] 6 strict", system + " | depths are counted in cells, which are assumed to be of 208 bytes | " + own},
		"lines of ports": {shown(ops, "S9820-64H", nil), "default [] 0 5% | priority-5 [40 41 42 43 44 45 46 47] 5 95% lossless ecn 1248000-2496000 40 | priority-6 [48 49 50 51 52 53 54 55] 6 strict", buffers + " | " + own},
		"no unit": {shown(ops, "S5560", nil), "default [] 0 5% | priority-5 [40 41 42 43 44 45 46 47] 5 95% lossless | priority-6 [48 49 50 51 52 53 54 55] 6 strict",
			buffers + ` | it marks with ECN, and in which unit model "S5560" counts depths is not known | ` + own},
		"no shares": {shown(port, "S6800", nil), "default [] 0 50% | priority-3 [24 25 26 27 28 29 30 31] 3 50% lossless", "how its queues share a port is not said by qos wfq byte-count: equal shares are taken"},
		"asked by DCBX": {shown("qos apply policy P global inbound\n"+strings.Replace(port, "control enable", "control auto", 1)+" qos apply policy Q inbound\n", "S6800", nil),
			"default [] 0 50% | priority-3 [24 25 26 27 28 29 30 31] 3 50% lossless",
			"qos apply policy P global inbound: a policy for all ports, which may classify otherwise | qos apply policy Q inbound: a policy, which may classify otherwise | priority-flow-control auto: PFC is on where the NIC agrees to it by DCBX; weft turns it on | how its queues share a port is not said by qos wfq byte-count: equal shares are taken"},
		"no-drop without PFC": {shown(strings.Replace(port, " priority-flow-control enable\n", "", 1), "S6800", nil), "", ""},
		"by tag":              {shown(strings.Replace(port, "dscp", "dot1p", 1), "S6800", nil), "", "1 ports go by the priority of the VLAN tag (qos trust dot1p): weft classifies by DSCP"},
		"as delivered":        {shown("interface HundredGigE1/0/1\n port link-mode bridge\n", "S6800", nil), "", ""},
		"trusted only":        {shown("interface HundredGigE1/0/1\n qos trust dscp\n", "S6800", nil), "", ""},
		"weft's":              {shown(port+" qos wred apply WEFT-a-roce\n", "S6800", nil), "", ""},
		"no map":              {map[string]string{showRunning: port}, "", ""},
		"nothing":             {nil, "", ""},
		"most ports": {shown(port+" qos wfq byte-count\n qos wfq af3 group 1 byte-count 50\n"+strings.Replace(port, "1/0/1", "1/0/2", 1)+" qos wfq byte-count\n qos wfq af3 group 1 byte-count 50\n"+"interface HundredGigE1/0/3\n qos trust dscp\n", "S6800", nil),
			"default [] 0 13% | priority-3 [24 25 26 27 28 29 30 31] 3 87% lossless", "ports have 2 different configurations: this is the one of 2 of them | HundredGigE1/0/3: other than HundredGigE1/0/1: lacks priority-flow-control enable, priority-flow-control no-drop dot1p 3, qos wfq byte-count, qos wfq af3 group 1 byte-count 50"},
		"queue profiles and limits": {shown("qos qmprofile Q\n queue 3 weight 40\n"+port+" qos apply qmprofile Q\n qos wrr weight\n qos wrr af3 group 1 weight 4\n qos gts queue 6 cir 50000 cbs 3125\n qos lr outbound cir 1000\n buffer egress cell queue 3 shared ratio 10\n qos priority 3\n", "S6800", nil),
			"default [] 0 50% | priority-3 [24 25 26 27 28 29 30 31] 3 50% lossless",
			"qos apply qmprofile Q: a queue profile, which decides how the queues of the port share it | qos qmprofile Q: queue 3 weight 40 has no word in weft | qos wrr weight has no word in weft | qos wrr af3 group 1 weight 4 has no word in weft" +
				" | qos gts queue 6 cir 50000 cbs 3125 has no word in weft | qos lr outbound cir 1000 has no word in weft | buffer egress cell queue 3 shared ratio 10 has no word in weft | qos priority 3 has no word in weft" +
				" | how its queues share a port is not said by qos wfq byte-count: equal shares are taken"},
		"a policy's lines": {shown("traffic classifier C operator and\n if-match dscp 26\ntraffic behavior B\n remark dot1p 5\nqos policy P\n classifier C behavior B\n"+port+" qos apply policy P inbound\n", "S6800", nil),
			"default [] 0 50% | priority-3 [24 25 26 27 28 29 30 31] 3 50% lossless",
			"qos apply policy P inbound: a policy, which may classify otherwise | qos policy P: classifier C behavior B has no word in weft | traffic classifier C operator and: if-match dscp 26 has no word in weft | traffic behavior B: remark dot1p 5 has no word in weft" +
				" | how its queues share a port is not said by qos wfq byte-count: equal shares are taken"},
		"WRED that drops": {shown("qos wred queue table T\n queue 3 drop-level 0 low-limit 10 high-limit 20 discard-probability 20\n queue 3 drop-level 2 low-limit 5 high-limit 20 discard-probability 20\n queue 3 weighting-constant 9\n queue 4 low-limit 10 high-limit 20\n"+port+" qos wred apply T\n", "S6800", nil),
			"default [] 0 50% | priority-3 [24 25 26 27 28 29 30 31] 3 50% lossless",
			"WRED: queue 3 drop-level 0 low-limit 10 high-limit 20 discard-probability 20: queue 3 is lossless, and drops early instead of marking, for want of ecn | WRED: queue 3 drop-level 2 low-limit 5 high-limit 20 discard-probability 20 has no word in weft" +
				" | WRED: queue 3 weighting-constant 9 has no word in weft | WRED: queue 4 low-limit 10 high-limit 20 has no word in weft | how its queues share a port is not said by qos wfq byte-count: equal shares are taken"},
		"a map that marks anew": {shown("qos map-table dscp-dscp\n import 26 export 0\n"+port, "S6800", nil),
			"default [] 0 50% | priority-3 [24 25 26 27 28 29 30 31] 3 50% lossless", "qos map-table dscp-dscp: import 26 export 0 has no word in weft | how its queues share a port is not said by qos wfq byte-count: equal shares are taken"},
		"a port that trusts nothing": {shown(port+strings.NewReplacer("1/0/1", "1/0/2", " qos trust dscp\n", "").Replace(port), "S6800", nil),
			"default [] 0 50% | priority-3 [24 25 26 27 28 29 30 31] 3 50% lossless",
			"how its queues share a port is not said by qos wfq byte-count: equal shares are taken | HundredGigE1/0/2: left out, for it trusts neither DSCP nor tags: priority-flow-control enable, priority-flow-control no-drop dot1p 3"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := OS().Meaning(c.out); classes(got) != c.classes || strings.Join(got.Remarks, " | ") != c.remarks {
				t.Errorf("classes %q, want %q\nremarks %q, want %q", classes(got), c.classes, strings.Join(got.Remarks, " | "), c.remarks)
			}
		})
	}
	// A priority may wait elsewhere than in the queue of its number.
	out := shown(port+" qos wfq byte-count\n qos wfq af4 group 1 byte-count 93\n", "S6800", nil)
	out[showDot1p] = "MAP-TABLE NAME: dot1p-lp   TYPE: pre-define\n 3 : 4\n"
	if got := OS().Meaning(out); classes(got) != "default [] 0 4% | priority-3 [24 25 26 27 28 29 30 31] 3 48% lossless | priority-4 [32 33 34 35 36 37 38 39] 4 48%" || len(got.Remarks) != 1 || got.Remarks[0] != "priority 3 has queue 4: with weft each has the queue of its number" {
		t.Errorf("%s %q", classes(got), got.Remarks)
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

// Whatever a switch prints, the shares of classes are 100 percent, each has some or is
// strict, and each has its own priority.
func FuzzMeaning(f *testing.F) {
	f.Add("interface HundredGigE1/0/1\n qos trust dscp\n qos wfq byte-count\n qos wfq af1 group 1 byte-count 127\n qos wfq af2 group 1 byte-count 127\n qos wfq af3 group 1 byte-count 127\n qos wfq af4 group 1 byte-count 2\n qos wfq ef group 1 byte-count 2\n qos wfq cs6 group 1 byte-count 2\n qos wfq cs7 group 1 byte-count 2\n", "")
	f.Add("interface HundredGigE1/0/1\n qos trust dscp\n priority-flow-control auto\n priority-flow-control no-drop dot1p 1-7\n", "MAP-TABLE NAME: dot1p-lp\n 3 : 0\n")
	f.Fuzz(func(t *testing.T, running, queues string) {
		out := shown(running, "S6800", nil)
		out[showDot1p] = queues
		m, sum, seen := OS().Meaning(out), 0, map[int]bool{}
		for _, k := range m.Classes {
			if seen[k.Priority] || k.Priority == 0 != (k.Name == switches.AllOther) || k.Strict != (k.Bandwidth == 0) {
				t.Errorf("%s", classes(m))
			}
			seen[k.Priority] = true
			sum += k.Bandwidth
		}
		if sum != 100 && len(m.Classes) > 0 {
			t.Errorf("%d percent: %s", sum, classes(m))
		}
	})
}
