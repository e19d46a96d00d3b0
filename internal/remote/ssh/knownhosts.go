package ssh

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io/fs"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"weft/internal/hint"
)

// A keyring is what known_hosts files say. It answers as package knownhosts
// does, which reads every line for every question: a fleet asks as often as the
// files have lines.
type keyring struct {
	stamp   string                         // changes when a file does
	check   ssh.HostKeyCallback            // of package knownhosts: judges certificates, which few lines speak of
	revoked map[string]knownhosts.KnownKey // by key

	lines    []knownLine        // in the order of the files, without those that revoke
	named    map[hostPort][]int // lines that plainly name an address
	patterns []int              // lines with wildcards or negations

	mu     sync.Mutex
	hashed []hashedLine     // a name belongs to each, and was not asked for yet
	found  map[string][]int // the lines of each address that was asked for
}

// A knownLine is one key.
type knownLine struct {
	authority bool // it signs the keys of hosts
	pattern   []namePattern
	key       knownhosts.KnownKey
}

// A hashedLine is one whose name only shows when it is guessed.
type hashedLine struct {
	line int
	mac  hash.Hash // of the name, by the line's own salt
	want []byte
}

// keyring returns what the files say, read again only when one has changed.
func (d *Dialer) keyring(files []string) (*keyring, error) {
	stamp := ""
	var present []string
	for _, name := range files {
		info, err := os.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		present = append(present, name)
		stamp += fmt.Sprintf("%s %d %d\n", name, info.Size(), info.ModTime().UnixNano())
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := strings.Join(files, "\n")
	if old := d.keyrings[id]; old != nil && old.stamp == stamp {
		return old, nil
	}
	k, err := readKeyring(present)
	if err != nil {
		return nil, hint.Wrap(err, "remove or correct that line of known_hosts")
	}
	k.stamp = stamp
	d.keyrings[id] = k
	return k, nil
}

// readKeyring reads files that are there. What package knownhosts refuses is
// refused.
func readKeyring(files []string) (*keyring, error) {
	k := &keyring{revoked: map[string]knownhosts.KnownKey{}, named: map[hostPort][]int{}, found: map[string][]int{}}
	var err error
	if k.check, err = knownhosts.New(files...); err != nil {
		return nil, err
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		n := 0
		for line := range bytes.Lines(text) {
			n++
			line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
			if err := k.add(string(bytes.Trim(line, " \t")), name, n); err != nil {
				return nil, fmt.Errorf("%s:%d: %w", name, n, err)
			}
		}
	}
	return k, nil
}

// add takes in one line, of which package knownhosts has approved.
func (k *keyring) add(text, file string, n int) error {
	if text == "" || text[0] == '#' {
		return nil
	}
	marker, rest := "", text
	if text[0] == '@' {
		marker, rest = nextField(text)
	}
	names, rest := nextField(rest)
	_, rest = nextField(rest) // the kind, which the key says, too
	encoded, _ := nextField(rest)
	blob, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return err
	}
	key, err := ssh.ParsePublicKey(blob)
	if err != nil {
		return err
	}
	known := knownhosts.KnownKey{Key: key, Filename: file, Line: n}
	if marker == "@revoked" {
		k.revoked[plainKey(key)] = known
		return nil
	}
	at := len(k.lines)
	k.lines = append(k.lines, knownLine{authority: marker == "@cert-authority", key: known})
	if names[0] == '|' {
		return k.addHashed(names, at)
	}
	return k.addNames(names, at)
}

// addHashed takes in |1|SALT|HASH.
func (k *keyring) addHashed(names string, at int) error {
	parts := strings.Split(names, "|")
	if len(parts) != 4 {
		return errors.New("a hashed name has a salt and a hash")
	}
	salt, err := base64.StdEncoding.DecodeString(parts[2])
	if err != nil {
		return err
	}
	want, err := base64.StdEncoding.DecodeString(parts[3])
	if err != nil {
		return err
	}
	k.hashed = append(k.hashed, hashedLine{line: at, mac: hmac.New(sha1.New, salt), want: want})
	return nil
}

// addNames takes in a list of names and patterns.
func (k *keyring) addNames(names string, at int) error {
	var list []namePattern
	plain := true
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			continue
		}
		var p namePattern
		name, p.negated = strings.CutPrefix(name, "!")
		if name == "" {
			return errors.New("there is no name to negate")
		}
		var err error
		if p.host, p.port, err = net.SplitHostPort(name); err != nil {
			p.host, p.port = name, "22"
		}
		plain = plain && !p.negated && !strings.ContainsAny(p.host, "*?")
		list = append(list, p)
	}
	if !plain {
		k.lines[at].pattern = list
		k.patterns = append(k.patterns, at)
		return nil
	}
	for _, p := range list {
		if of := k.named[p.hostPort]; len(of) == 0 || of[len(of)-1] != at { // it may name it twice
			k.named[p.hostPort] = append(of, at)
		}
	}
	return nil
}

// linesOf lists the lines about an address (host:port), in the order of the
// files.
func (k *keyring) linesOf(address string) []int {
	var a hostPort
	var err error
	if a.host, a.port, err = net.SplitHostPort(address); err != nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if list, ok := k.found[address]; ok {
		return list
	}
	list := slices.Clone(k.named[a])
	for _, at := range k.patterns {
		if matches(k.lines[at].pattern, a) {
			list = append(list, at)
		}
	}
	// A hashed line speaks of one name: whoever asks for another one need not
	// try it again. So a fleet tries half as many as it would.
	name := []byte(knownhosts.Normalize(net.JoinHostPort(a.host, a.port)))
	var sum [sha1.Size]byte
	k.hashed = slices.DeleteFunc(k.hashed, func(h hashedLine) bool {
		h.mac.Reset()
		h.mac.Write(name)
		ours := bytes.Equal(h.mac.Sum(sum[:0]), h.want)
		if ours {
			list = append(list, h.line)
		}
		return ours
	})
	slices.Sort(list)
	k.found[address] = list
	return list
}

// judge judges a key that a server shows, as package knownhosts does but for one thing: the key of
// an authority certifies others: no machine has it as its own, as OpenSSH has it
// (sshd(8), SSH_KNOWN_HOSTS FILE FORMAT).
func (k *keyring) judge(address string, peer net.Addr, key ssh.PublicKey) error {
	if _, ok := key.(*ssh.Certificate); ok {
		return k.check(address, peer, key)
	}
	if revoked, ok := k.revoked[plainKey(key)]; ok {
		return &knownhosts.RevokedError{Revoked: revoked}
	}
	mismatch := &knownhosts.KeyError{}
	for _, at := range k.linesOf(address) {
		line := k.lines[at]
		if same := bytes.Equal(line.key.Key.Marshal(), key.Marshal()); !same || line.authority {
			mismatch.Want = append(mismatch.Want, line.key)
			continue
		}
		return nil
	}
	return mismatch
}

// known lists what the files hold for an address, host authorities last.
func (k *keyring) known(address string) (keys, authorities []knownhosts.KnownKey) {
	for _, at := range k.linesOf(address) {
		if line := k.lines[at]; line.authority {
			authorities = append(authorities, line.key)
		} else {
			keys = append(keys, line.key)
		}
	}
	return keys, authorities
}

// plainKey is a key by which keys are told apart: of a certificate the one that
// it certifies.
func plainKey(key ssh.PublicKey) string {
	if c, ok := key.(*ssh.Certificate); ok {
		key = c.Key
	}
	return string(key.Marshal())
}

// A namePattern is one of the patterns of a line.
type namePattern struct {
	hostPort
	negated bool
}

// A hostPort is an address, or of a pattern what it looks like.
type hostPort struct{ host, port string }

// matches reports whether some pattern matches and none that is negated.
func matches(list []namePattern, a hostPort) bool {
	matched := false
	for _, p := range list {
		if p.port != a.port || !wildcard(p.host, a.host) {
			continue
		}
		if p.negated {
			return false
		}
		matched = true
	}
	return matched
}

// wildcard matches * and ?. A star at the end stands for at least one character,
// as it does in package knownhosts.
func wildcard(pattern, s string) bool {
	for ; pattern != ""; pattern, s = pattern[1:], s[1:] {
		switch {
		case s == "":
			return false
		case pattern == "*":
			return true
		case pattern[0] == '*':
			for i := range len(s) {
				if wildcard(pattern[1:], s[i:]) {
					return true
				}
			}
			return false
		case pattern[0] != '?' && pattern[0] != s[0]:
			return false
		}
	}
	return s == ""
}

// nextField splits the first field off a line.
func nextField(line string) (field, rest string) {
	i := strings.IndexAny(line, " \t")
	if i < 0 {
		return line, ""
	}
	return line[:i], strings.Trim(line[i:], " \t")
}
