package switches_test

import (
	"strings"
	"testing"

	"weft/switches"
)

// What is saved and what runs are the same where a restart changes nothing, whatever their
// headers, order, release and salts; where it does, the places are named. SYNTHETIC in the
// layout of running configurations that were recorded.
func TestUnsaved(t *testing.T) {
	const nexus = `
!Command: show startup-config
!Time: Thu Nov 26 05:00:00 2026
!Startup config saved at: Thu Nov 26 04:00:00 2026

version 9.3(8) Bios:version 05.45
hostname leaf-a
username netops password 5 $5$AAAA$kept  role network-admin
snmp-server user netops network-admin auth md5 0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa priv 0xaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa localizedkey

policy-map type qos ours
  class c-rdma
    set qos-group 3
  class c-cnp
    set qos-group 7

interface Ethernet1/1
  mtu 9216

interface Ethernet1/2
`
	const comware = `#
 version 7.1.070, Release 6616P05
#
 sysname leaf-b
#
 lldp global enable
#
interface HundredGigE1/0/1
 qos trust dscp
#
local-user netops class manage
 password hash $h$6$AAAA$kept
 service-type ssh
#
return
`
	for name, c := range map[string]struct{ comment, saved, runs, want string }{
		"the same": {"!", nexus, nexus, ""},
		"headers, release, salts and order": {"!", nexus, swapped(t, nexus, "show startup-config", "show running-config", "05:00:00", "05:00:09", "!Startup config saved at: Thu Nov 26 04:00:00 2026", "!Running configuration last done at: Thu Nov 26 04:00:00 2026",
			"9.3(8) Bios:version 05.45", "10.3(5) Bios:version 05.47", "$5$AAAA$kept", "$5$BBBB$same", "hostname leaf-a\nusername", "username", "interface Ethernet1/2\n", "interface Ethernet1/2\nhostname leaf-a\n", "\n", "\r\n"), ""},
		"a port": {"!", nexus, swapped(t, nexus, "  mtu 9216\n", "  mtu 9216\n  no priority-flow-control mode on\n"),
			"lines that run and are not saved: 1, that are saved and do not run: 0; a restart changes interface Ethernet1/1"},
		"a line in another section": {"!", nexus, swapped(t, nexus, "  mtu 9216\n", "", "interface Ethernet1/2\n", "interface Ethernet1/2\n  mtu 9216\n"),
			"lines that run and are not saved: 1, that are saved and do not run: 1; a restart changes interface Ethernet1/1, interface Ethernet1/2"},
		"a line two below": {"!", nexus, swapped(t, nexus, "    set qos-group 3\n  class c-cnp\n    set qos-group 7\n", "    set qos-group 7\n  class c-cnp\n    set qos-group 3\n"),
			"lines that run and are not saved: 2, that are saved and do not run: 2; a restart changes policy-map type qos ours"},
		"many places, and a secret of a line that is new": {"!", nexus, nexus + "snmp-server community canary ro\nvlan 1\nvlan 2\nvlan 3\n",
			"lines that run and are not saved: 4, that are saved and do not run: 0; a restart changes snmp-server community REDACTED ro, vlan 1, vlan 2 and 1 more"},
		"Comware, the same": {"#", comware, swapped(t, comware, "Release 6616P05", "Release 6710", "$h$6$AAAA$kept", "$h$6$BBBB$same"), ""},
		"Comware, all of the system's own lines": {"#", comware, swapped(t, comware, " lldp global enable\n", "", "interface HundredGigE1/0/1\n qos trust dscp\n", "interface HundredGigE1/0/1\n"),
			"lines that run and are not saved: 0, that are saved and do not run: 2; a restart changes interface HundredGigE1/0/1, lldp global enable"},
	} {
		list, ok := switches.Unsaved(c.comment)(c.saved, c.runs)
		var texts []string
		for _, x := range list {
			texts = append(texts, x.Text)
		}
		if got := strings.Join(texts, "; "); !ok || got != c.want {
			t.Errorf("%s: %v %q, want %q", name, ok, got, c.want)
		}
	}
	for _, nothing := range []string{"", "!Command: show startup-config\n"} {
		if _, ok := switches.Unsaved("!")(nothing, nexus); ok {
			t.Error("nothing saved is understood")
		}
	}
}

// swapped is a text with pairs of texts swapped, each of which it has.
func swapped(t *testing.T, text string, pairs ...string) string {
	t.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("%q is not in the text", pairs[i])
		}
		text = strings.ReplaceAll(text, pairs[i], pairs[i+1])
	}
	return text
}
