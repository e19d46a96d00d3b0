package switches

import (
	"slices"
	"strings"

	"weft/internal/pattern"
)

// redacted stands where a secret was.
const redacted = "REDACTED"

// Redact takes secrets out of what a switch printed: passwords, SNMP
// communities, keys and hashes in the forms in which NX-OS and Comware write
// them, and known, which are secrets that the caller has. In a line about a
// secret every word goes that is not known to be harmless there, so that a form
// nobody thought of loses too much, not too little. So do banners, which may say
// anything. Names, addresses and serial numbers stay.
func Redact(text string, known ...string) string {
	r := redactor{found: map[string]bool{}}
	for _, k := range known {
		if k != "" {
			r.found[k] = true
			text = strings.ReplaceAll(text, k, redacted)
		}
	}
	lines := slices.Collect(strings.Lines(text))
	var out []string
	for len(lines) > 0 {
		n := 1
		if banner := bannerLength(lines); banner > 0 && r.until == nil {
			n, out = banner, append(out, bannerText(lines[:banner], redacted)...)
		} else {
			out = append(out, r.line(lines[0]))
		}
		lines = lines[n:]
	}
	for i, line := range out { // the same value may stand elsewhere without a word that tells
		out[i] = r.again(line)
	}
	return strings.Join(out, "")
}

// A redactor goes through the lines of one text.
type redactor struct {
	found map[string]bool  // values that were taken out
	until *pattern.Pattern // in a block of keys: what ends it
}

var (
	keyBegins = pattern.New(`(?i)-----BEGIN |public-key-code begin|^\s*(?:certificate|key)-?(?:data|string)? begin\b`)
	keyEnds   = pattern.New(`(?i)-----END |public-key-code end|\bend\b`)
	hashed    = pattern.New(`\$[0-9A-Za-z]{1,4}\$[^\s"']+`)
	inURL     = pattern.New(`(://[^\s:/@]+:)\S+@`)
	longHex   = pattern.New(`\b(?:0x)?[0-9a-fA-F]{24,}\b`)
	publicKey = pattern.New(`\b((?:ssh|ecdsa|sk)-[\w@.-]+) +[A-Za-z0-9+/=]{16,}.*`)
	piece     = pattern.New(`\s+|"[^"]*"|'[^']*'|[^\s"']+|["']`)
)

// line takes the secrets out of one line.
func (r *redactor) line(line string) string {
	body := strings.TrimRight(line, "\r\n")
	end := line[len(body):]
	if r.until != nil {
		if r.until.MatchString(body) {
			r.until = nil
			return line
		}
		return redacted + end
	}
	if keyBegins.MatchString(body) {
		r.until = &keyEnds
		return line
	}
	body = r.replace(hashed, body)
	body = inURL.ReplaceAllString(body, "${1}"+redacted+"@")
	body = publicKey.ReplaceAllString(body, "$1 "+redacted)
	body = r.replace(longHex, body)
	return r.words(body) + end
}

func (r *redactor) replace(re pattern.Pattern, s string) string {
	return re.ReplaceAllStringFunc(s, func(v string) string {
		r.found[v] = true
		return redacted
	})
}

// words takes out what follows a word that announces a secret.
func (r *redactor) words(line string) string {
	parts := piece.FindAllString(line, -1)
	at := announces(line, parts)
	if at < 0 {
		for i, p := range parts { // a message may quote a line
			if end := len(p) - 1; end > 0 && (p[0] == '"' || p[0] == '\'') && strings.ContainsAny(p, " \t") {
				parts[i] = p[:1] + r.words(p[1:end]) + p[end:]
			}
		}
		return strings.Join(parts, "")
	}
	fresh := true // the word of the secret itself has not come yet
	last := at
	announced := at // by this one
	for i := at + 1; i < len(parts); i++ {
		if strings.TrimSpace(parts[i]) == "" {
			continue
		}
		word := strings.ToLower(parts[i])
		switch {
		case (secretWord(word) || written(word)) && !fresh:
			fresh, announced = true, i
		case fresh && qualifier(word), !fresh && harmless(word):
		case fresh && last == announced && noSecret(strings.ToLower(parts[announced]), word):
			return strings.Join(parts, "")
		default:
			r.take(parts, i)
			fresh = false
		}
		last = i
	}
	if fresh && last > announced && !settled(parts, announced, last) { // it looked like a qualifier and was the secret
		r.take(parts, last)
	}
	return strings.Join(parts, "")
}

func (r *redactor) take(parts []string, i int) {
	if v := strings.Trim(parts[i], `"'`); v != redacted && v != "" {
		r.found[v] = true
	}
	parts[i] = redacted
}

// announces is the place of the first word after which a secret comes, -1 for
// a line without one.
func announces(line string, parts []string) int {
	w := strings.Fields(strings.ToLower(line))
	tells := nameless(w)
	nth, form := -1, -1 // of the words; where one says in which form a secret is written
	for i, p := range parts {
		if p = strings.ToLower(p); strings.TrimSpace(p) == "" {
			continue
		}
		if nth++; secretWord(p) || nth == tells {
			if form >= 0 && nth == len(w)-1 {
				return form // the last word is the secret
			}
			return i
		}
		if form < 0 && (written(p) || p == "psk" || p == "ah-md5") {
			form = i
		}
	}
	return form
}

// nameless is the place among the words of a line of the one behind which a
// secret stands that nothing else announces; -1 for none.
func nameless(w []string) int {
	is := func(words ...string) bool { return len(w) >= len(words) && slices.Equal(w[:len(words)], words) }
	switch {
	case is("snmp-server", "host") && slices.Contains(w, "version"):
		return slices.Index(w, "version")
	case is("snmp-server", "host") && len(w) > 3 && !slices.Contains([]string{"use-vrf", "filter-vrf", "filter_vrf", "source-interface"}, w[3]):
		return 2 // a community right behind the address
	case is("snmp-agent", "usm-user", "v1"), is("snmp-agent", "usm-user", "v2c"):
		return 2 // the user of these versions is a community
	case is("authentication", "text"), is("authentication") && len(w) == 2:
		return 0 // of HSRP and VRRP groups
	}
	return -1
}

// settled reports whether a line whose secret did not come says something
// about secrets and holds none: "authentication-mode scheme".
func settled(parts []string, at, last int) bool {
	word := strings.ToLower(parts[at])
	value := strings.ToLower(parts[last])
	return word == "authentication-mode" && slices.Contains([]string{"scheme", "none", "password"}, value)
}

// noSecret reports whether a word right behind one that announces a secret
// says that there is none: "key chain", "password strength-check".
func noSecret(announced, w string) bool {
	return announced == "key" && w == "chain" ||
		announced == "password" && slices.Contains([]string{"strength-check", "encryption", "recovery"}, w)
}

// secretWord reports whether a secret follows a word.
func secretWord(w string) bool {
	w = strings.Trim(w, ",:")
	switch w {
	case "password", "passwd", "passphrase", "pass-phrase", "passcode", "secret", "community", "community-name", "securityname", "sshkey",
		"key", "key-string", "key-octet-string", "ckn", "cak", "auth", "priv",
		"authentication-mode", "privacy-mode", "token", "credential", "community-map", "password-request", "pwd", "pmk", "passkey", "apikey", "sharekey", "hello-authentication":
		return true
	}
	for _, end := range []string{"-password", "-secret", "-key-string", "-passphrase", "-key", "-authentication-mode"} {
		if strings.HasSuffix(w, end) {
			return !strings.HasSuffix(w, "public-key")
		}
	}
	return false
}

// written reports whether a word says in which form the next one is a secret.
func written(w string) bool { return w == "cipher" || w == "simple" || w == "plain" }

// qualifier reports whether a word may stand between the word that announces a
// secret and the secret.
func qualifier(w string) bool {
	switch w {
	case "0", "3", "5", "6", "7", "8", "9", "cipher", "simple", "hash", "irreversible-cipher", "encrypted", "clear", "text", "plain", "string",
		"md5", "ah-md5", "sha", "sha1", "sha224", "sha256", "sha384", "sha512", "sha-224", "sha-256", "sha-384", "sha-512", "hmac-md5", "hmac-sha1", "hmac-sha-256",
		"des", "des56", "3des", "aes", "aes128", "aes192", "aes256", "aes-128", "aes-192", "aes-256",
		"read", "write", "authentication", "accounting", "authorization", "role", "level", "1", "2c",
		"v1", "v2c", "v3", "noauth", "network-admin", "network-operator", "scheme", "none", "rsa", "dsa":
		return true
	}
	return false
}

// harmless reports whether a word behind a secret holds none.
func harmless(w string) bool {
	switch w {
	case "role", "network-admin", "network-operator", "level-15", "vdc-admin", "vdc-operator", "priv-15",
		"group", "ro", "rw", "acl", "use-acl", "use-ipv4acl", "use-ipv6acl", "mib-view", "view", "engineid", "udp-port", "auth-port", "acct-port", "port", "timeout", "retransmit",
		"single-connection", "localizedkey", "localizedv2key", "v1", "v2c", "v3", "traps", "informs", "version", "vpn-instance", "use-vrf", "management":
		return true
	}
	return false
}

// again takes out values that were found elsewhere.
func (r *redactor) again(line string) string {
	if len(r.found) == 0 {
		return line
	}
	parts := piece.FindAllString(line, -1)
	for i, p := range parts {
		if v := strings.Trim(p, `"'`); r.found[v] && tellsApart(strings.ToLower(v)) {
			parts[i] = redacted
		}
	}
	line = strings.Join(parts, "")
	for v := range r.found {
		if len(v) >= 12 {
			line = strings.ReplaceAll(line, v, redacted)
		}
	}
	return line
}

// tellsApart reports whether a value can be recognised where no word announces
// it: short numbers and words of the language stand for other things, too.
func tellsApart(v string) bool {
	number := strings.Trim(v, "0123456789") == ""
	return len(v) > 3 && (!number || len(v) > 7) && !harmless(v) && !qualifier(v) && !secretWord(v)
}
