package switches_test

import (
	"strings"
	"testing"

	"weft/internal/require"
	"weft/internal/tally"
	"weft/switches/comware"
	"weft/switches/nxos"
	"weft/switches/systems"
)

func value(t *testing.T, c *tally.Ports, port string, priority int, name string) uint64 {
	t.Helper()
	count, ok, why := c.Find(port, priority, name)
	if !ok {
		t.Errorf("no %s of priority %d at %s: %s", name, priority, port, why)
	}
	return count.Value
}

func TestTranscriptsNXOSCounters(t *testing.T) {
	counts, err := nxos.OS().Counters[0].Parse(require.Transcript(t, "cisco_nxos/show_queuing_interface/zartbot_n93180fx2_2021.txt"), "Ethernet1/51")
	if err != nil {
		t.Fatal(err)
	}
	c := &tally.Ports{Counts: counts}
	for _, want := range []struct {
		priority int
		name     string
		value    uint64
	}{{5, tally.TxPackets, 202328436}, {5, tally.TxBytes, 203884632744}, {5, tally.Drops, 0}, {5, tally.PFCTx, 150}, {5, tally.PFCRx, 0}, {3, tally.PFCTx, 0}, {tally.AllPriorities, tally.IngressDrops, 19490}} {
		if got := value(t, c, "Ethernet1/51", want.priority, want.name); got != want.value {
			t.Errorf("%s of %d: %d, want %d", want.name, want.priority, got, want.value)
		}
	}
	if _, ok, _ := c.Find("Ethernet1/51", 6, tally.Drops); ok {
		t.Error("a box without rows has counted drops")
	}
	counts, err = nxos.OS().Counters[0].Parse(require.Transcript(t, "cisco_nxos/show_queuing_interface/SYNTHETIC_otel_contrib_test.txt"), "Ethernet2/1")
	if err != nil {
		t.Fatal(err)
	}
	c = &tally.Ports{Counts: counts}
	for _, want := range []struct {
		priority int
		name     string
		value    uint64
	}{{0, tally.TxPackets, 68}, {0, tally.TxBytes, 6800}, {0, tally.Drops, 3}, {3, tally.TxPackets, 50}, {3, tally.Drops, 6}, {3, tally.PFCTx, 7}, {3, tally.PFCRx, 8}, {tally.AllPriorities, tally.IngressDrops, 10}} {
		if got := value(t, c, "Ethernet2/1", want.priority, want.name); got != want.value {
			t.Errorf("%s of %d: %d, want %d", want.name, want.priority, got, want.value)
		}
	}
	counts, err = nxos.OS().Counters[1].Parse(require.Transcript(t, "cisco_nxos/show_queuing_pfc-queue_detail/SYNTHETIC_otel_contrib_test.txt"), "Ethernet1/23")
	if err != nil || len(counts) != 1 || counts[0].Value != 1 || counts[0].Name != tally.WatchdogEvents || counts[0].Priority != tally.AllPriorities || counts[0].Port != "Ethernet1/23" {
		t.Errorf("watchdog: %+v %v", counts, err)
	}
}

func TestTranscriptsComwareCounters(t *testing.T) {
	_, text, _ := strings.Cut(require.Transcript(t, "hp_comware/display_qos_queue-statistics_interface_outbound/h3c_cw7_cmdref_doc_sample.txt"), "\n")
	counts, err := comware.OS().Counters[0].Parse(text, "GigabitEthernet1/0/1")
	if err != nil {
		t.Fatal(err)
	}
	c := &tally.Ports{Counts: counts}
	for _, want := range []struct {
		priority int
		name     string
		value    uint64
	}{{0, tally.Drops, 1}, {3, tally.Drops, 1}, {3, tally.TxPackets, 0}, {7, tally.TxBytes, 0}} {
		if got := value(t, c, "GigabitEthernet1/0/1", want.priority, want.name); got != want.value || len(counts) != 24 {
			t.Errorf("%s of %d: %d of %d counts, want %d", want.name, want.priority, got, len(counts), want.value)
		}
	}
}

// Rows whose columns moved are not counted: whose numbers they are cannot be told. Those that
// are broken at 80 columns are.
func TestTranscriptsComwarePFC(t *testing.T) {
	const folder = "hp_comware/display_priority-flow-control_interface/"
	parse := comware.OS().Counters[1].Parse
	if counts, err := parse(require.Transcript(t, folder+"SYNTHETIC_fault_injector_200GE.txt"), "TwoHundredGigE1/0/4"); err != nil || len(counts) > 0 {
		t.Errorf("%+v %v", counts, err)
	}
	counts, err := parse(require.Transcript(t, folder+"h3c_s6550x_s9825_doc_sample_WRAPPED.txt"), "Twenty-FiveGigE1/0/1")
	c := &tally.Ports{Counts: counts}
	if err != nil || value(t, c, "Twenty-FiveGigE1/0/1", 0, tally.PFCRx) != 5 || value(t, c, "Twenty-FiveGigE1/0/1", 0, tally.PFCTx) != 5 {
		t.Errorf("%+v %v", counts, err)
	}
}

// What is in no layout that is known is not counted, and not zero.
func TestCountersOfUnknownLayouts(t *testing.T) {
	const watchdog = "Ethernet1/1 Interface PFC watchdog: [Enabled]\n| QOS GROUP 3 [Active] PFC [YES] PFC-COS [3]\n"
	for name, text := range map[string]string{
		"no rows":        watchdog,
		"another word":   "Ethernet1/1 Interface PFC watchdog: [Perhaps]\n",
		"nothing":        "",
		"rows and off":   strings.Replace(watchdog, "Enabled", "Disabled", 1),
		"too many boxes": watchdog + "|  Shutdown|  0|\n| QOS GROUP 4 [Active] PFC [YES] PFC-COS [4]\n",
	} {
		if counts, err := nxos.OS().Counters[1].Parse(text, "Ethernet1/1"); err == nil && len(counts) > 0 {
			t.Errorf("%s: %+v", name, counts)
		}
	}
	if counts, err := nxos.OS().Counters[1].Parse(watchdog+"|   Shutdown|   2|\n", "Ethernet1/1"); err != nil || len(counts) != 1 || counts[0].Value != 2 {
		t.Errorf("%+v %v", counts, err)
	}
	const head = "Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv       Send       Inpps      Outpps\n"
	for row, want := range map[string]int{
		"HGE1/0/1                         Enabled    Enabled   3           3     18         4          0          0\n": 2,
		"HGE1/0/1                         Enabled    Enabled               0     5          5          3          3\n": 2,
		"200GE1/0/4                       Enabled    Enabled   3         5     18         0          0          0\n":   0, // moved
		"HGE1/0/1                         Enabled    Enabled   3           3     -          4          0          0\n": 0,
	} {
		if counts, err := comware.OS().Counters[1].Parse(head+row, "HundredGigE1/0/1"); err != nil || len(counts) != want {
			t.Errorf("%s%+v %v", row, counts, err)
		}
	}
	if counts, err := comware.OS().Counters[1].Parse("Conf -- Configured mode\nHGE1/0/1 1 2 3\n", "HundredGigE1/0/1"); err != nil || len(counts) > 0 {
		t.Errorf("another layout: %+v %v", counts, err)
	}
	for text, ok := range map[string]bool{
		"#\ninterface HundredGigE1/0/1\n qos trust dscp\n#":                        true,
		"#\ninterface HundredGigE1/0/1\n priority-flow-control deadlock enable\n#": false,
		"#\nreturn": false,
	} {
		if counts, err := comware.OS().Counters[2].Parse(text, "HundredGigE1/0/1"); (err == nil && len(counts) == 1) != ok {
			t.Errorf("%s: %+v %v", text, counts, err)
		}
	}
}

// A line that the switch refuses is a gap with its words; others are counted.
func TestCountersOfASession(t *testing.T) {
	t.Parallel()
	r := newReplay(t, join(comwareLogin, `
<leaf-b> display qos queue-statistics interface HundredGigE1/0/11 outbound
                  ^
 % Unrecognized command found at '^' position.
<leaf-b> display priority-flow-control interface HundredGigE1/0/11
Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv       Send       Inpps      Outpps
---------------------------------------------------------------------------------------------------
HGE1/0/11                        Enabled    Enabled   3           3     18         4          0          0
<leaf-b> display current-configuration interface HundredGigE1/0/11
#
interface HundredGigE1/0/11
 priority-flow-control deadlock enable
#
return
<leaf-b>
`))
	c, err := open(t, comware.OS(), r).Counters(t.Context(), []string{"HundredGigE1/0/11"})
	if err != nil {
		t.Fatal(err)
	}
	if got := value(t, c, "HundredGigE1/0/11", 3, tally.PFCRx); got != 18 || len(c.Counts) != 2 || c.Counts[0].Line == "" {
		t.Errorf("%+v", c)
	}
	for name, want := range map[string]string{tally.Drops: "Unrecognized command", tally.WatchdogEvents: "deadlock detection is on"} {
		if _, ok, why := c.Find("HundredGigE1/0/11", 3, name); ok || !strings.Contains(why, want) {
			t.Errorf("%s: %q", name, why)
		}
	}
}

func FuzzCounters(f *testing.F) {
	f.Add("Queuing for Ethernet1/1\n| QOS GROUP 3 |\n| Tx Pkts | 1| 2|\n| Dropped Pkts | 1|\nPort Ingress Statistics\n X Drop Pkts 3\nPFC Statistics\n 3 3 Inactive 1 Inactive 2\n")
	f.Add("Interface: Ethernet1/1\n Queue 3\n  Forwarded: 1 packets, 2 bytes\n  Dropped: 1 packets, 2 bytes\n")
	f.Add("Interface                        AdminMode  OperMode  Dot1pList   Prio  Recv       Send       Inpps      Outpps\n")
	f.Add("Ethernet1/1 Interface PFC watchdog: [Enabled]\n| QOS GROUP 3 [A]\n| Shutdown| 1|\ninterface Ethernet1/1\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, os := range []string{"nxos", "comware"} {
			for _, l := range systems.Named(os).Counters {
				counts, err := l.Parse(text, "Ethernet1/1")
				for _, c := range counts {
					if err == nil && (c.Port != "Ethernet1/1" || c.Priority < tally.AllPriorities || c.Priority > 7 || c.Name == "") {
						t.Errorf("%+v", c)
					}
				}
			}
		}
	})
}
