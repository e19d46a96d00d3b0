package psk

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"weft/internal/nvme/tls13"
	"weft/internal/require"
)

const (
	host      = "nqn.2014-08.org.nvmexpress:uuid:6ba7b810-9dad-11d1-80b4-00c04fd430c8"
	subsystem = "nqn.2026-11.net.example:pilot:st1"
	short     = "NVMeTLSkey-1:01:6ygnfF8wUmVZS8r4xukMxt/R4/O7JzJSndrW7xohr54Gm8rj:" // of nvme gen-tls-key, nvme-cli 2.3
	long      = "NVMeTLSkey-1:02:VTZej5RzrOX3/CNGsRoqihtijy35UYWo6Wyfr9TmJebYnys2wMMixpro8MtlT19eU6mv4g==:"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]tls13.Suite{short: tls13.AES128SHA256, long: tls13.AES256SHA384} {
		k, err := Parse(text + "\n")
		if err != nil {
			t.Fatal(err)
		}
		if k.Suite() != want || k.Reveal() != text {
			t.Errorf("%s becomes %s, %v", text, k.Reveal(), k.Suite())
		}
		if s := fmt.Sprintf("%v %+v %#v", k, k, k); strings.Contains(s, text[20:30]) || strings.Contains(s, fmt.Sprint(k.secret[0])) {
			t.Errorf("the key shows: %s", s)
		}
	}
	for wrong, want := range map[string]string{
		"":                                        "begin",
		"DHHC-1:01:AAAA:":                         "begin",
		"NVMeTLSkey-1:01":                         "form",
		strings.TrimSuffix(short, ":"):            "form",
		strings.Replace(short, "6y", "!!", 1):     "base64",
		strings.Replace(short, "6y", "6\ny", 1):   "base64",
		strings.Replace(short, "6y", "7y", 1):     "checksum",
		strings.Replace(short, ":01:", ":02:", 1): "hash",
		strings.Replace(short, ":01:", ":1:", 1):  "hash",
		strings.Replace(long, ":02:", ":01:", 1):  "hash",
		strings.Replace(long, ":02:", ":03:", 1):  "hash",
		"NVMeTLSkey-1:00:AAAA:":                   "32 or 48",
		"NVMeTLSkey-1:00::":                       "32 or 48",
	} {
		if _, err := Parse(wrong); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", wrong, err, want)
		}
	}
}

func TestNew(t *testing.T) {
	for _, s := range []tls13.Suite{tls13.AES128SHA256, tls13.AES256SHA384} {
		a, err := New(s, rand.Reader)
		b, err2 := New(s, rand.Reader)
		if err != nil || err2 != nil || a.Reveal() == b.Reveal() || a.Suite() != s {
			t.Error(a.Reveal(), b.Reveal(), err, err2)
		}
		if back, err := Parse(a.Reveal()); err != nil || back.Reveal() != a.Reveal() {
			t.Error(err)
		}
	}
	if _, err := New(tls13.AES128SHA256, bytes.NewReader(nil)); err == nil {
		t.Error("no randomness is enough")
	}
}

// TestTLSAsOpenSSL derives the same with OpenSSL's HKDF, from labels written out here.
func TestTLSAsOpenSSL(t *testing.T) {
	tool := require.Tool(t, require.OpenSSL, "openssl")
	run := func(args ...string) []byte {
		out, err := exec.Command(tool, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("openssl %q: %v: %s", args, err, out)
		}
		b, err := hex.DecodeString(strings.NewReplacer(":", "", "\n", "").Replace(string(out)))
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return b
	}
	for _, text := range []string{short, long, strings.Replace(short, ":01:", ":00:", 1), strings.Replace(long, ":02:", ":00:", 1)} {
		k, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		n, digest, number := len(k.secret), "SHA256", "01"
		if n == 48 {
			digest, number = "SHA384", "02"
		}
		label := func(key []byte, label, context string) []byte {
			info := fmt.Sprintf("%04x%02x%x%02x%x", n, len(label), label, len(context), context)
			return run("kdf", "-keylen", fmt.Sprint(n), "-kdfopt", "digest:"+digest, "-kdfopt", fmt.Sprintf("hexkey:%x", key),
				"-kdfopt", fmt.Sprintf("hexsalt:%x", make([]byte, n)), "-kdfopt", "hexinfo:"+info, "HKDF")
		}
		retained := k.secret
		if k.bound {
			retained = label(k.secret, "tls13 HostNQN", host)
		}
		zero := "NVMe0R" + number + " " + host + " " + subsystem
		expect(t, k, Zero, zero, label(retained, "tls13 nvme-tls-psk", zero))

		one, err := k.TLS(One, host, subsystem)
		if err != nil {
			t.Fatal(err)
		}
		sum := strings.TrimPrefix(one.Identity, "NVMe1R"+number+" "+host+" "+subsystem+" ")
		expect(t, k, One, one.Identity, label(retained, "tls13 nvme-tls-psk", number+" "+sum))
		mac := exec.Command(tool, "dgst", "-"+digest, "-mac", "HMAC", "-macopt", fmt.Sprintf("hexkey:%x", retained), "-binary")
		mac.Stdin = strings.NewReader(host + " " + subsystem + " NVMe-over-Fabrics")
		if want, err := mac.Output(); err != nil || base64.StdEncoding.EncodeToString(want) != sum {
			t.Errorf("digest %q, OpenSSL's is %x: %v", sum, want, err)
		}
	}
}

func expect(t *testing.T, k Key, v Version, identity string, secret []byte) {
	t.Helper()
	is, err := k.TLS(v, host, subsystem)
	if err != nil || is.Identity != identity || !bytes.Equal(is.Secret, secret) || is.Suite != k.Suite() {
		t.Errorf("%v %x, want %s %x: %v", is, is.Secret, identity, secret, err)
	}
}

func TestIdentityTellsHostsAndKeysApart(t *testing.T) {
	a, _ := Parse(short)
	b, _ := New(a.Suite(), rand.Reader)
	seen := map[string]bool{}
	for _, k := range []Key{a, b} {
		for _, h := range []string{host, host + ":probe"} {
			is, err := k.TLS(One, h, subsystem)
			if err != nil || seen[is.Identity] || seen[string(is.Secret)] {
				t.Errorf("%v again: %v", is, err)
			}
			seen[is.Identity], seen[string(is.Secret)] = true, true
			if v, gotHost, gotSub, err := ParseIdentity(is.Identity); v != One || gotHost != h || gotSub != subsystem || err != nil {
				t.Errorf("%d %s %s %v", v, gotHost, gotSub, err)
			}
		}
	}
	if _, err := a.TLS(Zero, strings.Repeat("h", 223), subsystem); err == nil || !strings.Contains(err.Error(), "11 bytes too long") {
		t.Errorf("%v", err)
	}
}

func TestParseIdentityRefuses(t *testing.T) {
	for _, id := range []string{"", "Client_identity", "NVMe0R01 a", "NVMe0R01 a b c", "NVMe1R01 a b", "NVMe2R01 a b c", "NVMe0R03 a b", "NVMe0G01 a b", "NVMe0R01  b", "NVMe0R01 a "} {
		if _, _, _, err := ParseIdentity(id); err == nil {
			t.Errorf("%q is taken", id)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(short)
	f.Add(long)
	f.Fuzz(func(t *testing.T, s string) {
		if k, err := Parse(s); err == nil && k.Reveal() != strings.TrimSpace(s) {
			t.Fatalf("%q becomes %q", s, k.Reveal())
		}
	})
}

func FuzzParseIdentity(f *testing.F) {
	f.Add("NVMe0R01 a b")
	f.Add("NVMe1R02 a b c")
	f.Fuzz(func(t *testing.T, s string) {
		if _, h, sub, err := ParseIdentity(s); err == nil && !strings.Contains(s, " "+h+" "+sub) {
			t.Fatalf("%q has %q and %q", s, h, sub)
		}
	})
}
