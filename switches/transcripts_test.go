package switches_test

import (
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"weft/internal/require"
	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"
)

// Enough demands that a test asks for three fields of a transcript at least, of
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
	for name, want := range map[string]switches.Facts{
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
			c, err := nxos.OS().Parse(map[string]string{"show version": require.Transcript(t, "cisco_nxos/show_version/"+name)})
			if err != nil || c.Facts != want {
				t.Errorf("%+v, want %+v (%v)", c.Facts, want, err)
			}
		})
	}
}

// wishFor wants ports, so that what stands in their way shows.
func wishFor(ports ...string) switches.Intent {
	c := switches.Intent{Name: "WEFT-o-f", Classes: []switches.Class{{Name: switches.AllOther, Bandwidth: 100}}}
	for _, p := range ports {
		c.Ports = append(c.Ports, switches.Port{Name: p, MTU: 9000, PFC: true, Classify: true, Queue: true})
	}
	return c
}

func TestTranscriptsNXOSRunning(t *testing.T) {
	for _, c := range []struct {
		file    string
		host    string
		port    switches.Port
		foreign []string
		dog     string   // the watchdog of the system
		others  []string // some of the objects of another owner; nil: not asked
		ports   []string // all ports; nil: not asked
	}{
		{
			file: "show_running-config/microsoft_SDN_nexus3132_6.0.2U6_qos_and_ports_excerpt.txt", host: "TOR1",
			port: switches.Port{Name: "Ethernet1/3/1", Exists: true, PFC: true},
			foreign: []string{
				"system qos: service-policy type queuing output QOS_QUEUEING",
				"system qos: service-policy type network-qos QOS_NETWORK",
			},
		},
		{
			file: "show_running-config/batfish__nxos_interface_show_all_1.txt", host: "nxos_interface_show_all_1",
			port: switches.Port{Name: "Ethernet1/21", Exists: true},
		},
		{
			file: "show_running-config/batfish__nxos_interface_show_all_2.txt", host: "nxos_interface_show_all_2",
			port: switches.Port{Name: "Ethernet1/2", Exists: true},
		},
		{
			file: "show_running-config/batfish__nxos_policy_map.txt", host: "nxos_policy_map",
			port: switches.Port{Name: "Ethernet1/1"},
			foreign: []string{
				"system qos: service-policy type network-qos pm_network_qos",
				"system qos: service-policy type queuing output pm_queuing_out",
			},
		},
		{
			file:    "show_running-config_interface/azurelocal_tor1_eth1-21_pfc.txt",
			port:    switches.Port{Name: "Ethernet1/21", Exists: true, PFC: true, MTU: 9216},
			foreign: []string{"Ethernet1/21: service-policy type qos input AZS_SERVICES"},
		},
		{
			file: "show_running-config/batfish__nxos_class_map.txt", host: "nxos_class_map",
			port: switches.Port{Name: "Ethernet1/1"},
			others: []string{
				"class-map type control-plane match-any cm_cp", "class-map type network-qos cm_network_qos",
				"class-map type qos match-any cm_qos", "class-map type queuing match-any c-out-8q-q7",
			},
		},
		{
			file: "show_running-config_interface/github_43493284401_n9kv_10.2.2_empty-vs-edited.txt",
			port: switches.Port{Name: "Ethernet1/1", Exists: true}, ports: []string{"Ethernet1/1"},
		},
		{
			file: "show_running-config_interface/github_53215664192_9.3.1.txt",
			port: switches.Port{Name: "Ethernet1/8", Exists: true}, ports: []string{"Ethernet1/8", "Ethernet1/7"},
		},
		{
			file: "CONFIG_EXAMPLES/github_62929086650_netapp-style_rcf_n9364d.txt", dog: "drop",
			port: switches.Port{Name: "Ethernet1/63", Exists: true},
			others: []string{
				"class-map type qos match-any RDMA", "policy-map type qos HA_STORAGE_POLICY",
				"policy-map type queuing EGRESS_POLICY", "policy-map type network-qos NETQOS_POLICY",
			},
		},
		{
			file: "CONFIG_EXAMPLES/azurelocal_tor_qos.txt",
			port: switches.Port{Name: "Ethernet1/17", Exists: true, PFC: true, MTU: 9216},
			foreign: []string{
				"system qos: service-policy type queuing output QOS_EGRESS_PORT",
				"system qos: service-policy type network-qos QOS_NETWORK",
				"Ethernet1/17: service-policy type qos input AZLocal_SERVICES",
			},
		},
	} {
		t.Run(filepath.Base(c.file), func(t *testing.T) {
			got, err := nxos.OS().Parse(map[string]string{"show running-config": require.Transcript(t, "cisco_nxos/"+c.file)})
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
				if !slices.Contains(got.Text().Others, head) {
					t.Errorf("%q is not among %q", head, got.Text().Others)
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

func TestTranscriptsNXOSRefusals(t *testing.T) {
	d := nxos.OS().Dialect
	text := require.Transcript(t, "cisco_nxos/copy_file_running-config/github_12933489985_n9kv_10.1.1_qos_refusal.txt")
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
		if switches.Syslog().MatchString(line) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d log lines, want 1", n)
	}
}

func TestTranscriptsComwareFacts(t *testing.T) {
	version := require.Transcript(t, "hp_comware/display_version/github_6359964915_s6800-54qf_R2609H09.txt")
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
		c, err := comware.OS().Parse(map[string]string{"display version": version, "display device manuinfo": require.Transcript(t, "hp_comware/display_device_manuinfo/"+name)})
		want := switches.Facts{Model: "S6800-54QF", Version: "7.1.070, Release 2609", Serial: serial, CellBytes: 208, CellAssumed: true}
		enough(t, name, want)
		if err != nil || c.Facts != want {
			t.Errorf("%s: %+v, want %+v (%v)", name, c.Facts, want, err)
		}
	}
}

func TestTranscriptsComwareRunning(t *testing.T) {
	c, err := comware.OS().Parse(map[string]string{
		"display current-configuration": require.Transcript(t, "hp_comware/CONFIG_EXAMPLES/h3c_aidc_template_current-configuration_shape.txt"),
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
	lp, _ := switches.FindBlock(c.Text().Global, "qos map-table dot1p-lp")
	if len(lp.Lines) != 8 || lp.Lines[5] != "import 5 export 5" {
		t.Errorf("dot1p-lp: %q", lp.Lines)
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
		got, err := switches.ParseClock(require.Transcript(t, file))
		if err != nil || got.Format(time.DateTime) != want {
			t.Errorf("%s: %s (%v), want %s", file, got, err, want)
		}
	}
}

func TestTranscriptsComwareSave(t *testing.T) {
	saved := regexp.MustCompile(comware.OS().Dialect.Saved)
	if text := require.Transcript(t, "hp_comware/save/h3c_cw7_cmdref_doc_sample.txt"); len(saved.FindAllString(text, -1)) < 4 {
		t.Error("a save that succeeds is not seen")
	}
	if saved.MatchString(require.Transcript(t, "hp_comware/save/h3c_bad_filename.txt")) {
		t.Error("a save that fails counts as one that succeeds")
	}
	if !switches.Question().MatchString("The current configuration will be written to the device. Are you sure? [Y/N]:") {
		t.Error("a question is not seen")
	}
}
