package switches

import (
	"strings"
	"testing"
)

// identifying are lines as devices write them, and what a reader may learn of
// them. Letters in braces name what must not be left.
const identifying = `hostname dc7-leaf-a
vdc dc7-leaf-a id 1
ip domain-name acme.example.org
username jdoe password 5 REDACTED role network-admin
snmp-server contact Jane Doe +49 555 0100
snmp-server location hall 7, rack 12
snmp-server host 10.17.3.9 traps version 2c REDACTED
banner motd ^Property of ACME^
ntp server 10.17.3.9 use-vrf management
logging server syslog01.acme.corp
interface Ethernet1/11
  description to dc7-st1 bay 3
  mtu 9216
  ip address 10.17.4.1/31
  ipv6 address 2a01:db8:7::1/64
interface mgmt0
  ip address 10.17.3.20/24
  Processor Board ID FDO2638ACME
  Device name: dc7-leaf-a
DEVICE_SERIAL_NUMBER : 219801ACME00000M
MAC_ADDRESS          : 5CC9-99AC-0E00
Chassis id: 5cc9.99ac.0e00
Port id: 5c:c9:99:ac:0e:00
Local Port id: Eth1/11
System Name: dc7-st1.acme.corp
System Description: Linux dc7-st1 6.1.0-21-amd64 #1 SMP
Management Address: 10.17.3.20
 sysname dc7-leaf-b
 local-user jdoe class manage
`

func TestAnonymous(t *testing.T) {
	a := newAnonymizer()
	a.learn(identifying)
	got := a.clean(identifying)
	for _, told := range []string{"dc7", "acme", "ACME", "jdoe", "Jane", "555", "hall", "10.17", "2a01", "5cc9", "5CC9", "5c:c9", "99ac", "219801", "bay", "syslog01"} {
		if strings.Contains(got, told) {
			t.Errorf("%q is left in\n%s", told, got)
		}
	}
	for _, stays := range []string{"interface Ethernet1/11\n", "  mtu 9216\n", "/31\n", "/24\n", "use-vrf management", "role network-admin", "Local Port id: Eth1/11\n", "version 2c"} {
		if !strings.Contains(got, stays) {
			t.Errorf("%q is gone from\n%s", stays, got)
		}
	}
	lines := strings.Split(got, "\n")
	value := func(begins string) string {
		for _, l := range lines {
			if rest, ok := strings.CutPrefix(l, begins); ok {
				return rest
			}
		}
		t.Errorf("no line begins with %q in\n%s", begins, got)
		return ""
	}
	if host := value("hostname "); host == "" || host != value("  Device name: ") || host+" id 1" != value("vdc ") {
		t.Errorf("one name became several:\n%s", got)
	}
	mac := func(s string) string {
		return strings.ToLower(strings.NewReplacer(".", "", "-", "", ":", "").Replace(s))
	}
	if m := mac(value("Chassis id: ")); m != mac(value("Port id: ")) || m != mac(value("MAC_ADDRESS          : ")) || len(m) != 12 {
		t.Errorf("one MAC became several:\n%s", got)
	}
	if ip := value("ntp server "); !strings.HasPrefix(value("snmp-server host "), strings.TrimSuffix(ip, " use-vrf management")) {
		t.Errorf("one address became several:\n%s", got)
	}
	if again := newAnonymizer(); again.clean(got) == "" || !strings.Contains(a.said(), "1 MAC address,") || !strings.Contains(a.said(), "serial numbers") {
		t.Errorf("replaced: %s", a.said())
	}
}

// What weft reads does not change, and what is no address stays.
func TestAnonymousKeeps(t *testing.T) {
	for _, line := range []string{
		"  random-detect minimum-threshold 150 kbytes maximum-threshold 1500 kbytes drop-probability 5 weight 0 ecn", "    match dscp 24-31",
		" import 26 27 export 3", "interface HundredGigE1/0/11", "ip route 0.0.0.0/0 Null0",
		"18:57:38.347 UTC Mon Oct 19 2015", "  NXOS: version 10.3(4a) [Feature Release]", "H3C Comware Software, Version 7.1.070, Release 2612P06",
		"ip address 255.255.255.0", "class-map type qos match-any class-default", "username admin role network-admin",
		"System Name: not advertised", " qos wfq af3 group 1 byte-count 50",
	} {
		a := newAnonymizer()
		a.learn(line)
		if got := a.clean(line); got != line {
			t.Errorf("%q becomes %q", line, got)
		}
	}
}

// FuzzAnonymous: a name that is no word of the language is not left anywhere, wherever it is.
func FuzzAnonymous(f *testing.F) {
	f.Add("dc7-leaf-a")
	f.Add("x1")
	f.Add("interfaces")
	f.Add("host-1")
	f.Add("Zürich")
	f.Fuzz(func(t *testing.T, host string) {
		a := newAnonymizer()
		if len(host) < 6 || formWord.FindString(host) != host || a.words.has(host) || tellsNothing(host, nil) || strings.ContainsAny(host, ".") || strings.HasPrefix(host, "name-") || strings.HasPrefix(host, "host-") || strings.Contains(identifying+"hostname version user-1", host) {
			t.Skip()
		}
		text := "hostname " + host + "\nversion x\nSystem Name: " + host + "\n(" + host + ")\nvlan 7\n name \"" + host + "\"\nfoo=" + host + ",x\n"
		a.learn(text)
		if got := a.clean(text); strings.Contains(got, host) {
			t.Errorf("%q is left in %q", host, got)
		}
	})
}
