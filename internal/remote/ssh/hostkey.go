package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"weft/internal/hint"
	"weft/internal/remote"
)

// algorithms orders the host key algorithms so that the server shows a key of
// a kind that known_hosts holds, if it has one.
func (k *keyring) algorithms(address string) []string {
	keys, authorities := k.known(address)
	var certificates, plain []string
	for _, a := range ssh.SupportedAlgorithms().HostKeys {
		if strings.Contains(a, "-cert-") {
			certificates = append(certificates, a)
		} else {
			plain = append(plain, a)
		}
	}
	var order []string
	if len(authorities) > 0 {
		order = certificates
	}
	for _, key := range keys {
		for _, a := range signatures(key.Key.Type()) {
			if slices.Contains(plain, a) && !slices.Contains(order, a) {
				order = append(order, a)
			}
		}
	}
	// The others stay, so that a changed kind of key is told from a server
	// that shares no algorithm with us.
	for _, a := range plain {
		if !slices.Contains(order, a) {
			order = append(order, a)
		}
	}
	return order
}

// signatures lists the algorithms that a kind of key can sign with. SHA-1 is
// not among them.
func signatures(keyType string) []string {
	if keyType == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{keyType}
}

// verify is the judgement of a key that a server shows. lookup is its name
// and port in known_hosts.
func (k *keyring) verify(name, address, lookup string, peer net.Addr, key ssh.PublicKey) error {
	err := k.judge(lookup, peer, key)
	if err == nil {
		return nil
	}
	e := &remote.HostKeyError{Name: name, Address: address, Type: key.Type(), Got: ssh.FingerprintSHA256(key)}
	var mismatch *knownhosts.KeyError
	var revoked *knownhosts.RevokedError
	switch {
	case errors.As(err, &mismatch) && len(mismatch.Want) == 0:
		return hint.Wrap(e, "compare the fingerprint with the machine's own (ssh-keygen -lf on its console), then connect once with: ssh%s %s",
			portOption(lookup), hostOf(lookup))
	case errors.As(err, &mismatch) && slices.ContainsFunc(mismatch.Want, func(w knownhosts.KnownKey) bool { return bytes.Equal(w.Key.Marshal(), key.Marshal()) }):
		err := fmt.Errorf("%w as that of an authority, which certifies keys of machines and is none", e)
		return hint.Wrap(err, "do not log in: a holder of the authority's key can impersonate every machine; find out how it got to %s", name)
	case errors.As(err, &mismatch):
		for _, w := range mismatch.Want {
			e.Want = append(e.Want, fmt.Sprintf("%s %s (%s:%d)", w.Key.Type(), ssh.FingerprintSHA256(w.Key), w.Filename, w.Line))
		}
		return hint.Wrap(e, "find out why the key changed before trusting it; if the machine was reinstalled, forget the old key with: ssh-keygen -R %s",
			remote.Quote(knownhosts.Normalize(lookup)))
	case errors.As(err, &revoked):
		e.Revoked = true
		return hint.Wrap(e, "the key is revoked in %s:%d: do not log in to this machine", revoked.Revoked.Filename, revoked.Revoked.Line)
	}
	err = fmt.Errorf("host key: %w", err)
	if cert, ok := key.(*ssh.Certificate); ok && !validAt(cert, time.Now()) {
		err = hint.Wrap(err, "compare the clock of this machine with the time for which its certificate is valid (ssh-keygen -L)")
	}
	return &remote.UnreachableError{Name: name, Address: address, Err: err}
}

// validAt reports whether a time is in the validity period of a certificate.
func validAt(c *ssh.Certificate, now time.Time) bool {
	at := max(0, now.Unix())
	return uint64(at) >= c.ValidAfter && (c.ValidBefore == ssh.CertTimeInfinity || uint64(at) < c.ValidBefore)
}

// lookup is the name under which known_hosts holds the keys of a route.
func (r route) lookup() string {
	if r.keyAlias != "" {
		return net.JoinHostPort(strings.ToLower(r.keyAlias), "22")
	}
	return net.JoinHostPort(strings.ToLower(r.host), strconv.Itoa(r.port))
}

func hostOf(address string) string {
	host, _, _ := net.SplitHostPort(address)
	return host
}

func portOption(address string) string {
	if _, port, _ := net.SplitHostPort(address); port != "22" {
		return " -p " + port
	}
	return ""
}
