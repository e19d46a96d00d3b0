package switches

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"weft/internal/pattern"
)

// An anonymizer replaces in a record everything that may tell whose switch it is.
// It keeps a word only if it belongs to the language of switches ([keywords]) or is a
// value of a harmless form, such as a number or the name of a port. The same value is
// replaced by the same stand-in wherever it occurs, so that what refers to each other still does.
type anonymizer struct {
	words keywords
	own   []pattern.Pattern // harmless forms of the switch system
	forms map[string]bool   // whether a value has a harmless form: most occur often
	known map[string]string // the stand-in of a value
	addrs map[netip.Addr]int
	count map[string]int // how many values of each sort were replaced
}

// The sorts of values, as they are counted.
const (
	sortHost   = "host name"
	sortUser   = "user name"
	sortAddr   = "address"
	sortMAC    = "MAC address"
	sortSerial = "serial number"
	sortText   = "free text"
	sortVRF    = "VRF name"
	sortACL    = "ACL name"
	sortAS     = "AS number"
	sortName   = "other name"
)

func newAnonymizer(own ...pattern.Pattern) *anonymizer {
	return &anonymizer{own: own, words: readKeywords(), forms: map[string]bool{}, known: map[string]string{}, addrs: map[netip.Addr]int{}, count: map[string]int{}}
}

// replace returns the stand-in of a value of a sort, between marks that keep later
// steps from replacing it again (see [anonymizer.clean]).
func (a *anonymizer) replace(sort, value, format string) string {
	return doneOpen + a.stand(sort, value, format) + doneClose
}

func (a *anonymizer) stand(sort, value, format string) string {
	s, ok := a.known[value]
	if !ok {
		a.count[sort]++
		s = fmt.Sprintf(format, a.count[sort])
		a.known[value] = s
	}
	return s
}

// Around a stand-in while a text is cleaned. Neither is printed by a switch: clean
// drops control characters first.
const doneOpen, doneClose = "\x01", "\x02"

// said sums up what was replaced.
func (a *anonymizer) said() string {
	var words []string
	for _, sort := range []string{sortHost, sortUser, sortAddr, sortMAC, sortSerial, sortText, sortVRF, sortACL, sortAS, sortName} {
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

// A place is where a line says what a value is: the first group stays, the second is the value.
type place struct {
	sort, format string
	line         pattern.Pattern
}

// texts are places of words that people wrote: all of them go.
var texts = []place{
	{sortText, "text-%d", pattern.New(`(?mi)^(\s*(?:description|snmp-server (?:contact|location)|snmp-agent sys-info (?:contact|location)|header \w+|banner \w+|` +
		`(?:\d+ +)?remark|rule \d+ comment|(?:email-contact|phone-contact|streetaddress|contract-id|customer-id|site-id|contact-email|transport email (?:from|reply-to))|` +
		`(?:port|system)? ?description *:)[ \t]+)(\S.*)$`)},
	{sortText, "dc=text-%d", pattern.New(`(?i)(\b(?:base-?dn|root-?dn|login-dn|search-base-dn)\s+)("[^"]*"|\S+)`)},
	{sortHost, "host-%d.example.net", pattern.New(`(?i)(\b(?:https?|s?ftp|tftp|scp)://)([^\s"']+)`)},
	{sortAS, "%d", pattern.New(`(?mi)((?:\b(?:router bgp|remote-as|local-as|as-number|confederation (?:identifier|peers))|^\s*bgp)\s+)(\d[\d.]*)`)},
	{sortSerial, "SERIAL%04d", pattern.New(`(?mi)((?:serial[ _-]?num(?:ber)?|board id|chassis sn|host-?id|\bSN)\s*[:=]?\s+)([A-Z0-9]{6,})`)},
}

// names are places of names; a name that is a word of the language tells nothing and stays,
// for it may stand for itself elsewhere.
var names = []place{
	{sortHost, "host-%d", pattern.New(`(?mi)^(\s*(?:(?:hostname|switchname|sysname|vdc)\s+|device name *: *|system[ -]name *: *|(?:ip )?(?:domain-name|dns domain)\s+))([^\s:]+)`)},
	{sortHost, "host-%d", pattern.New(`(?mi)^(\s*(?:ntp (?:server|peer)|ip host|logging (?:server|host)|info-center loghost|snmp-server host|(?:ldap|tacacs|radius)-server host|ip name-server|dns server|` +
		`ntp-service unicast-(?:server|peer)|transport email smtp-server|ip domain-list|ldap server|primary (?:authentication|authorization|accounting)|` +
		`snmp-agent target-host (?:trap|inform) address udp-domain|server)\s+(?:vpn-instance \S+ )?)(\S+)`)},
	{sortUser, "user-%d", pattern.New(`(?mi)^(\s*(?:username|local-user|snmp-server user|snmp-agent usm-user v3)\s+)(\S+)`)},
	{sortVRF, "vrf-%d", pattern.New(`(?mi)((?:\bvrf (?:context|member)|\buse-vrf|\bip vpn-instance|\bvpn-instance)\s+)(\S+)`)},
	{sortACL, "acl-%d", pattern.New(`(?mi)((?:\b(?:ip|ipv6|mac) access-list|\baccess-group(?: name)?|\baccess-class|\bacl (?:(?:basic|advanced|ipv6|mac|user-defined) )*name|\bpacket-filter name|\buse-(?:ipv[46])?acl)\s+)([^\s:]+)`)},
}

// Forms that tell a value, and the pieces that a text is judged by.
var (
	formAddr  = pattern.New(`\b(?:\d{1,3}\.){3}\d{1,3}\b|[0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,7}`)
	formMAC   = pattern.New(`\b(?:[0-9A-Fa-f]{4}[.-]){2}[0-9A-Fa-f]{4}\b|\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b`)
	formMail  = pattern.New(`[\w.+-]+@[\w-]+(?:\.[\w-]+)+`)
	formFQDN  = pattern.New(`^[A-Za-z0-9](?:[\w-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9][\w-]*)*\.[A-Za-z]{2,}$`)
	formFile  = pattern.New(`^.+\.(?:bin|ipe|tar|cfg|mdb|txt|rpm|log|sh|py)$`)
	formToken = pattern.New(`\x01[^\x02]*\x02|[^\s\x01]+`) // doneOpen, doneClose
	formWord  = pattern.New(`[\p{L}\p{N}_](?:[\p{L}\p{N}\p{M}_.-]*[\p{L}\p{N}\p{M}_])?`)
)

// learn goes through a text for names that only their place tells.
func (a *anonymizer) learn(text string) {
	for _, p := range names {
		for _, m := range p.line.FindAllStringSubmatch(text, -1) {
			name, _, _ := strings.Cut(m[2], ".")
			name = strings.Trim(name, `"'`)
			if _, err := netip.ParseAddr(m[2]); err != nil && len(name) > 1 && !a.words.has(name) && strings.Trim(name, "0123456789") != "" && formMAC.FindString(m[2]) != m[2] {
				a.stand(p.sort, name, p.format)
			}
		}
	}
}

// clean replaces in a text what is neither a word of the language nor of a harmless form.
func (a *anonymizer) clean(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, text)
	for _, p := range texts {
		text = p.line.ReplaceAllStringFunc(text, func(line string) string {
			m := p.line.FindStringSubmatch(line)
			if value := strings.TrimSpace(m[2]); value != "not advertised" && value != redacted {
				return m[1] + a.replace(p.sort, p.sort+" "+value, p.format)
			}
			return line
		})
	}
	text = formMAC.ReplaceAllStringFunc(text, a.mac)
	text = formAddr.ReplaceAllStringFunc(text, a.address)
	text = formMail.ReplaceAllStringFunc(text, func(v string) string { return a.replace(sortUser, v, "user-%d@example.net") })
	text = formToken.ReplaceAllStringFunc(text, a.token)
	return strings.NewReplacer(doneOpen, "", doneClose, "").Replace(text)
}

func (a *anonymizer) tellsNothing(value string) bool {
	harmless, known := a.forms[value]
	if !known {
		harmless = tellsNothing(value, a.own)
		a.forms[value] = harmless
	}
	return harmless
}

// token judges what stands between spaces, first as a whole, for a port's name and a
// version have signs in them, and then word by word.
func (a *anonymizer) token(v string) string {
	if strings.HasPrefix(v, doneOpen) {
		return v
	}
	for _, around := range []string{"", `"'` + "`" + `<>,;:.!?*^%#$&|=`, `"'` + "`" + `<>,;:.!?*^%#$&|=()[]{}`} {
		whole := strings.Trim(v, around)
		if _, known := a.known[whole]; !known && (a.words.has(whole) || a.tellsNothing(whole)) {
			return v
		}
	}
	return formWord.ReplaceAllStringFunc(v, a.word)
}

// word returns what stands for a word, which may be the word.
func (a *anonymizer) word(v string) string {
	s, known := a.known[v]
	short, _, _ := strings.Cut(v, ".")
	switch {
	case a.words.has(v):
		return v
	case known:
		return s
	case a.tellsNothing(v):
		return v
	case strings.HasPrefix(v, objectPrefix):
		return a.object(v)
	case formFile.MatchString(v):
		return a.stand(sortName, v, "name-%d") + v[strings.LastIndexByte(v, '.'):]
	case formFQDN.MatchString(v) && a.words.has(short):
		return a.stand(sortHost, v, "host-%d.example.net")
	case formFQDN.MatchString(v):
		return a.stand(sortHost, short, "host-%d") + ".example.net"
	case strings.Trim(v, "0123456789") == "":
		return a.stand(sortName, v, "9%08d")
	}
	return a.stand(sortName, v, "name-%d")
}

// object returns the name of an object of weft's with other parts: it is made of the names of
// owner, fabric and class, whose order and length matter.
func (a *anonymizer) object(v string) string {
	parts := strings.Split(v, "-")
	for i, p := range parts {
		if p != "" && !a.words.has(p) && strings.Trim(p, "0123456789") != "" && p != strings.TrimSuffix(objectPrefix, "-") {
			parts[i] = a.stand(sortName, "part "+p, "x%d"+strings.Repeat("x", max(0, len(p)-2)))
		}
	}
	return strings.Join(parts, "-")
}

// mac replaces a MAC address by one that is administered locally, in the same
// form; the same one in another form is the same.
func (a *anonymizer) mac(v string) string {
	digits := strings.NewReplacer(".", "", "-", "", ":", "").Replace(strings.ToLower(v))
	if strings.Trim(digits, "0") == "" || strings.Trim(digits, "f") == "" {
		return doneOpen + v + doneClose
	}
	as := a.stand(sortMAC, "mac "+digits, "020000%06x")
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
	return doneOpen + out.String() + doneClose
}

// address replaces an address by one of those that nobody routes; masks, what
// stands for any address, and versions stay.
func (a *anonymizer) address(v string) string {
	ip, err := netip.ParseAddr(v)
	switch {
	case err != nil:
		return v
	case ip.IsUnspecified() || ip.IsLoopback() || ip.IsMulticast():
		return doneOpen + v + doneClose
	case ip.Is6():
		return a.replace(sortAddr, ip.String(), "2001:db8::%x")
	}
	if b := ip.As4(); b[0] >= 240 || b[0] == 0 {
		return doneOpen + v + doneClose
	}
	n, known := a.addrs[ip]
	if !known {
		n = len(a.addrs) + 1
		a.addrs[ip] = n
		a.count[sortAddr]++
	}
	return fmt.Sprintf(doneOpen+"198.%d.%d.%d"+doneClose, 18+n>>16&1, n>>8&255, n&255)
}

// wish gives a wish other names: of its owner, its fabric and its classes.
func (a *anonymizer) wish(want Intent) Intent {
	want.Name, want.Owner.Name = a.object(want.Name), a.object(want.Owner.Name)
	want.Owner.Others = slices.Clone(want.Owner.Others)
	for i, other := range want.Owner.Others {
		want.Owner.Others[i] = a.object(other)
	}
	want.Classes = slices.Clone(want.Classes)
	for i, k := range want.Classes {
		want.Classes[i].Name = a.object(k.Name)
	}
	return want
}
