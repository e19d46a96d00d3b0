package switches

import (
	"strings"
	"testing"
)

// What tells whose switch it is goes wherever it stands, the same into the same; words of the
// language and names of the switch's own stay.
func TestAnonymousPlaces(t *testing.T) {
	const text = `ntp server acmeclock use-vrf acme-mgmt
ip host acmehost 192.0.2.7
logging server acmelog 5 use-vrf management
 info-center loghost acmeloghost
snmp-server host acmetrap version 2c REDACTED
ldap-server host acmeldap rootDN "cn=acme,dc=corp" password 7 REDACTED
  transport email smtp-server acmesmtp
ip domain-list acme.internal
username REDACTED password 5 REDACTED
callhome
  email-contact noc-acme
  phone-contact +1-555-acme
  streetaddress 1 Acme Road
  transport http proxy http://proxyacme:8080/acme
ip access-list ACME-IN
  10 remark acme people only
  20 permit ip any any
acl advanced name acme-acl
 rule 5 comment acme guests
vrf context acme-mgmt
interface Ethernet1/1
  vrf member acme-mgmt
  ip access-group ACME-IN in
  service-policy type qos input IN
  mtu 9216
`
	a := newAnonymizer()
	a.learn(text)
	got := a.clean(text)
	if strings.Contains(strings.ToLower(got), "acme") {
		t.Errorf("it tells whose switch it is:\n%s", got)
	}
	for _, kept := range []string{"username REDACTED password 5 REDACTED\n", "use-vrf management\n", "  20 permit ip any any\n", "interface Ethernet1/1\n  vrf member vrf-1\n  ip access-group acl-1 in\n  service-policy type qos input name-1\n  mtu 9216\n",
		"ip access-list acl-1\n", "vrf context vrf-1\n", "ntp server host-1 use-vrf vrf-1\n"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is gone:\n%s", kept, got)
		}
	}
}
