package ssh

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// FuzzKnownHosts: what files say is what package knownhosts says that they say.
// In text, KEY0 to KEY2 stand for keys and CERT for a certificate of KEY0 by
// KEY2.
func FuzzKnownHosts(f *testing.F) {
	for _, text := range []string{
		"a KEY0",
		"a,b,,a KEY0\nb KEY1\na KEY1",
		"[a]:2022,a:23 KEY0\n#[a]:22 KEY1\n\n  a\tKEY1 comment",
		"10.0.*,!10.0.0.? KEY0\n*,!a KEY1\n* KEY2",
		"!a KEY0\na* KEY0\n*a KEY1\n?? KEY1",
		"@revoked * KEY0\na KEY0,KEY1\na KEY1",
		"@cert-authority *.net KEY2\nx.net KEY1",
		"@cert-authority a KEY2\na CERT\n@revoked b CERT",
		"fe80::1,[fe80::2]:22,[::1]:2022 KEY0",
		"a KEY0\r\nb KEY1\r\n",
		"a KEY0\nnonsense\n",
		knownhosts.HashHostname("a") + " KEY0\n" + knownhosts.HashHostname("[a]:2022") + " KEY1\na,b KEY1\n" + knownhosts.HashHostname("a") + " KEY2",
		"|1|AAAA|AAAA KEY0\n|2|AAAA|AAAA KEY0",
	} {
		for _, address := range []string{"a:22", "b:22", "a:2022", "a:23", "10.0.0.1:22", "x.net:22", "[fe80::1]:22", "[::1]:2022", "aa:22"} {
			f.Add(text, address)
		}
	}
	keys := []ssh.Signer{fixedKey(f, 0), fixedKey(f, 1), fixedKey(f, 2)}
	cert := certified(f, keys[2], keys[0], ssh.HostCert, "a", "x.net").PublicKey()
	shown := []ssh.PublicKey{keys[0].PublicKey(), keys[1].PublicKey(), keys[2].PublicKey(), cert}
	var names []string
	for i, key := range shown {
		names = append(names, []string{"KEY0", "KEY1", "KEY2", "CERT"}[i], strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key))))
	}
	file := filepath.Join(f.TempDir(), "known_hosts")
	f.Fuzz(func(t *testing.T, text, address string) {
		if _, _, err := net.SplitHostPort(address); err != nil {
			t.Skip("nobody dials this")
		}
		if err := os.WriteFile(file, []byte(strings.NewReplacer(names...).Replace(text)), 0o600); err != nil {
			t.Fatal(err)
		}
		theirs, err := knownhosts.New(file)
		k, ours := readKeyring([]string{file})
		if (err == nil) != (ours == nil) {
			t.Fatalf("read: %v; package knownhosts: %v", ours, err)
		}
		if err != nil {
			return
		}
		for range 2 { // the second answer is remembered
			for _, key := range shown {
				got, want := k.judge(address, &net.TCPAddr{}, key), theirs(address, &net.TCPAddr{}, key)
				if want == nil && onlyAuthority(k, address, key) { // which that package takes for a machine's own
					if !errors.As(got, new(*knownhosts.KeyError)) {
						t.Errorf("%q shows the key of an authority %s: %v", address, ssh.FingerprintSHA256(key), got)
					}
					continue
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%q shows %s: %v; package knownhosts: %v", address, ssh.FingerprintSHA256(key), got, want)
				}
			}
		}
		got, authorities := k.known(address)
		var held *knownhosts.KeyError
		if errors.As(theirs(address, &net.TCPAddr{}, noKey{}), &held) && len(held.Want) != len(got)+len(authorities) {
			t.Errorf("%q: %d keys and %d authorities; package knownhosts: %d", address, len(got), len(authorities), len(held.Want))
		}
	})
}

// onlyAuthority reports whether a key stands for an address as that of an
// authority, and nowhere as its own.
func onlyAuthority(k *keyring, address string, key ssh.PublicKey) bool {
	same := func(l knownhosts.KnownKey) bool { return bytes.Equal(l.Key.Marshal(), key.Marshal()) }
	keys, authorities := k.known(address)
	return slices.ContainsFunc(authorities, same) && !slices.ContainsFunc(keys, same)
}

// Each hashed line is taken for one name, whichever is asked for first.
func TestHashedNamesAreFoundInAnyOrder(t *testing.T) {
	const hosts = 40
	key, other := edKey(t), edKey(t)
	var text strings.Builder
	for range 2 { // two keys each
		for n := range hosts {
			text.WriteString(knownhosts.HashHostname(fmt.Sprint("node", n)) + " " + authorized(key))
		}
		key, other = other, key
	}
	file := filepath.Join(t.TempDir(), "known_hosts")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	k, err := readKeyring([]string{file})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{7, 39, 0, 7, 12, 99} {
		want := 2
		if n >= hosts {
			want = 0
		}
		if keys, _ := k.known(fmt.Sprintf("node%d:22", n)); len(keys) != want {
			t.Errorf("node%d has %d keys, want %d", n, len(keys), want)
		}
	}
	if left := len(k.hashed); left != 2*hosts-2*4 {
		t.Errorf("%d hashed lines are left to try, want %d", left, 2*hosts-2*4)
	}
}

// noKey is equal to no key: asked about it, package knownhosts says what it
// holds.
type noKey struct{}

func (noKey) Type() string                        { return "none" }
func (noKey) Marshal() []byte                     { return nil }
func (noKey) Verify([]byte, *ssh.Signature) error { return errors.New("not a key") }

// fixedKey is the same in each process of a fuzzer.
func fixedKey(tb testing.TB, n byte) ssh.Signer {
	tb.Helper()
	s, err := ssh.NewSignerFromKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize)))
	if err != nil {
		tb.Fatal(err)
	}
	return s
}
