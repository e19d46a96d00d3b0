package remote

import (
	"errors"
	"strings"

	"weft/internal/pattern"
)

// redacted replaces a secret.
const redacted = "REDACTED"

// The text forms of secrets that weft or a tool of a host may print.
var (
	nvmeKey    = pattern.New(`\b(DHHC-1|NVMeTLSkey-1):[^\s"',;]+`)
	assigned   = pattern.New(`(?i)\b((?:\w+[-_])*(?:password|passwd|passphrase|secret|psk|token|api[-_]?key)["']?=)(?:"[^"]*"|'[^']*'|[^\s"',;&]+)`)
	urlSecret  = pattern.New(`(://[^\s:/@]+:)[^\s/@]+@`)
	privateKey = pattern.New(`(?s)(-----BEGIN [A-Z ]*PRIVATE KEY-----).*?(-----END [A-Z ]*PRIVATE KEY-----|\z)`)
)

// shortestSecret is the length in bytes of the shortest part of a secret that is looked for in
// what a command printed: shorter ones are words and numbers of other meanings as well.
const shortestSecret = 6

// Redact removes secrets from what a command printed, for an error or a log: keys, passwords
// and tokens in the forms that tools print, and the values in known, which the caller has.
func Redact(text string, known ...[]byte) string {
	for _, k := range known {
		for _, v := range append([]string{strings.TrimSpace(string(k))}, strings.FieldsFunc(string(k), separates)...) {
			if len(v) >= shortestSecret {
				text = strings.ReplaceAll(text, v, redacted)
			}
		}
	}
	text = privateKey.ReplaceAllString(text, "${1}"+redacted+"${2}")
	text = nvmeKey.ReplaceAllString(text, "$1:"+redacted)
	text = assigned.ReplaceAllString(text, "${1}"+redacted)
	return urlSecret.ReplaceAllString(text, "${1}"+redacted+"@")
}

// separates reports whether a character stands between the values of a secret text, such as
// the options of /dev/nvme-fabrics.
func separates(r rune) bool { return strings.ContainsRune(" \t\r\n,;\"'", r) }

// withholding removes what a command was given on standard input from the error about it.
func withholding(err error, secret []byte) error {
	exit := (*ExitError)(nil)
	if secret == nil || !errors.As(err, &exit) {
		return err
	}
	clean := func(b []byte) []byte { return []byte(Redact(string(b), secret)) }
	exit.Output = Output{clean(exit.Output.Stdout), clean(exit.Output.Stderr)}
	return err
}
