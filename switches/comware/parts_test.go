package comware

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

// SYNTHETIC, in the layouts that public parsers of Comware 7 have for these lines.
func TestParts(t *testing.T) {
	const table = "Slot 1:\nFanID    Status      Direction\n1        Normal      Back-to-front\n2        Absent      Back-to-front\n"
	const pairs = " Slot 2:\n Fan 1:\n State    : Normal\n Airflow Direction: Port-to-power\n Fan 2:\n State    : FanDirectionFault\n"
	list, ok := fans(table + "\n" + pairs)
	if want := []string{"fans slot 1 fan 2: it is Absent", "fans slot 2 fan 2: it is FanDirectionFault"}; !ok || !slices.Equal(said(list), want) {
		t.Errorf("%v %q", ok, said(list))
	}
	const head = "PowerID State    Mode   Current(A)  Voltage(V)  Power(W)  FanDirection\n"
	list, ok = power("Slot 1:\n" + head + "1       Normal   AC     1.2         12.0        150       Back-to-front\n2       Absent   AC     --          --          --        Back-to-front\n" +
		"Slot 2:\n" + head + "1       Normal   AC     --          --          --        Back-to-front\n2       Normal   AC     --          --          --        Back-to-front\n3       Fault    AC     --          --          --        Back-to-front\n")
	if want := []string{"power slot 2 power supply 3: it is Fault", "power slot 1: 1 of its power supplies work, and two are needed for one to fail"}; !ok || !slices.Equal(said(list), want) {
		t.Errorf("%v %q", ok, said(list))
	}
	for _, text := range []string{"", "Error\n", "Slot 1:\n"} {
		if list, ok := fans(text); ok || list != nil {
			t.Errorf("%q is understood: %v", text, list)
		}
		if list, ok := power(text); ok || list != nil {
			t.Errorf("%q is understood: %v", text, list)
		}
	}
	if list, ok := fans(head + "1 Normal AC\n"); ok || list != nil {
		t.Errorf("supplies are taken for fans: %v", list)
	}
}

func TestOptics(t *testing.T) {
	const limits = "  Alarm thresholds:\n          Temp.(C) Voltage(V)  Bias(mA)  RX power(dBm)  TX power(dBm)\n    High  80         3.60        15.00     0.00           0.00\n    Low   -15        3.00        0.00      -10.90         -8.30\n"
	const one = "Ten-GigabitEthernet1/0/52 transceiver diagnostic information:\n  Current diagnostic parameters:\n    Temp.(C) Voltage(V)  Bias(mA)  RX power(dBm)  TX power(dBm)\n    42         3.41        6.42      -36.96         -2.71\n"
	const lanes = "HundredGigE1/0/1 transceiver diagnostic information:\n  Current diagnostic parameters:\n    [module] Temp.(C) Voltage(V)\n    81         3.41\n    [channel] Bias(mA)  RX power(dBm)  TX power(dBm)\n    1         6.42      -2.55          -2.71\n    2         6.42      -2.55          -9.00\n"
	list, ok := optics(one + limits + "Ten-GigabitEthernet1/0/51 transceiver diagnostic information:\n  The transceiver is absent.\n" + lanes + limits)
	want := []string{"optic Ten-GigabitEthernet1/0/52: RX power is -36.96, and its own alarms are at -10.9 and 0",
		"heat HundredGigE1/0/1: Temp is 81, and its own alarms are at -15 and 80", "optic HundredGigE1/0/1: TX power of lane 2 is -9, and its own alarms are at -8.3 and 0"}
	if !ok || !slices.Equal(said(list), want) {
		t.Errorf("%v %q", ok, said(list))
	}
	for name, text := range map[string]string{"nothing": "", "no limits": one, "the first without limits": one + lanes + limits, "something else": "TxPower(dBm) 2.84\n"} {
		if _, ok := optics(text); ok {
			t.Errorf("%s is understood", name)
		}
	}
}

func TestLinks(t *testing.T) {
	n := func(v uint64) *uint64 { return &v }
	d := func(v time.Duration) *time.Duration { return &v }
	got := links("HundredGigE1/0/21\nCurrent state: UP\nLast link flapping: 6 hours 39 minutes 25 seconds\n Input:  0 input errors, 0 runts, 0 giants, 0 throttles\n         3 CRC, 0 frame, - overruns, 0 aborts\n\n" +
		"Ten-GigabitEthernet1/0/1\nCurrent state: DOWN\nLast link flapping: Never\n         - CRC\n\nInLoopBack0\nCurrent state: UP(spoofing)\n\nM-GigabitEthernet0/0/0\nCurrent state: UP\n 9 CRC\n")
	want := map[string]switches.PortCount{
		"HundredGigE1/0/21":        {Up: true, Broken: n(3), Steady: d(6*time.Hour + 39*time.Minute + 25*time.Second)},
		"Ten-GigabitEthernet1/0/1": {Steady: d(switches.Always)},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestTranscriptsLinks(t *testing.T) {
	got := links(require.Transcript(t, "hp_comware/display_interface/ntc-templates__hp_comware_display_interface2.txt"))
	p, ok := got["FortyGigE1/0/49"]
	if !ok || p.Up || p.Broken == nil || *p.Broken != 0 || p.Steady == nil || *p.Steady != switches.Always {
		t.Errorf("%+v", got)
	}
	if len(got) == 0 || got["M-GigabitEthernet0/0/0"].Broken != nil {
		t.Errorf("what manages is none of them: %+v", got)
	}
}

func FuzzConditions(f *testing.F) {
	f.Add("Slot 1:\nFanID    Status      Direction\n1        Normal      Back-to-front\n")
	f.Add("HundredGigE1/0/1 transceiver diagnostic information:\n  Current diagnostic parameters:\n    [channel] Bias(mA)  RX power(dBm)  TX power(dBm)\n    1         6.42      -2.55          -2.71\n")
	f.Fuzz(func(_ *testing.T, text string) {
		for _, c := range conditions() {
			switch {
			case c.Ports != nil:
				c.Ports(text)
			case c.Compare != nil:
				c.Compare(text, text)
			default:
				c.Parse(text)
			}
		}
	})
}

func TestAges(t *testing.T) {
	for text, want := range map[string]string{
		"#\nmac-address timer aging 60\n":                                                 "", // it routes nothing
		"#\ninterface Vlan-interface40\n":                                                 "it forgets MAC addresses after 300 s and ARP after 1200 s: in between it floods",
		"#\n mac-address timer aging 1800\n#\ninterface Vlan-interface40\n":               "",
		"#\n mac-address timer no-aging\n#\ninterface Vlan-interface40\n":                 "",
		"#\n arp timer aging 5\n mac-address timer aging 60\ninterface Vlan-interface4\n": "it forgets MAC addresses after 60 s and ARP after 300 s: in between it floods",
		"#\n arp timer aging 5\n#\ninterface Vlan-interface4\n":                           "",
	} {
		list, ok := ages(text)
		if !ok || len(list) > 1 || want == "" && list != nil || want != "" && (list == nil || list[0].Text != want) {
			t.Errorf("%q: %v %v", text, ok, list)
		}
	}
}

func TestLogRules(t *testing.T) {
	for text, want := range map[string]string{
		"#\n sysname leaf-b\n#\n": "",
		" info-center loghost 192.0.2.1\n info-center source default console deny\n info-center source default monitor level error\n": "",
		" info-center source default loghost level debugging\n info-center source IFNET logbuffer level 6\n":                          "",
		" undo info-center enable\n":                               "information center: it is off: nothing is logged",
		" undo info-center logfile enable\n":                       "logfile: nothing is logged there",
		" info-center source default loghost deny\n":               "default: it logs nothing to loghost",
		" info-center source IFNET logbuffer level warning\r\n":    "IFNET: it logs up to warning to logbuffer, and up to informational by default",
		"interface HundredGigE1/0/1\n undo enable log updown\n#\n": "HundredGigE1/0/1: it does not log when its link comes or goes",
		" info-center source default channel 4 log level errors\n": "not understood",
		"": "not understood",
	} {
		list, ok := logRules(text)
		got := ""
		for _, one := range list {
			got += one.Part + ": " + one.Text
		}
		if !ok {
			got = "not understood"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}
