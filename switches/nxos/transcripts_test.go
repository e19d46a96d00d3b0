package nxos

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/switches"
)

// What we take for a verdict is what switches say.
func TestTranscriptsCommit(t *testing.T) {
	text := require.Transcript(t, "cisco_nxos/configure_dual-stage/github_57988076742_cml_10.x.txt")
	for _, phrase := range []string{verified, fired, rolledBack, "(config-dual-stage)#", "(config-dual-stage-if)#", dual, "commit confirmed 30"} {
		if !strings.Contains(text, phrase) {
			t.Errorf("the switch never says %q", phrase)
		}
	}
	if n := len(notVerified.FindAllString(text, -1)); n != 2 {
		t.Errorf("%d lines say that verification failed, want 2", n)
	}
	prompt := regexp.MustCompile(`(?im)^[\w.\-]{1,63}(\(maint-mode\))?\(conf(ig)?[\w.\-@/:+]{0,63}\)#\s?$`)
	if !strings.Contains(platform, prompt.String()) || len(prompt.FindAllString(text, -1)) != 3 {
		t.Errorf("bare prompts of two-stage configuration: %q", prompt.FindAllString(text, -1))
	}
}

func TestTranscriptsPFCState(t *testing.T) {
	for name, want := range map[string]map[string]switches.Running{
		"SYNTHETIC_otel_contrib_test.txt": {
			"Ethernet1/2": {On: true, Priorities: []int{0, 3}},
			"Ethernet1/5": {On: true, Priorities: []int{}},
		},
		"leaf1_nexus9332_auto-off_2026.txt": {"Ethernet1/27": {}, "Ethernet1/28": {}},
		"nexus5k_auto-off.txt":              {"Ethernet1/47": {}, "Ethernet1/48": {}, "Ethernet4/15": {}, "Ethernet4/16": {}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := pfcStates(require.Transcript(t, "cisco_nxos/show_interface_priority-flow-control/"+name), nil); !reflect.DeepEqual(got, want) {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}
