package simswitch

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"weft/internal/require"
)

// transcript reads a text that a device printed, or a configuration someone
// published. They are no part of the repository.
func transcript(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join("..", "..", "..", "..", "shared", "transcripts", filepath.FromSlash(name))
	b, err := os.ReadFile(file)
	if err != nil {
		require.Missing(t, require.Transcripts, "transcript %s is not here: %v", name, err)
	}
	return string(b)
}

// Published configurations are accepted, but for the lines that are known to
// be refused.
func TestPublishedConfigurations(t *testing.T) {
	tests := []struct {
		os, file string
		before   []string
		refused  []string // beginnings of lines
	}{
		{os: "nxos", file: "cisco_nxos/CONFIG_EXAMPLES/pareshgupta_roce_enable_v0.60.txt"},
		{os: "nxos", file: "cisco_nxos/CONFIG_EXAMPLES/azurelocal_tor_qos.txt"},
		{os: "nxos", file: "cisco_nxos/CONFIG_EXAMPLES/zartbot_n93180fx2_dscp26_cos5.txt", refused: []string{"hardware "}},
		{os: "nxos", file: "cisco_nxos/CONFIG_EXAMPLES/github_62929086650_netapp-style_rcf_n9364d.txt", refused: []string{"hardware ", "copp "}},
		{os: "comware", file: "hp_comware/CONFIG_EXAMPLES/fcoe_dcbx_iface.txt"},
		{os: "comware", file: "hp_comware/CONFIG_EXAMPLES/github_12565337609_pfc_dcbx_interface_lines.txt"},
		{os: "comware", file: "hp_comware/CONFIG_EXAMPLES/h3c_aidc_template_current-configuration_shape.txt",
			before: []string{"qos wred queue table 400G-WRED-Template", "quit"}, refused: []string{"password-recovery "}},
		{os: "comware", file: "hp_comware/CONFIG_EXAMPLES/h3c_400g_ops_interface.txt", refused: []string{"qos wred queue 5 "}},
	}
	for _, tt := range tests {
		t.Run(filepath.Base(tt.file), func(t *testing.T) {
			s := newSession(wide(tt.os), "test", nil)
			s.enterTop()
			for _, l := range tt.before {
				s.do(l)
			}
			for line := range strings.Lines(transcript(t, tt.file)) {
				line = strings.TrimSpace(line)
				if line == "#" {
					s.enterTop() // in a file it ends the section
				}
				reply := s.do(line)
				known := slices.ContainsFunc(tt.refused, func(p string) bool { return strings.HasPrefix(line, p) })
				if s.ok == known {
					t.Errorf("%q: accepted %v: %s", line, s.ok, reply)
				}
			}
		})
	}
}

// wide is a switch with every port the published configurations name.
func wide(os string) *Switch {
	spec := Spec{OS: os, Hostname: "cml", Serial: "S"}
	for i := 1; i <= 64; i++ {
		spec.Ports = append(spec.Ports, fmt.Sprintf("Ethernet1/%d", i))
	}
	if os == "comware" {
		spec.Ports = []string{"Ten-GigabitEthernet1/0/1", "Ten-GigabitEthernet1/1/1"}
		for i := 1; i <= 128; i++ {
			spec.Ports = append(spec.Ports, fmt.Sprintf("FourHundredGigE1/0/%d", i))
		}
	}
	return New(spec)
}

// The script that removes what the other script configured leaves nothing of
// it but the MTU, which it does not touch.
func TestPublishedRemoval(t *testing.T) {
	sw := wide("nxos")
	s := newSession(sw, "test", nil)
	s.enterTop()
	before := sw.RunningConfig()
	for _, part := range []string{"enable", "disable"} {
		for line := range strings.Lines(transcript(t, "cisco_nxos/CONFIG_EXAMPLES/pareshgupta_roce_"+part+"_v0.60.txt")) {
			if reply := s.do(line); !s.ok {
				t.Errorf("%q is refused: %s", line, reply)
			}
		}
	}
	after := strings.ReplaceAll(sw.RunningConfig(), "  mtu 9216\n", "")
	if after != before {
		t.Errorf("left behind:\n%s", after)
	}
}

// What an operator typed into a two-stage session is answered in the same words.
func TestTwoStageTranscript(t *testing.T) {
	text := transcript(t, "cisco_nxos/configure_dual-stage/github_57988076742_cml_10.x.txt")
	sw := wide("nxos")
	s := newSession(sw, "kanai", nil)
	for _, line := range []string{
		"configure dual-stage", "int lo 123", "desc hoge", "exit", "show configuration", "commit", "show configuration", "end",
		"configure dual-stage", "no int lo 123", "commit confirmed 30", "commit", "show configuration",
		"int lo 125", "desc hoge", "exit", "abort",
	} {
		prompt := sw.system.prompt(s)
		if !strings.Contains(text, strings.TrimSpace(prompt)) {
			t.Errorf("no prompt %q there", prompt)
		}
		reply := s.do(line)
		if !s.ok {
			t.Errorf("%q is refused: %s", line, reply)
		}
		for said := range strings.Lines(reply) {
			said, _, _ = strings.Cut(said, "by user")
			said = strings.TrimSuffix(strings.TrimSpace(said), "1000000001")
			if !strings.Contains(text, said) {
				t.Errorf("%s: %q is nowhere there", line, said)
			}
		}
	}
	hasNot(t, sw.RunningConfig(), "loopback")
	sw.Close()
}

// A real configuration is kept as it is, foreign lines and all.
func TestPublishedRunningConfig(t *testing.T) {
	text := transcript(t, "cisco_nxos/show_running-config/microsoft_SDN_nexus3132_6.0.2U6_qos_and_ports_excerpt.txt")
	sw := wide("nxos")
	printed := strings.Join(sw.system.print(sw.load(text)), "\n") + "\n"
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '!' || line == "system qos" {
			continue
		}
		has(t, printed, line)
	}
}

// recorded is where the collection of recordings has what a source printed.
var recorded = map[string]string{
	"Cisco roce_enable v0.60":                                    "cisco_nxos/CONFIG_EXAMPLES/pareshgupta_roce_enable_v0.60.txt",
	"Azure/AzureLocal-Supportability":                            "cisco_nxos/CONFIG_EXAMPLES/azurelocal_tor_qos.txt",
	"Azure Local network overview":                               "cisco_nxos/show_running-config_interface/azurelocal_tor1_eth1-21_pfc.txt",
	"zartbot, Nexus 93180FX2":                                    "cisco_nxos/CONFIG_EXAMPLES/zartbot_n93180fx2_dscp26_cos5.txt",
	"reference configuration of a Nexus 9364D in NetApp's style": "cisco_nxos/CONFIG_EXAMPLES/github_62929086650_netapp-style_rcf_n9364d.txt",
	"microsoft/SDN":                                              "cisco_nxos/show_running-config/microsoft_SDN_nexus3132_6.0.2U6_qos_and_ports_excerpt.txt",
	"configure replace lab, NX-OS 9.3(1)":                        "cisco_nxos/show_running-config_interface/github_53215664192_9.3.1.txt",
	"lab notes of a virtual Nexus 10.x":                          "cisco_nxos/configure_dual-stage/github_57988076742_cml_10.x.txt",
	"lab notes of a Nexus 9000v 10.2(2)":                         "cisco_nxos/where/github_43493284401_n9kv_10.2.2.txt",
	"configuration generator's README, Nexus 9500v 10.1(1)":      "cisco_nxos/copy_file_running-config/github_12933489985_n9kv_10.1.1_qos_refusal.txt",
	"blog about a Nexus 5000":                                    "cisco_nxos/show_interface_priority-flow-control/nexus5k_auto-off.txt",
	"batfish":                                                    "cisco_nxos/show_running-config/batfish__nxos_class_map.txt",
	"genieparser":                                                "cisco_nxos/show_version/genieparser__golden_output_2.txt",
	"H3C AIDC template, S9825 and S9827":                         "hp_comware/CONFIG_EXAMPLES/h3c_aidc_template_current-configuration_shape.txt",
	"published configuration of 400G ports":                      "hp_comware/CONFIG_EXAMPLES/h3c_400g_ops_interface.txt",
	"QLogic lab script, PFC and DCBX of ports":                   "hp_comware/CONFIG_EXAMPLES/github_12565337609_pfc_dcbx_interface_lines.txt",
	"published notes of an S6800-54QF":                           "hp_comware/display_version/github_6359964915_s6800-54qf_R2609H09.txt",
	"H3C Comware 7 command reference":                            "hp_comware/display_qos_map-table/h3c_cw7_cmdref_doc_sample.txt",
}

// Every line cites a source that the system's page of evidence lists by that
// name, or is SYNTHETIC.
func TestSourcesAreListed(t *testing.T) {
	listed := regexp.MustCompile(`(?m)^- \*\*(.+?)\*\*: `)
	known := map[string]bool{}
	for _, os := range []string{"nxos", "comware"} {
		page, err := readPage(os)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range listed.FindAllStringSubmatch(page, -1) {
			names = append(names, m[1])
			known[m[1]] = true
		}
		cited := map[string]bool{}
		for _, r := range Grammar(os) {
			cites := strings.Contains(r.Source, "SYNTHETIC")
			for _, name := range names {
				if strings.Contains(r.Source, name) {
					cites, cited[name] = true, true
				}
			}
			if !cites {
				t.Errorf("%s %s: %q is not among the sources of evidence.md", os, r.Line, r.Source)
			}
		}
		for _, name := range names {
			if !cited[name] {
				t.Errorf("%s: no line cites %s, which evidence.md lists as cited", os, name)
			}
		}
	}
	for name := range recorded {
		if !known[name] {
			t.Errorf("%s is recorded, but no source", name)
		}
	}
}

func readPage(system string) (string, error) {
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "switches", system, "evidence.md"))
	return string(b), err
}

// What was recorded of a source is there.
func TestSourcesExist(t *testing.T) {
	for _, file := range recorded {
		if transcript(t, file) == "" {
			t.Errorf("%s is empty", file)
		}
	}
}
