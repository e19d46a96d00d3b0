package sshsig

import (
	"bytes"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
)

// A Person is who holds a key, under every name that a list of signers and the
// certificate have for it.
type Person struct {
	Names    []string // principals without wildcards, sorted: those of every line with the key, also of lines that have expired, and of the certificate
	Patterns []string // principals with wildcards, of lines with the key that are for the namespace
	Key      string   // the fingerprint of the key, whether certified or not
}

// String shows the names, or the patterns of a person without a name.
func (p Person) String() string {
	if len(p.Names) == 0 {
		return strings.Join(p.Patterns, ",")
	}
	return strings.Join(p.Names, ",")
}

// Is reports whether a name is the person's, or may be by one of the patterns. Case does
// not matter.
func (p Person) Is(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(p.Names, func(own string) bool { return strings.ToLower(own) == name }) ||
		slices.ContainsFunc(p.Patterns, func(pattern string) bool { return matches(strings.ToLower(pattern), name) })
}

// person collects the names of a key.
func (list Signers) person(key ssh.PublicKey, namespace string) Person {
	var p Person
	plain := key
	certificate, certified := key.(*ssh.Certificate)
	if certified {
		plain = certificate.Key
		p.Names = slices.Clone(certificate.ValidPrincipals)
	}
	p.Key = ssh.FingerprintSHA256(plain)
	for _, s := range list {
		if s.authority || !bytes.Equal(s.key.Marshal(), plain.Marshal()) {
			continue
		}
		switch names := split(s.principals); {
		case !wild(s.principals):
			p.Names = append(p.Names, names...)
		case s.namespaces == "" || matches(s.namespaces, namespace):
			p.Patterns = append(p.Patterns, s.principals)
		}
	}
	slices.Sort(p.Names)
	p.Names = slices.Compact(p.Names)
	return p
}

// split splits a list of principals.
func split(principals string) []string {
	list := strings.Split(principals, ",")
	for i, name := range list {
		list[i] = strings.TrimSpace(name)
	}
	return list
}

// wild reports whether principals are patterns, which name nobody in particular.
func wild(principals string) bool { return strings.ContainsAny(principals, "*?!") }

// Named reports whether the person is known by name: it has one, and none of its names
// has a wildcard, as one of a certificate may.
func (p Person) Named() bool { return len(p.Names) > 0 && !slices.ContainsFunc(p.Names, wild) }

// Same reports whether two are one person: they share a key or a name.
func (p Person) Same(other Person) bool {
	return p.Key == other.Key || slices.ContainsFunc(p.Names, func(name string) bool {
		return slices.ContainsFunc(other.Names, func(its string) bool { return strings.EqualFold(name, its) })
	})
}
