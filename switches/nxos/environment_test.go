package nxos

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"weft/internal/require"
	"weft/switches"
)

// said are the parts and texts of troubles.
func said(list []switches.Trouble) (out []string) {
	for _, x := range list {
		out = append(out, x.What+" "+x.Part+": "+x.Text)
	}
	return out
}

// SYNTHETIC, in the layouts of ntc-templates' recordings of a Nexus 9000 and a Nexus 7000.
const (
	supplies9000 = "Power Supply:\nVoltage: 12 Volts\nPower                             Actual      Actual        Total\nSupply    Model                   Output      Input      Capacity    Status\n" +
		"                                (Watts )    (Watts )     (Watts )\n-------  -------------------  ----------  ----------  ----------  --------------\n" +
		"1        N9K-PAC-650W              101 W       103 W       650 W     Ok\n2        N9K-PAC-650W                0 W         0 W       650 W     Shutdown\n\n\n"
	usage    = "Power Usage Summary:\n--------------------\nPower Supply redundancy mode (configured)                PS-Redundant\nPower Supply redundancy mode (operational)               Non-Redundant\n\nTotal Power Input (actual draw)                              206.00 W\n\n"
	rack9000 = "Fan:\n---------------------------------------------------------------------------\nFan             Model                Hw     Direction       Status\n---------------------------------------------------------------------------\n" +
		"Fan1(sys_fan1)  N9K-C9300-FAN2       --     front-to-back   Ok\nFan2(sys_fan2)  N9K-C9300-FAN2       --     front-to-back   Failure\nFan_in_PS1      --                   --     front-to-back   Ok\nFan Zone Speed: Zone 1: 0x80\nFan Air Filter : NotSupported\n\n\n"
	sensors = "Temperature:\n--------------------------------------------------------------------\nModule   Sensor        MajorThresh   MinorThres   CurTemp     Status\n                       (Celsius)     (Celsius)    (Celsius)\n--------------------------------------------------------------------\n" +
		"1        FRONT           70              42          24         Ok\n1        Inlet  (s1)     60              42          42         MinAlarm\n"
)

func TestEnvironment(t *testing.T) {
	text := supplies9000 + usage + rack9000 + sensors
	for name, c := range map[string]struct {
		parse func(string) ([]switches.Trouble, bool)
		want  []string
	}{
		"power": {power, []string{"power power supply 2: it is Shutdown", "power : 1 of its power supplies work, and two are needed for one to fail",
			"power : redundancy is configured as PS-Redundant and is Non-Redundant"}},
		"fans":   {fans, []string{"fans Fan2(sys_fan2): it is Failure"}},
		"warmth": {warmth, []string{"warmth module 1 Inlet  (s1): it is 42 °C and MinAlarm, its own limits are 42 and 60"}},
	} {
		list, ok := c.parse(text)
		if !ok || !slices.Equal(said(list), c.want) {
			t.Errorf("%s: %v %q", name, ok, said(list))
		}
		for _, other := range []string{"", "Environment is fine\n", "Power Supply:\nFan:\nTemperature:\n"} {
			if list, ok := c.parse(other); ok || list != nil {
				t.Errorf("%s understands %q: %v", name, other, list)
			}
		}
	}
	// A Nexus 7000 has modules below its supplies, and an empty bay is none that fails.
	bays := "Power Supply:\n1        N7K-AC-3KW                 407 W       3000 W     Ok        \n2        N7K-AC-3KW                 370 W       3000 W     Ok   \n3        ------------                 0 W          0 W     Absent\n\n" +
		"Module    Model                     Draw    Allocated    Status\n1        N7K-SUP2E                  125 W        265 W    Powered-Up\nfan1     N7K-C7004-FAN               91 W        450 W    Powered-Up\n"
	if list, ok := power(bays); !ok || list != nil {
		t.Errorf("%v %v", ok, list)
	}
}

func TestLogLevels(t *testing.T) {
	text := "Facility        Default Severity        Current Session Severity\n--------        ----------------        ------------------------\n" +
		"ethpm                   5                       5\nipqosmgr                4                       2\nlldp                    2                       5\n\n0(emergencies)          1(alerts)       2(critical)\n3(errors)               4(warnings)     5(notifications)\n"
	list, ok := logLevels(text)
	if want := []string{"log ipqosmgr: it logs severities up to 2, and up to 4 by default"}; !ok || !slices.Equal(said(list), want) {
		t.Errorf("%v %q", ok, said(list))
	}
	if _, ok := logLevels("Logging console: enabled\n"); ok {
		t.Error("it understands anything")
	}
}

func TestLinks(t *testing.T) {
	const day = 24 * time.Hour
	n := func(v uint64) *uint64 { return &v }
	d := func(v time.Duration) *time.Duration { return &v }
	got := links("mgmt0 is up\nadmin state is up,\n    9 CRC\nEthernet1/1 is up\nadmin state is up, Dedicated Interface\n  Last link flapped 1week(s) 2day(s)\n    0 runts  0 giants  3 CRC  0 no buffer\n    7 Stomped CRC\n" +
		"Ethernet1/2 is down (Link not connected)\n  Last link flapped never\n    0 runts  0 giants  4 CRC/FCS  0 no buffer\nEthernet1/3 is up\n  Last link flapped 00:12:03\nEthernet1/4 is up\n  Last link flapped yesterday\nport-channel1 is up\n    8 CRC\n")
	want := map[string]switches.PortCount{
		"Ethernet1/1": {Up: true, Broken: n(3), Steady: d(9 * day)},
		"Ethernet1/2": {Broken: n(4), Steady: d(switches.Always)},
		"Ethernet1/3": {Up: true, Steady: d(12*time.Minute + 3*time.Second)},
		"Ethernet1/4": {Up: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestTranscriptsLinks(t *testing.T) {
	got := links(require.Transcript(t, "cisco_nxos/show_interface/azurelocal_tor1_eth1-1_linewraps-as-found.txt"))
	p := got["Ethernet1/1"]
	if len(got) != 1 || !p.Up || p.Broken == nil || *p.Broken != 0 || p.Steady == nil || *p.Steady != 8*24*time.Hour {
		t.Errorf("%+v", got)
	}
}

func TestAges(t *testing.T) {
	for text, want := range map[string]string{
		"version 10.3\nmac address-table aging-time 300\n":                                                 "", // it routes nothing
		"interface Vlan40\n  ip address 10.40.1.1/24\n":                                                    "", // 1,800 and 1,500
		"interface Vlan40\n  ip arp timeout 3600\n":                                                        "it forgets MAC addresses after 1800 s and ARP after 3600 s: in between it floods",
		"mac address-table aging-time 300\ninterface Vlan40\n  no shutdown\n":                              "it forgets MAC addresses after 300 s and ARP after 1500 s: in between it floods",
		"mac address-table aging-time 0\ninterface Vlan40\n  ip arp timeout 3600\ninterface Ethernet1/1\n": "",
	} {
		list, ok := ages(text)
		if !ok || len(list) > 1 || want == "" && list != nil || want != "" && (list == nil || list[0].Text != want) {
			t.Errorf("%q: %v %v", text, ok, list)
		}
	}
	if _, ok := ages(""); ok {
		t.Error("nothing is understood")
	}
}
