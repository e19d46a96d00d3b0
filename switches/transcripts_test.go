package switches

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/require"
)

// transcript reads what a real device printed. The collection is not part of
// the repository.
func transcript(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join("..", "..", "shared", "transcripts", filepath.FromSlash(name))
	b, err := os.ReadFile(path)
	if err != nil {
		require.Missing(t, require.Transcripts, "missing transcript: %v", err)
	}
	return string(b)
}

// enough demands that a test asks for three fields of a transcript at least, of
// those that are given: an empty one asks for nothing.
func enough(t *testing.T, name string, fields ...any) {
	t.Helper()
	asked := 0
	for _, f := range fields {
		if v := reflect.ValueOf(f); v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				if !v.Field(i).IsZero() {
					asked++
				}
			}
		} else if !v.IsZero() {
			asked++
		}
	}
	if asked < 3 {
		t.Errorf("%s: only %d fields are asked for", name, asked)
	}
}

func TestTranscriptsNXOSVersion(t *testing.T) {
	for name, want := range map[string]Facts{
		"genieparser__golden_output_1.txt":            {Hostname: "N9K-ACC-2", Model: "Nexus9000 C9396PX", Serial: "SAL18432P5N", Version: "9.3(6uu)I9(1uu)"},
		"genieparser__golden_output_2.txt":            {Hostname: "Spine-12", Model: "Nexus9000 C9332D-GX2B", Serial: "FDO26380WD1", Version: "10.2(3)"},
		"genieparser__golden_output_3.txt":            {Hostname: "Spine-11", Model: "Nexus9000 C9332D-GX2B", Serial: "FDO26380WP2", Version: "10.4(3)"},
		"github_12933489985_n9kv_10.1.1.txt":          {Hostname: "S31R28-TOR1", Model: "Nexus9000 C9500v", Serial: "REDACTED", Version: "10.1(1)"},
		"ntc-templates__cisco_nxos_show_version.txt":  {Hostname: "N9K1", Model: "Nexus9000 C9396PX", Serial: "SAL1819S6LU", Version: "6.1(2)I3(1)"},
		"ntc-templates__cisco_nxos_show_version1.txt": {Hostname: "Leaf-101", Model: "N9K-C9396PX", Serial: "SAL1909A8CT", Version: "14.0(1h)"},
		"ntc-templates__cisco_nxos_show_version2.txt": {Hostname: "IEDP02-N5K-SW01", Model: "Nexus 5596", Serial: "FOC17153X08", Version: "7.1(4)N1(1)"},
		"ntc-templates__cisco_nxos_show_version3.txt": {Hostname: "DC2TESTSW01-55", Model: "Nexus5548", Serial: "FOC171737PL", Version: "5.2(1)N1(4)"},
		"ntc-templates__cisco_nxos_show_version4.txt": {Hostname: "obttestw02", Model: "Nexus9000 C9372PX", Serial: "SAL2211QQWS", Version: "7.0(3)I4(3)"},
		"ntc-templates__cisco_nxos_show_version7.txt": {Hostname: "N3K-LAB-19", Model: "Nexus3000 C3232C", Serial: "FOC21261DQD", Version: "9.3(15)"},
	} {
		t.Run(name, func(t *testing.T) {
			enough(t, name, want)
			c, err := NXOS().Parse(map[string]string{nxosVersion: transcript(t, "cisco_nxos/show_version/"+name)})
			if err != nil || c.Facts != want {
				t.Errorf("%+v, want %+v (%v)", c.Facts, want, err)
			}
		})
	}
}

// wishFor wants ports, so that what stands in their way shows.
func wishFor(ports ...string) Intent {
	c := Intent{Name: "WEFT-o-f", Classes: []Class{{Name: allOther, Bandwidth: 100}}}
	for _, p := range ports {
		c.Ports = append(c.Ports, Port{Name: p, MTU: 9000, PFC: true, Classify: true, Queue: true})
	}
	return c
}

func TestTranscriptsNXOSRunning(t *testing.T) {
	for _, c := range []struct {
		file    string
		host    string
		port    Port
		foreign []string
		dog     string   // the watchdog of the system
		others  []string // some of the objects of somebody else; nil: not asked
		ports   []string // all ports; nil: not asked
	}{
		{
			file: "show_running-config/microsoft_SDN_nexus3132_6.0.2U6_qos_and_ports_excerpt.txt", host: "TOR1",
			port: Port{Name: "Ethernet1/3/1", Exists: true, PFC: true},
			foreign: []string{
				"system qos: service-policy type queuing output QOS_QUEUEING",
				"system qos: service-policy type network-qos QOS_NETWORK",
			},
		},
		{
			file: "show_running-config/batfish__nxos_interface_show_all_1.txt", host: "nxos_interface_show_all_1",
			port: Port{Name: "Ethernet1/21", Exists: true},
		},
		{
			file: "show_running-config/batfish__nxos_interface_show_all_2.txt", host: "nxos_interface_show_all_2",
			port: Port{Name: "Ethernet1/2", Exists: true},
		},
		{
			file: "show_running-config/batfish__nxos_policy_map.txt", host: "nxos_policy_map",
			port: Port{Name: "Ethernet1/1"},
			foreign: []string{
				"system qos: service-policy type network-qos pm_network_qos",
				"system qos: service-policy type queuing output pm_queuing_out",
			},
		},
		{
			file:    "show_running-config_interface/azurelocal_tor1_eth1-21_pfc.txt",
			port:    Port{Name: "Ethernet1/21", Exists: true, PFC: true, MTU: 9216},
			foreign: []string{"Ethernet1/21: service-policy type qos input AZS_SERVICES"},
		},
		{
			file: "show_running-config/batfish__nxos_class_map.txt", host: "nxos_class_map",
			port: Port{Name: "Ethernet1/1"},
			others: []string{
				"class-map type control-plane match-any cm_cp", "class-map type network-qos cm_network_qos",
				"class-map type qos match-any cm_qos", "class-map type queuing match-any c-out-8q-q7",
			},
		},
		{
			file: "show_running-config_interface/github_43493284401_n9kv_10.2.2_empty-vs-edited.txt",
			port: Port{Name: "Ethernet1/1", Exists: true}, ports: []string{"Ethernet1/1"},
		},
		{
			file: "show_running-config_interface/github_53215664192_9.3.1.txt",
			port: Port{Name: "Ethernet1/8", Exists: true}, ports: []string{"Ethernet1/8", "Ethernet1/7"},
		},
		{
			file: "CONFIG_EXAMPLES/github_62929086650_netapp-style_rcf_n9364d.txt", dog: "drop",
			port: Port{Name: "Ethernet1/63", Exists: true},
			others: []string{
				"class-map type qos match-any RDMA", "policy-map type qos HA_STORAGE_POLICY",
				"policy-map type queuing EGRESS_POLICY", "policy-map type network-qos NETQOS_POLICY",
			},
		},
		{
			file: "CONFIG_EXAMPLES/azurelocal_tor_qos.txt",
			port: Port{Name: "Ethernet1/17", Exists: true, PFC: true, MTU: 9216},
			foreign: []string{
				"system qos: service-policy type queuing output QOS_EGRESS_PORT",
				"system qos: service-policy type network-qos QOS_NETWORK",
				"Ethernet1/17: service-policy type qos input AZLocal_SERVICES",
			},
		},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			got, err := NXOS().Parse(map[string]string{nxosRunning: transcript(t, "cisco_nxos/"+c.file)})
			if err != nil {
				t.Fatal(err)
			}
			fields := []any{c.host, c.port, c.dog}
			for _, list := range [][]string{c.foreign, c.others, c.ports} {
				for _, value := range list {
					fields = append(fields, value)
				}
			}
			enough(t, c.file, fields...)
			for _, head := range c.others {
				if !slices.Contains(got.read.others, head) {
					t.Errorf("%q is not among %q", head, got.read.others)
				}
			}
			var ports []string
			for _, p := range got.Ports {
				ports = append(ports, p.Name)
			}
			if c.ports != nil && !slices.Equal(ports, c.ports) {
				t.Errorf("ports %q, want %q", ports, c.ports)
			}
			if got.Watchdog != c.dog {
				t.Errorf("watchdog %q, want %q", got.Watchdog, c.dog)
			}
			got = got.For(wishFor(c.port.Name))
			if got.Facts.Hostname != c.host {
				t.Errorf("hostname %q, want %q", got.Facts.Hostname, c.host)
			}
			p := got.Ports[0]
			p.read = false
			if p.Name != c.port.Name || p.Exists != c.port.Exists || p.PFC != c.port.PFC || p.MTU != c.port.MTU || p.Classify || p.Queue {
				t.Errorf("port %+v, want %+v", p, c.port)
			}
			if !slices.Equal(got.Foreign, c.foreign) {
				t.Errorf("foreign %q, want %q", got.Foreign, c.foreign)
			}
			if got.Name != "" || len(got.Classes) != 0 {
				t.Errorf("classes of ours where there are none: %q %+v", got.Name, got.Classes)
			}
		})
	}
}

// What we take for a verdict is what switches say.
func TestTranscriptsNXOSCommit(t *testing.T) {
	text := transcript(t, "cisco_nxos/configure_dual-stage/github_57988076742_cml_10.x.txt")
	for _, phrase := range []string{nxosVerified, nxosFired, nxosRolledBack, "(config-dual-stage)#", "(config-dual-stage-if)#", nxosDual, "commit confirmed 30"} {
		if !strings.Contains(text, phrase) {
			t.Errorf("the switch never says %q", phrase)
		}
	}
	if n := len(nxosNotVerified.FindAllString(text, -1)); n != 2 {
		t.Errorf("%d lines say that verification failed, want 2", n)
	}
	prompt := regexp.MustCompile(`(?im)^[\w.\-]{1,63}(\(maint-mode\))?\(conf(ig)?[\w.\-@/:+]{0,63}\)#\s?$`)
	if !strings.Contains(nxosPlatform, prompt.String()) || len(prompt.FindAllString(text, -1)) != 3 {
		t.Errorf("bare prompts of two-stage configuration: %q", prompt.FindAllString(text, -1))
	}
}

func TestTranscriptsNXOSRefusals(t *testing.T) {
	d := NXOS().Dialect
	text := transcript(t, "cisco_nxos/copy_file_running-config/github_12933489985_n9kv_10.1.1_qos_refusal.txt")
	for _, phrase := range []string{"Unable to perform the action", "ERROR: Configuration failed", "Module 1 returned status"} {
		at := strings.Index(text, phrase)
		if at < 0 {
			t.Fatalf("the transcript does not hold %q", phrase)
		}
		line, _, _ := strings.Cut(text[at:], "\n")
		if !slices.ContainsFunc(d.Refusals, func(p string) bool { return regexp.MustCompile(p).MatchString(line) }) {
			t.Errorf("not taken for a refusal: %s", line)
		}
	}
	n := 0
	for line := range strings.Lines(text) {
		if syslog.MatchString(line) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d log lines, want 1", n)
	}
}

func TestTranscriptsComwareFacts(t *testing.T) {
	version := transcript(t, "hp_comware/display_version/github_6359964915_s6800-54qf_R2609H09.txt")
	for name, serial := range map[string]string{
		"ntc-templates__hp_comware_display_device_manuinfo.txt":                           "11111111111111110000",
		"ntc-templates__hp_comware_display_device_manuinfo1.txt":                          "11111111111111110000",
		"ntc-templates__hp_comware_display_device_manuinfo2.txt":                          "11111111111111111111",
		"ntc-templates__hp_comware_display_device_manuinfo3.txt":                          "11111111111111110000",
		"ntc-templates__hp_comware_display_device_manuinfo_5200.txt":                      "xxxx",
		"ntc-templates__hp_comware_display_device_manuinfo_cw5_only-new-chassis.txt":      "21023LMAOPOPB113000172",
		"ntc-templates__hp_comware_display_device_manuinfo_failed-display-null-power.txt": "CN12AB12AB",
		"ntc-templates__hp_comware_display_device_manuinfo_productNumber.txt":             "CN12A123B1",
		"ntc-templates__hp_comware_display_device_manuinfo_no-slot-type.txt":              "219801A2X08218E0000M",
		"ntc-templates__hp_comware_display_device_manuinfo_cw5_product-id.txt":            "CN2ABC123W11Y",
	} {
		c, err := Comware().Parse(map[string]string{comwareVersion: version, comwareManu: transcript(t, "hp_comware/display_device_manuinfo/"+name)})
		want := Facts{Model: "S6800-54QF", Version: "7.1.070, Release 2609", Serial: serial, CellBytes: 208, CellAssumed: true}
		enough(t, name, want)
		if err != nil || c.Facts != want {
			t.Errorf("%s: %+v, want %+v (%v)", name, c.Facts, want, err)
		}
	}
}

func TestTranscriptsComwareRunning(t *testing.T) {
	c, err := Comware().Parse(map[string]string{
		comwareRunning: transcript(t, "hp_comware/CONFIG_EXAMPLES/h3c_aidc_template_current-configuration_shape.txt"),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := c.For(wishFor("FourHundredGigE1/0/33"))
	p := got.Ports[0]
	if !p.Exists || !p.Classify || p.Queue {
		t.Errorf("port %+v", p)
	}
	if !p.Classes[3].PFC || !p.Classes[6].Strict || !p.Classes[7].Strict || p.Classes[3].Bandwidth != 1 {
		t.Errorf("queues of the port: %+v", p.Classes)
	}
	if want := []string{"FourHundredGigE1/0/33: qos wred apply 400G-WRED-Template"}; !slices.Equal(got.Foreign, want) {
		t.Errorf("foreign %q, want %q", got.Foreign, want)
	}
	lp, _ := findBlock(c.read.global, comwareMapDot1p)
	if len(lp.lines) != 8 || lp.lines[5] != "import 5 export 5" {
		t.Errorf("dot1p-lp: %q", lp.lines)
	}
}

func TestTranscriptsComwareMaps(t *testing.T) {
	m := comwareMap(transcript(t, "hp_comware/display_qos_map-table/h3c_cw7_cmdref_doc_sample.txt"), "dot1p-lp")
	if len(m) != 8 || m[0] != 2 || m[1] != 0 || m[2] != 1 || m[7] != 7 {
		t.Errorf("dot1p-lp: %v", m)
	}
	m = comwareMap(transcript(t, "hp_comware/display_qos_map-table/SYNTHETIC_fault_injector_dscp-dot1p.txt"), "dscp-dot1p")
	if _, other := m[25]; len(m) != 1 || m[26] != 3 || other {
		t.Errorf("dscp-dot1p: %v", m)
	}
}

func TestTranscriptsComwareFrames(t *testing.T) {
	for name, want := range map[string]struct {
		ports  int // that say how long a frame may be
		frames map[string]int
	}{
		"genieparser__golden_output.txt":                                   {1, map[string]int{"GigabitEthernet3/8/0/38": 9216}},
		"genieparser__golden_output1.txt":                                  {1, map[string]int{"GigabitEthernet3/8/0/48": 9216}},
		"ntc-templates__hp_comware_display_interface.txt":                  {2, map[string]int{"GigabitEthernet1/1/0/31": 9216, "Ten-GigabitEthernet1/0/1": 9216}},
		"ntc-templates__hp_comware_display_interface2.txt":                 {1, map[string]int{"FortyGigE1/0/49": 10000}},
		"ntc-templates__hp_comware_display_interface6.txt":                 {1, map[string]int{"Ten-GigabitEthernet1/1/1": 12288}},
		"ntc-templates__hp_comware_display_interface7.txt":                 {1, map[string]int{"GigabitEthernet1/1/0/48": 1536}},
		"ntc-templates__hp_comware_display_interface_known_unicast.txt":    {1, map[string]int{"GigabitEthernet11/0/57": 9416}},
		"ntc-templates__hp_comware_display_interface_release_09119P17.txt": {12, map[string]int{"GigabitEthernet0/0/0": 9664, "GigabitEthernet0/0/3": 9664}},
		"ntc-templates__hp_comware_display_interface_stp-down_jumbo.txt":   {2, map[string]int{"GigabitEthernet11/0/17": 1536, "GigabitEthernet12/0/17": 1518}},
		"ntc-templates__hp_comware_display_interface_tagged-vlan-none.txt": {1, map[string]int{"FortyGigE7/0/49": 10000}},
		// Logical interfaces, the management port, and ports of firewalls, which do not say it.
		"genieparser__golden_output2.txt":                                 {},
		"ntc-templates__hp_comware_display_interface1.txt":                {},
		"ntc-templates__hp_comware_display_interface3.txt":                {},
		"ntc-templates__hp_comware_display_interface4.txt":                {},
		"ntc-templates__hp_comware_display_interface5.txt":                {},
		"ntc-templates__hp_comware_display_interface8.txt":                {},
		"ntc-templates__hp_comware_display_interface_dhcp.txt":            {},
		"ntc-templates__hp_comware_display_interface_mgmt.txt":            {},
		"ntc-templates__hp_comware_display_interface_release_0615P16.txt": {},
	} {
		got := comwareFrameLengths(transcript(t, "hp_comware/display_interface/"+name))
		if len(got) != want.ports {
			t.Errorf("%s: %d ports, want %d: %v", name, len(got), want.ports, got)
		}
		for port, frame := range want.frames {
			enough(t, name, want.ports, port, frame)
			if got[port] != frame {
				t.Errorf("%s: %s takes %d, want %d", name, port, got[port], frame)
			}
		}
	}
}

func TestTranscriptsClocks(t *testing.T) {
	for file, want := range map[string]string{
		"cisco_nxos/show_clock/ntc-templates__cisco_nxos_show_clock.txt":         "2015-10-19 18:57:38",
		"hp_comware/display_clock/ntc-templates__hp_comware_display_clock.txt":   "2011-01-08 19:35:31",
		"hp_comware/display_clock/ntc-templates__hp_comware_display_clock_1.txt": "2015-03-16 10:09:00",
		"hp_comware/display_clock/ntc-templates__hp_comware_display_clock_2.txt": "2015-03-16 15:10:00",
		"hp_comware/display_clock/ntc-templates__hp_comware_display_clock_3.txt": "2015-03-16 15:11:00",
	} {
		enough(t, file, want[:4], want[5:10], want[11:]) // year, day and time
		got, err := parseClock(transcript(t, file))
		if err != nil || got.Format(time.DateTime) != want {
			t.Errorf("%s: %s (%v), want %s", file, got, err, want)
		}
	}
}

func TestTranscriptsComwareSave(t *testing.T) {
	saved := regexp.MustCompile(Comware().Dialect.Saved)
	if text := transcript(t, "hp_comware/save/h3c_cw7_cmdref_doc_sample.txt"); len(saved.FindAllString(text, -1)) < 4 {
		t.Error("a save that succeeds is not seen")
	}
	if saved.MatchString(transcript(t, "hp_comware/save/h3c_bad_filename.txt")) {
		t.Error("a save that fails counts as one that succeeds")
	}
	if !question.MatchString("The current configuration will be written to the device. Are you sure? [Y/N]:") {
		t.Error("a question is not seen")
	}
}
