package switches_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/require"
)

// unread are the transcripts that have no values here, by the beginnings of
// their names: why not.
var unread = map[string]string{
	"cisco_nxos/CONFIG_EXAMPLES/github_33216769739_n7706_scheduler_session": scheduler,
	"cisco_nxos/CONFIG_EXAMPLES/github_43865195979_scheduler":               scheduler,
	"cisco_nxos/CONFIG_EXAMPLES/pareshgupta_roce_disable":                   typed,
	"hp_comware/CONFIG_EXAMPLES/fcoe_dcbx_iface":                            typed,
	"hp_comware/CONFIG_EXAMPLES/github_12565337609":                         typed,

	"cisco_nxos/checkpoint/":                                    checkpoints,
	"cisco_nxos/rollback_running-config_checkpoint/":            checkpoints,
	"cisco_nxos/show_checkpoint_summary/":                       checkpoints,
	"cisco_nxos/configure_replace/":                             "weft replaces no whole configurations",
	"cisco_nxos/copy_file_running-config/github_53215664192":    "weft copies no file to the running configuration; the refusals in another one are read",
	"cisco_nxos/copy_running-config_startup-config/":            "the session has an alias in it, and no whole answer to compare with",
	"cisco_nxos/show_configuration_session_summary/":            "sessions are those of another OS family",
	"cisco_nxos/show_running-config_ipqos/":                     "of a Nexus 5000, whose model of queues is not spoken to",
	"cisco_nxos/show_scheduler_":                                scheduler,
	"cisco_nxos/show_feature/":                                  asked,
	"cisco_nxos/show_hostname/":                                 asked,
	"cisco_nxos/show_interface_capabilities/":                   asked,
	"cisco_nxos/show_interface_counters_brief/":                 asked,
	"cisco_nxos/show_interface_priority-flow-control_detail/":   asked,
	"cisco_nxos/show_interface_status/":                         asked,
	"cisco_nxos/show_interface_transceiver/":                    asked,
	"cisco_nxos/show_lldp_neighbors/":                           short,
	"cisco_nxos/show_policy-map_interface/":                     asked,
	"cisco_nxos/show_queuing_summary/":                          asked,
	"cisco_nxos/where/":                                         asked,
	"hp_comware/archive_configuration/":                         asked,
	"hp_comware/configuration_replace_file/":                    "weft replaces no whole configurations",
	"hp_comware/display_archive_configuration/":                 asked,
	"hp_comware/display_buffer":                                 asked,
	"hp_comware/display_counters_bound_interface/":              asked,
	"hp_comware/display_current-configuration_include/":         "lines about hardware resources only, none that weft reads",
	"hp_comware/display_interface_brief/":                       asked,
	"hp_comware/display_link-aggregation_":                      asked,
	"hp_comware/display_lldp_local-information/":                asked,
	"hp_comware/display_lldp_neighbor-information_list/":        short,
	"hp_comware/display_packet-drop_":                           asked,
	"hp_comware/display_priority-flow-control_interface/HEADER": "a header without rows",
	"hp_comware/display_qos_queue_wfq_interface/":               asked,
	"hp_comware/display_qos_trust_interface/":                   asked,
	"hp_comware/display_qos_wred_":                              asked,
	"hp_comware/display_scheduler_":                             scheduler,
	"hp_comware/display_startup/":                               asked,
	"hp_comware/display_this/":                                  asked,
	"hp_comware/display_vlan_brief/":                            asked,
	"hp_comware/save/3com_4800g_comware5":                       "of Comware 5, whose questions weft never sees: it saves without any",
	"hp_comware/system-view/":                                   "the same two lines stand in every session of the simulator's tests",
}

// few are the transcripts of which fewer than three values are read, by the
// beginnings of their names: why not more.
var few = map[string]string{
	"hp_comware/display_device_manuinfo/":                                                      "weft reads the serial number and nothing else of it; the rest of what is compared there comes from display version",
	"hp_comware/display_interface/genieparser__golden_output2":                                 frameless,
	"hp_comware/display_interface/ntc-templates__hp_comware_display_interface1.":               frameless,
	"hp_comware/display_interface/ntc-templates__hp_comware_display_interface3.":               frameless,
	"hp_comware/display_interface/ntc-templates__hp_comware_display_interface4.":               frameless,
	"hp_comware/display_interface/ntc-templates__hp_comware_display_interface5.":               frameless,
	"hp_comware/display_interface/ntc-templates__hp_comware_display_interface8.":               frameless,
	"hp_comware/display_interface/ntc-templates__hp_comware_display_interface_dhcp":            frameless,
	"hp_comware/display_interface/ntc-templates__hp_comware_display_interface_mgmt":            frameless,
	"hp_comware/display_interface/ntc-templates__hp_comware_display_interface_release_0615P16": frameless,
	"hp_comware/display_priority-flow-control_interface/SYNTHETIC_fault_injector_200GE":        "its columns have moved: that nothing is read of it is what is asked for",
	"hp_comware/display_priority-flow-control_interface/h3c_s6550x_s9825_doc_sample_WRAPPED":   "its rows are wrapped: that nothing is read of it is what is asked for",
	"hp_comware/display_qos_map-table/SYNTHETIC_fault_injector_dscp-dot1p":                     "it has one row of two numbers",
	"hp_comware/save/h3c_bad_filename":                                                         "a save that fails: that it is no success is what is asked for",
	"hp_comware/save/h3c_cw7_cmdref_doc_sample":                                                "saves that succeed: that, and how often, is what is asked for",
}

const (
	frameless = "logical interfaces, management ports and those of firewalls do not say how long a frame may be: that none is read is what is asked for"

	asked       = "weft does not ask this: no parser reads it"
	short       = "the short list cuts and wraps names: weft asks for the long one"
	scheduler   = "weft arms no scheduler job"
	checkpoints = "weft makes no checkpoints: the two-stage commit rolls back by itself"
	typed       = "lines as typed, not as printed: the simulator's tests type them"
)

// Every transcript of a switch has values that were written by hand, in the
// test that names it, or stands above with the reason why not.
func TestTranscriptsIndex(t *testing.T) {
	require.Transcript(t, "SOURCES.md")
	var tests strings.Builder
	here, err := filepath.Glob("*_test.go")
	below, late := filepath.Glob("*/*_test.go")
	if err := errors.Join(err, late); err != nil {
		t.Fatal(err)
	}
	for _, f := range append(here, below...) {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if f != "transcripts_index_test.go" {
			tests.Write(text)
		}
	}
	root := filepath.Join("..", "..", "shared", "transcripts")
	used := map[string]bool{}
	for _, vendor := range []string{"cisco_nxos", "hp_comware"} {
		err := filepath.WalkDir(filepath.Join(root, vendor), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			name, err := filepath.Rel(root, path)
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			folder := name[len(vendor)+1 : strings.LastIndexByte(name, '/')+1]
			read := strings.Contains(tests.String(), `"`+filepath.Base(path)+`"`) && strings.Contains(tests.String(), folder) || strings.Contains(tests.String(), folder+filepath.Base(path)+`"`)
			why := ""
			for begins := range unread {
				if strings.HasPrefix(name, begins) {
					why, used[begins] = unread[begins], true
				}
			}
			for begins := range few {
				if strings.HasPrefix(name, begins) {
					used[begins] = true
					if !read {
						t.Errorf("%s: no values in a test, not even few", name)
					}
				}
			}
			if read == (why != "") {
				t.Errorf("%s: values in a test: %v; reason why not: %q", name, read, why)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, list := range []map[string]string{unread, few} {
		for begins := range list {
			if !used[begins] {
				t.Errorf("no transcript is called %s…", begins)
			}
		}
	}
}
