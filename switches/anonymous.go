package switches

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/pattern"
)

// An anonymizer puts others in the place of names, addresses and serial numbers:
// the same ones wherever they stand, so that what belongs together still does.
// What it does not know by its form or its place it learns from lines that say
// what stands there.
type anonymizer struct {
	known map[string]string // what stands in the place of a value
	count map[string]int    // of each sort
}

// The sorts of values, as they are counted.
const (
	sortHost   = "host name"
	sortUser   = "user name"
	sortAddr   = "address"
	sortMAC    = "MAC address"
	sortSerial = "serial number"
	sortText   = "free text"
	sortOwner  = "owner name"
	sortVRF    = "VRF name"
	sortACL    = "ACL name"
)

func newAnonymizer() *anonymizer {
	return &anonymizer{known: map[string]string{}, count: map[string]int{}}
}

// stand returns what stands in the place of a value of a sort.
func (a *anonymizer) stand(sort, value string, form func(n int) string) string {
	if s, ok := a.known[value]; ok {
		return s
	}
	a.count[sort]++
	s := form(a.count[sort])
	a.known[value] = s
	return s
}

// said sums up what was replaced.
func (a *anonymizer) said() string {
	var words []string
	for _, sort := range []string{sortHost, sortUser, sortAddr, sortMAC, sortSerial, sortText, sortVRF, sortACL, sortOwner} {
		switch n := a.count[sort]; n {
		case 0:
		case 1:
			words = append(words, "1 "+sort)
		default:
			end := "s"
			if strings.HasSuffix(sort, "s") {
				end = "es"
			}
			words = append(words, fmt.Sprintf("%d %s%s", n, sort, end))
		}
	}
	if len(words) == 0 {
		return "nothing"
	}
	return strings.Join(words, ", ")
}

// Lines that say what stands in them: the value is the last group.
var (
	saysHost = pattern.New(`(?mi)^\s*(?:(?:hostname|switchname|sysname)\s+|vdc (\S+) id |device name *: *|system[ -]name *: *|(?:ip )?(?:domain-name|dns domain) )(\S+)`)
	saysUser = pattern.New(`(?mi)^\s*(?:username|local-user|snmp-server user|snmp-agent usm-user v3)\s+(\S+)`)
	saysSN   = pattern.New(`(?mi)(?:serial[ _-]?num(?:ber)?|board id|chassis sn|host-?id|\bSN)\s*[:=]?\s+([A-Z0-9]{6,})`)
	saysText = pattern.New(`(?mi)^(\s*(?:description|snmp-server (?:contact|location)|snmp-agent sys-info (?:contact|location)|header \w+|banner \w+|` +
		`(?:\d+ +)?remark|rule \d+ comment|(?:email-contact|phone-contact|streetaddress|contract-id|customer-id|site-id|contact-email|transport email (?:from|reply-to))|` +
		`port description *:|system description *:|description *:))([ \t]+)(\S.*)$`)
	saysServer = pattern.New(`(?mi)^\s*(?:ntp (?:server|peer)|ip host|logging (?:server|host)|info-center loghost|snmp-server host|(?:ldap|tacacs|radius)-server host|ip name-server|dns server|` +
		`ntp-service unicast-(?:server|peer)|transport email smtp-server|ip domain-list|ldap server|primary (?:authentication|authorization|accounting)|` +
		`snmp-agent target-host (?:trap|inform) address udp-domain|server)\s+(?:vpn-instance \S+ )?(\S+)`)
	saysVRF = pattern.New(`(?mi)(?:\bvrf (?:context|member)|\buse-vrf|\bip vpn-instance|\bvpn-instance)\s+(\S+)`)
	saysACL = pattern.New(`(?mi)(?:\b(?:ip|ipv6|mac) access-list|\baccess-group(?: name)?|\baccess-class|\bacl (?:(?:basic|advanced|ipv6|mac|user-defined) )*name|\buse-(?:ipv[46])?acl)\s+(\S+)`)
	baseDN  = pattern.New(`(?i)\b((?:base-?dn|root-?dn|login-dn|search-base-dn)\s+)("[^"]*"|\S+)`)
	inLinks = pattern.New(`(?i)\b((?:https?|s?ftp|tftp|scp)://)[^\s"']+`)
)

// Values that are known by their form.
var (
	formAddr = pattern.New(`\b(?:\d{1,3}\.){3}\d{1,3}\b|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}`)
	formMAC  = pattern.New(`\b(?:[0-9A-Fa-f]{4}[.-]){2}[0-9A-Fa-f]{4}\b|\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b`)
	formMail = pattern.New(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)
	formFQDN = pattern.New(`\b[A-Za-z](?:[\w-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9][\w-]*)+\.[A-Za-z]{2,}\b`)
)

// learn goes through a text for values that only their place tells.
func (a *anonymizer) learn(text string) {
	host := func(n int) string { return fmt.Sprintf("host-%d", n) }
	for _, m := range saysHost.FindAllStringSubmatch(text, -1) {
		name := m[2]
		if m[1] != "" {
			name = m[1]
		}
		if short, _, full := strings.Cut(name, "."); full && formFQDN.MatchString(name) && long(short) {
			a.known[name] = a.stand(sortHost, short, host) + ".example.net"
		} else if formMAC.FindString(name) != name && name != "not" && long(name) { // "not advertised"
			a.stand(sortHost, name, host)
		}
	}
	for _, m := range saysServer.FindAllStringSubmatch(text, -1) {
		if _, err := netip.ParseAddr(m[1]); err != nil && long(m[1]) && !formFQDN.MatchString(m[1]) {
			a.stand(sortHost, m[1], host)
		}
	}
	for _, m := range saysVRF.FindAllStringSubmatch(text, -1) {
		if long(m[1]) && m[1] != "management" {
			a.stand(sortVRF, m[1], func(n int) string { return fmt.Sprintf("vrf-%d", n) })
		}
	}
	for _, m := range saysACL.FindAllStringSubmatch(text, -1) {
		if long(m[1]) {
			a.stand(sortACL, m[1], func(n int) string { return fmt.Sprintf("acl-%d", n) })
		}
	}
	for _, m := range saysUser.FindAllStringSubmatch(text, -1) {
		if long(m[1]) && m[1] != "admin" {
			a.stand(sortUser, m[1], func(n int) string { return fmt.Sprintf("user-%d", n) })
		}
	}
	for _, m := range saysSN.FindAllStringSubmatch(text, -1) {
		a.stand(sortSerial, m[1], func(n int) string { return fmt.Sprintf("SERIAL%04d", n) })
	}
}

// long reports whether a name can be told from the words around it.
func long(name string) bool {
	return len(name) > 1 && name != redacted && strings.Trim(name, "0123456789") != "" && !slices.Contains([]string{"interface", "system", "switch", "qos", "class", "policy", "default", "none",
		"in", "out", "any", "ip", "ipv6", "mac", "host", "match-local-traffic", "name", "port", "vlan", "server", "source", "copp", "input", "output", "permit", "deny"}, strings.ToLower(name))
}

// clean replaces what it knows in a text.
func (a *anonymizer) clean(text string) string {
	text = saysText.ReplaceAllStringFunc(text, func(line string) string {
		m := saysText.FindStringSubmatch(line)
		if strings.TrimSpace(m[3]) == "not advertised" {
			return line
		}
		return m[1] + m[2] + a.stand(sortText, "text "+strings.TrimSpace(m[3]), func(n int) string { return fmt.Sprintf("text-%d", n) })
	})
	text = baseDN.ReplaceAllStringFunc(text, func(v string) string {
		m := baseDN.FindStringSubmatch(v)
		return m[1] + a.stand(sortText, "text "+m[2], func(n int) string { return fmt.Sprintf("dc=text-%d", n) })
	})
	text = inLinks.ReplaceAllStringFunc(text, func(v string) string {
		m := inLinks.FindStringSubmatch(v)
		return m[1] + a.stand(sortHost, "url "+v, func(n int) string { return fmt.Sprintf("host-%d.example.net", n) })
	})
	text = formMAC.ReplaceAllStringFunc(text, a.mac)
	text = formAddr.ReplaceAllStringFunc(text, a.address)
	text = formMail.ReplaceAllStringFunc(text, func(v string) string {
		return a.stand(sortUser, v, func(n int) string { return fmt.Sprintf("user-%d@example.net", n) })
	})
	text = formFQDN.ReplaceAllStringFunc(text, func(v string) string {
		end := v[strings.LastIndexByte(v, '.')+1:]
		if slices.Contains([]string{"cfg", "bin", "ipe", "tar", "txt", "mdb"}, strings.ToLower(end)) || strings.HasSuffix(v, ".example.net") {
			return v
		}
		return a.stand(sortHost, v, func(n int) string { return fmt.Sprintf("host-%d.example.net", n) })
	})
	return name.ReplaceAllStringFunc(text, func(v string) string {
		if s, ok := a.known[v]; ok {
			return s
		}
		return v
	})
}

// name is a word as names are written; one that goes on with a slash is part of
// a port.
var name = pattern.New(`[A-Za-z0-9][\w.-]*[A-Za-z0-9]`)

// mac replaces a MAC address by one that is administered locally, in the same
// form; the same one in another form is the same.
func (a *anonymizer) mac(v string) string {
	digits := strings.NewReplacer(".", "", "-", "", ":", "").Replace(strings.ToLower(v))
	if strings.HasPrefix(digits, "020000") || strings.Trim(digits, "0") == "" || strings.Trim(digits, "f") == "" {
		return v
	}
	as := a.stand(sortMAC, "mac "+digits, func(n int) string { return fmt.Sprintf("020000%06x", n) })
	var out strings.Builder
	at := 0
	for _, c := range v {
		if strings.ContainsRune(".-:", c) {
			out.WriteRune(c)
			continue
		}
		out.WriteByte(as[at])
		at++
	}
	return out.String()
}

// address replaces an address by one of those that nobody routes; masks, what
// stands for any address, and versions stay.
func (a *anonymizer) address(v string) string {
	ip, err := netip.ParseAddr(v)
	if err != nil || ip.IsUnspecified() || ip.IsLoopback() || ip.IsMulticast() {
		return v
	}
	if ip.Is6() {
		return a.stand(sortAddr, v, func(n int) string { return fmt.Sprintf("2001:db8::%x", n) })
	}
	b := ip.As4()
	if b[0] >= 240 || b[0] == 0 || b[0] == 198 && b[1]|1 == 19 {
		return v
	}
	return a.stand(sortAddr, v, func(n int) string { return fmt.Sprintf("198.%d.%d.%d", 18+n>>16&1, n>>8&255, n&255) })
}

// wish gives a wish another owner.
func (a *anonymizer) wish(want Intent) Intent {
	owner := want.Owner.Name
	rest, ok := strings.CutPrefix(want.Name, objectPrefix+owner+"-")
	if !ok || owner == "" {
		return want
	}
	as := "owner"[:min(len("owner"), len(owner))] // no longer than it was: names have a limit
	a.count[sortOwner]++
	want.Name, want.Owner = objectPrefix+as+"-"+rest, Owner{Name: as}
	return want
}
