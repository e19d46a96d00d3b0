package switches

import (
	"strings"
	"testing"
)

// redactions are lines as devices write them, with S where a secret stands, and
// what is left of them.
var redactions = []struct{ line, left string }{
	// NX-OS
	{"username admin password 5 $5$S  role network-admin", "username admin password 5 *  role network-admin"},
	{"username ops password 0 S role network-operator", "username ops password 0 * role network-operator"},
	{"username ops password 7 S", "username ops password 7 *"},
	{"username ops sshkey ssh-rsa SAAAAB3NzaC1yc2EAAAADAQABAAABgQ== ops@host", "username ops sshkey * *"},
	{"enable secret 5 S", "enable secret 5 *"},
	{"snmp-server community S group network-operator", "snmp-server community * group network-operator"},
	{"snmp-server community S ro", "snmp-server community * ro"},
	{"snmp-server community S use-acl MGMT", "snmp-server community * use-acl *"},
	{"snmp-server user admin network-admin auth md5 0xS priv 0xS localizedkey", "snmp-server user admin network-admin auth md5 * priv * localizedkey"},
	{"snmp-server user ops network-operator auth sha S priv aes-128 S", "snmp-server user ops network-operator auth sha * priv aes-128 *"},
	{"snmp-server host 192.0.2.10 traps version 2c S", "snmp-server host 192.0.2.10 traps version 2c *"},
	{"snmp-server host 192.0.2.10 traps version 2c S udp-port 1162", "snmp-server host 192.0.2.10 traps version 2c * udp-port *"},
	{"tacacs-server key 7 \"S\"", "tacacs-server key 7 *"},
	{"tacacs-server host 192.0.2.3 key 7 \"S S\" port 49", "tacacs-server host 192.0.2.3 key 7 * port *"},
	{"radius-server host 192.0.2.3 key 7 S auth-port 1812", "radius-server host 192.0.2.3 key 7 * auth-port *"},
	{"    key-string 7 S", "    key-string 7 *"},
	{"    key-octet-string 7 S cryptographic-algorithm AES_128_CMAC", "    key-octet-string 7 * * *"},
	{"  ip ospf message-digest-key 1 md5 3 S", "  ip ospf message-digest-key 1 md5 3 *"},
	{"    password 3 S", "    password 3 *"},
	{"ntp authentication-key 1 md5 S 7", "ntp authentication-key 1 md5 * *"},
	{"ldap-server host 192.0.2.4 rootDN \"cn=x\" password 7 S", "ldap-server host 192.0.2.4 rootDN \"cn=x\" password 7 *"},
	{"vtp password S", "vtp password *"},
	{"  action 1 cli copy scp://ops:S@192.0.2.9/x bootflash:", "  action 1 cli copy scp://ops:*@192.0.2.9/x bootflash:"},
	{"username ops password 8 $8$S role network-operator", "username ops password 8 * role network-operator"},
	{"username ops password 9 $9$S", "username ops password 9 *"},
	{"snmp-server host 192.0.2.10 S", "snmp-server host 192.0.2.10 *"},
	{"snmp-server mib community-map S context x", "snmp-server mib community-map * * *"},
	{"snmp-server host 192.0.2.10 use-vrf management", "snmp-server host 192.0.2.10 use-vrf management"},
	{"tacacs-server host 192.0.2.3 key 6 \"S\"", "tacacs-server host 192.0.2.3 key 6 *"},
	{"    authentication text S", "    authentication text *"},
	{"    authentication S", "    authentication *"},
	{"    authentication md5 key-string S", "    authentication md5 key-string *"},
	{"  cts sap pmk S modelist gcm", "  cts sap pmk * * *"},
	{"crypto isakmp key S address 192.0.2.1", "crypto isakmp key * * *"},
	{"scheduler aaa-authentication username ops password 7 S", "scheduler aaa-authentication username ops password 7 *"},
	{"  ip pim hello-authentication ah-md5 3 S", "  ip pim hello-authentication ah-md5 3 *"},
	{"  ip pim hello-authentication ah-md5 S", "  ip pim hello-authentication ah-md5 *"},
	{"  nobody foresaw ah-md5 S", "  nobody foresaw ah-md5 *"},
	// Comware
	{" authentication plain S", " authentication plain *"},
	{" authentication simple S", " authentication simple *"},
	{" nobody foresaw plain S", " nobody foresaw plain *"},
	{" isis authentication-mode md5 plain S", " isis authentication-mode md5 plain *"},
	{" snmp-agent usm-user v2c S g", " snmp-agent usm-user v2c * *"},
	{" area-authentication-mode md5 cipher S", " area-authentication-mode md5 cipher *"},
	{" domain-authentication-mode simple S", " domain-authentication-mode simple *"},
	{" sa string-key inbound esp simple S", " sa string-key * * simple *"},
	{" sa hex-key encryption outbound esp cipher S", " sa hex-key * * * cipher *"},
	{" preshared-key raw-key simple S", " preshared-key * simple *"},
	{" password-request cipher S", " password-request cipher *"},
	{" shared-key simple S", " shared-key simple *"},
	{" nobody foresaw cipher $c$3$S==", " nobody foresaw cipher *"},
	{" password hash $h$6$S", " password hash *"},
	{" password cipher $c$3$S==", " password cipher *"},
	{" password simple S", " password simple *"},
	{" super password role network-admin hash $h$6$S", " super password role network-admin hash *"},
	{" set authentication password cipher S", " set authentication password cipher *"},
	{" snmp-agent community read S", " snmp-agent community read *"},
	{" snmp-agent community write cipher $c$3$S acl 2000", " snmp-agent community write cipher * acl *"},
	{" snmp-agent target-host trap address udp-domain 192.0.2.10 params securityname S v2c", " snmp-agent target-host trap address udp-domain 192.0.2.10 params securityname * v2c"},
	{" snmp-agent usm-user v3 u g cipher authentication-mode sha S privacy-mode aes128 S", " snmp-agent usm-user v3 u g cipher authentication-mode sha * privacy-mode aes128 *"},
	{" key authentication cipher $c$3$S", " key authentication cipher *"},
	{" primary authentication 192.0.2.3 key simple S", " primary authentication 192.0.2.3 key simple *"},
	{" peer 192.0.2.1 password cipher S", " peer 192.0.2.1 password cipher *"},
	{" ospf authentication-mode md5 1 cipher S", " ospf authentication-mode md5 1 cipher *"},
	{" ntp-service authentication-keyid 1 authentication-mode md5 cipher S", " ntp-service authentication-keyid 1 authentication-mode md5 cipher *"},
	{" pre-shared-key address 192.0.2.1 255.255.255.0 key cipher S", " pre-shared-key * * * key cipher *"},
	{" mka psk ckn S cak cipher S", " mka psk ckn * cak cipher *"},
}

// with puts a secret into a line, in the form that the line has it in.
func with(line, secret string) string {
	if strings.Contains(line, "0xS") {
		secret = "0102030405060708090a0b0c0d0e0f10"
	}
	words := strings.SplitAfter(line, " ")
	for i, w := range words {
		if strings.Contains(w, "SNMP") {
			continue
		}
		words[i] = strings.Replace(w, "S", secret, 1)
	}
	return strings.NewReplacer("AE"+secret, "AES").Replace(strings.Join(words, ""))
}

func TestRedact(t *testing.T) {
	for _, tt := range redactions {
		for _, secret := range []string{"Winter2026", "key", "group", "x9", "p@ss/w,rd"} {
			if strings.Contains(tt.line, "ssh-rsa S") && secret != "Winter2026" || strings.Contains(tt.line, `"S`) && strings.Contains(secret, `"`) {
				continue // not what a key or a quoted word looks like
			}
			got := Redact(with(tt.line, secret) + "\n")
			for strings.Contains(got, redacted+redacted) { // a word with quotes in it is several
				got = strings.ReplaceAll(got, redacted+redacted, redacted)
			}
			if got = strings.ReplaceAll(strings.TrimSuffix(got, "\n"), redacted, "*"); got != tt.left {
				t.Errorf("%s\nbecomes %s\nwant    %s", with(tt.line, secret), got, tt.left)
			}
		}
	}
}

// A secret may be of two words.
func TestRedactTwoWords(t *testing.T) {
	for _, line := range []string{" password simple winter 2026x", " authentication plain winter 2026x", " key simple 'winter 2026x'", " nobody foresaw simple winter 2026x"} {
		if got := Redact(line); strings.Contains(got, "winter") || strings.Contains(got, "2026x") {
			t.Error(got)
		}
	}
}

// What was a secret in one line is one in every other, and what the caller
// knows is one anywhere.
func TestRedactEverywhere(t *testing.T) {
	got := Redact("snmp-agent community read simple Winter\nsnmp-agent trap source x params Winter v2c\ndescription login is Summer-2026!\n", "Summer-2026!")
	if strings.Contains(got, "Winter") || strings.Contains(got, "Summer") {
		t.Error(got)
	}
}

// Keys in blocks go, what is around them stays.
func TestRedactBlocks(t *testing.T) {
	text := "public-key peer ops\n public-key-code begin\n  3082010A0282\n  AABBCCDD\n public-key-code end\npeer-public-key end\n" +
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nvlan 1\n"
	got := Redact(text)
	if strings.Contains(got, "3082") || strings.Contains(got, "AABB") || strings.Contains(got, "MIIE") || !strings.HasSuffix(got, "\nvlan 1\n") {
		t.Error(got)
	}
}

// A banner may say anything, so nothing of it stays, and nothing else goes with
// it.
func TestRedactBanners(t *testing.T) {
	for text, want := range map[string]string{
		"banner motd ^\nguests log in as\n\nguest, S1lence\n^\nvlan 1\n": "banner motd ^\nREDACTED\nREDACTED\nREDACTED\n^\nvlan 1\n",
		"banner exec #ask S1lence#\nvlan 1\n":                            "banner exec #REDACTED#\nvlan 1\n",
		" header login %\nask S1lence%\n#\n vlan 1\n":                    " header login %\n%\n#\n vlan 1\n",
		" header motd %ask\nS1lence\n%\n":                                " header motd %\nREDACTED\n%\n",
		"banner motd ^\nvlan 1\n":                                        "banner motd ^\nvlan 1\n", // nothing ends it
	} {
		if got := Redact(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Nothing that the drivers read changes.
func TestRedactKeeps(t *testing.T) {
	for _, line := range []string{
		"no password strength-check", "key chain BGP", "line vty 0 63", " authentication-mode scheme", "password-recovery enable",
		"  priority-flow-control mode on", "    random-detect minimum-threshold 150 kbytes maximum-threshold 1500 kbytes drop-probability 5 weight 0 ecn",
		"  service-policy type qos input WEFT-pilot-roce-in", " qos wred apply WEFT-pilot-roce", " import 26 27 export 3", "ip route 0.0.0.0/0 192.0.2.1",
		"  Processor Board ID FDO26380WD1", "LLDP neighbor-information of port 1[HundredGigE1/0/1]:", "Chassis id: 0002.c9aa.bb00",
	} {
		if got := Redact(line + "\n"); got != line+"\n" {
			t.Errorf("%q becomes %q", line, got)
		}
	}
}

// FuzzRedact puts any secret into any of the forms and looks for it in what is
// left, then anything at all.
func FuzzRedact(f *testing.F) {
	for i := range redactions {
		f.Add(uint8(i), "Winter-2026")
	}
	f.Fuzz(func(t *testing.T, form uint8, secret string) {
		Redact(secret)
		line := redactions[int(form)%len(redactions)].line
		if len(strings.Fields(secret)) != 1 || strings.TrimSpace(secret) != secret || strings.ContainsAny(secret, "\"'$@:S") || strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' }) ||
			qualifier(strings.ToLower(secret)) || harmless(strings.ToLower(secret)) || noSecret("key", strings.ToLower(secret)) || noSecret("password", strings.ToLower(secret)) || strings.Contains(line, "0xS") || strings.Contains(line, "ssh-rsa") ||
			strings.Contains(redacted, secret) || strings.Contains(line, secret) {
			t.Skip()
		}
		if got := Redact(with(line, secret) + "\n"); strings.Contains(got, secret) {
			t.Errorf("%q is still in %q", secret, got)
		}
	})
}
