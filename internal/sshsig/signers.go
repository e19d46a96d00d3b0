package sshsig

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
)

// Signers are those of an allowed_signers file: ssh-keygen(1), ALLOWED SIGNERS.
type Signers []signer

// A signer is one line.
type signer struct {
	line       int
	principals string // patterns
	key        ssh.PublicKey
	authority  bool      // it signs certificates of those who may
	namespaces string    // patterns; "": any
	after      time.Time // zero: always
	before     time.Time // zero: for ever
}

// ReadSigners reads an allowed_signers file. name is used in errors. Times
// without a zone are those of zone.
func ReadSigners(name string, text []byte, zone *time.Location) (Signers, error) {
	var list Signers
	var wrong []error
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		s, err := readSigner(line, zone)
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s:%d: %w", name, n, err))
			continue
		}
		s.line = n
		list = append(list, s)
	}
	return list, errors.Join(wrong...)
}

// readSigner reads PRINCIPALS [OPTIONS] TYPE KEY [COMMENT].
func readSigner(line string, zone *time.Location) (signer, error) {
	var s signer
	principals, rest := word(line)
	if s.principals = strings.Trim(principals, `"`); s.principals == "" {
		return s, errors.New("no principals")
	}
	if key, err := keyOf(rest); err == nil {
		s.key = key
		return s, nil
	}
	options, rest := word(rest)
	key, err := keyOf(rest)
	if err != nil {
		return s, err
	}
	s.key = key
	for options != "" {
		var option string
		option, options = cutOption(options)
		if err := s.option(option, zone); err != nil {
			return s, err
		}
	}
	return s, nil
}

// keyOf reads TYPE KEY [COMMENT].
func keyOf(text string) (ssh.PublicKey, error) {
	key, _, options, _, err := ssh.ParseAuthorizedKey([]byte(text))
	switch {
	case err != nil:
		return nil, fmt.Errorf("the key: %w", err)
	case len(options) > 0:
		return nil, errors.New("the options are no comma-separated list")
	}
	return key, nil
}

func (s *signer) option(option string, zone *time.Location) (err error) {
	name, value, has := strings.Cut(option, "=")
	value = strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(value, `"`), `"`), `\"`, `"`)
	switch name = strings.ToLower(name); {
	case name == "cert-authority" && !has:
		s.authority = true
	case name == "namespaces" && value != "":
		s.namespaces = value
	case name == "valid-after" && has:
		s.after, err = readTime(value, zone)
	case name == "valid-before" && has:
		s.before, err = readTime(value, zone)
	default:
		return fmt.Errorf("the option %q is not known", option)
	}
	return err
}

// readTime reads YYYYMMDD[HHMM[SS]], in UTC where a Z follows.
func readTime(text string, zone *time.Location) (time.Time, error) {
	digits, utc := strings.CutSuffix(text, "Z")
	if utc {
		zone = time.UTC
	}
	for _, layout := range []string{"20060102", "200601021504", "20060102150405"} {
		if t, err := time.ParseInLocation(layout, digits, zone); err == nil && len(digits) == len(layout) {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: YYYYMMDD, YYYYMMDDHHMM or YYYYMMDDHHMMSS, with Z in UTC", text)
}

// Allow reports who holds a key that may sign for a namespace at a time, or why it may
// not. A certificate is allowed where its authority is.
func (list Signers) Allow(key ssh.PublicKey, namespace string, now time.Time) (Person, error) {
	err := fmt.Errorf("%s is not among the allowed signers", ssh.FingerprintSHA256(key))
	for _, s := range list {
		switch known, why := s.allow(key, namespace, now); {
		case known && why == nil:
			return list.person(key, namespace), nil
		case known:
			err = fmt.Errorf("%s: line %d of the allowed signers: %w", ssh.FingerprintSHA256(key), s.line, why)
		}
	}
	return Person{}, err
}

// allow is Allow for one line. known: the line is about the key.
func (s *signer) allow(key ssh.PublicKey, namespace string, now time.Time) (known bool, err error) {
	certificate, certified := key.(*ssh.Certificate)
	switch {
	case s.authority != certified:
		return false, nil
	case certified && !bytes.Equal(certificate.SignatureKey.Marshal(), s.key.Marshal()):
		return false, nil
	case !certified && !bytes.Equal(key.Marshal(), s.key.Marshal()):
		return false, nil
	}
	switch {
	case s.namespaces != "" && !matches(s.namespaces, namespace):
		return true, fmt.Errorf("it is for the namespaces %s", s.namespaces)
	case !s.after.IsZero() && now.Before(s.after):
		return true, fmt.Errorf("it is not valid before %s", s.after.Format(time.RFC3339))
	case !s.before.IsZero() && now.After(s.before):
		return true, fmt.Errorf("it is not valid after %s", s.before.Format(time.RFC3339))
	}
	if certified {
		err = s.certified(certificate, now)
	}
	return true, err
}

// certified checks a certificate of the authority, which is for one of its principals.
func (s *signer) certified(c *ssh.Certificate, now time.Time) error {
	if c.CertType != ssh.UserCert {
		return errors.New("the certificate is not one of a user")
	}
	if c.Signature == nil || !slices.Contains(algorithms(c.SignatureKey.Type()), c.Signature.Format) {
		return errors.New("the authority has signed the certificate with an algorithm that is not accepted")
	}
	i := slices.IndexFunc(c.ValidPrincipals, func(p string) bool { return matches(s.principals, p) })
	switch {
	case len(c.ValidPrincipals) == 0:
		return errors.New("the certificate names no principals")
	case i < 0:
		return fmt.Errorf("the certificate is for %s", strings.Join(c.ValidPrincipals, ", "))
	}
	check := &ssh.CertChecker{Clock: func() time.Time { return now }}
	return check.CheckCert(c.ValidPrincipals[i], c)
}

// matches reports whether one of the patterns, separated by commas, matches
// and none with ! does.
func matches(patterns, text string) bool {
	found := false
	for p := range strings.SplitSeq(patterns, ",") {
		p, negated := strings.CutPrefix(strings.TrimSpace(p), "!")
		// * and ? are all there is; a slash is no separator here.
		p = strings.NewReplacer(`\`, `\\`, "[", `\[`, "/", "\x00").Replace(p)
		if ok, err := path.Match(p, strings.ReplaceAll(text, "/", "\x00")); err != nil || !ok {
			continue
		}
		if negated {
			return false
		}
		found = true
	}
	return found
}

// word cuts the first word off; quotes hold spaces.
func word(text string) (first, rest string) {
	i := end(text, " \t")
	return text[:i], strings.TrimSpace(text[i:])
}

// cutOption cuts the first of some options off.
func cutOption(text string) (first, rest string) {
	i := end(text, ",")
	return text[:i], strings.TrimPrefix(text[i:], ",")
}

// end is where a text has one of the separators outside of quotes.
func end(text, separators string) int {
	quoted := false
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quoted:
			i++
		case text[i] == '"':
			quoted = !quoted
		case !quoted && strings.IndexByte(separators, text[i]) >= 0:
			return i
		}
	}
	return len(text)
}
