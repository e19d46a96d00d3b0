package sshsig

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/require"
)

const plan = "weft-plan"

// keygen runs the real ssh-keygen in a directory, and reports whether it was
// content.
func keygen(t *testing.T, dir string, stdin []byte, args ...string) (string, bool) {
	t.Helper()
	cmd := exec.Command(require.Tool(t, require.OpenSSH, "ssh-keygen"), args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(stdin)
	out, err := cmd.CombinedOutput()
	return string(out), err == nil
}

func made(t *testing.T, dir string, args ...string) {
	t.Helper()
	if out, ok := keygen(t, dir, nil, args...); !ok {
		t.Fatalf("ssh-keygen %s: %s", strings.Join(args, " "), out)
	}
}

func read(t *testing.T, parts ...string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func write(t *testing.T, text []byte, parts ...string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(parts...), text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// What one signs the other verifies, for every kind of key, and neither takes
// another text or namespace.
func TestKeygen(t *testing.T) {
	text := []byte("a plan\n")
	for _, kind := range [][]string{{"ed25519"}, {"ecdsa", "-b", "256"}, {"ecdsa", "-b", "384"}, {"ecdsa", "-b", "521"}, {"rsa", "-b", "2048"}} {
		t.Run(strings.Join(kind, ""), func(t *testing.T) {
			dir := t.TempDir()
			made(t, dir, append([]string{"-q", "-N", "", "-C", "ops", "-f", "key", "-t"}, kind...)...)
			write(t, append([]byte("ops@example.net "), read(t, dir, "key.pub")...), dir, "allowed")
			key, err := ssh.ParsePrivateKey(read(t, dir, "key"))
			if err != nil {
				t.Fatal(err)
			}
			sig, err := Sign(key, nil, plan, text)
			if err != nil {
				t.Fatal(err)
			}
			write(t, sig, dir, "ours.sig")
			check := []string{"-Y", "verify", "-f", "allowed", "-I", "ops@example.net", "-n", plan, "-s", "ours.sig"}
			if out, ok := keygen(t, dir, text, check...); !ok {
				t.Errorf("ssh-keygen refuses what Sign made: %s", out)
			}
			if out, ok := keygen(t, dir, []byte("another"), check...); ok {
				t.Errorf("ssh-keygen takes another text: %s", out)
			}

			write(t, text, dir, "text")
			made(t, dir, "-Y", "sign", "-q", "-f", "key", "-n", plan, "text")
			theirs := read(t, dir, "text.sig")
			signers, err := ReadSigners("allowed", read(t, dir, "allowed"), time.UTC)
			if err != nil {
				t.Fatal(err)
			}
			by, err := Verify(theirs, text, plan)
			if err != nil {
				t.Fatalf("Verify refuses what ssh-keygen made: %v", err)
			}
			if who, err := signers.Allow(by, plan, time.Now()); err != nil || who.String() != "ops@example.net" {
				t.Errorf("%q, %v", who, err)
			}
			if _, err := Verify(theirs, []byte("another"), plan); err == nil {
				t.Error("Verify takes another text")
			}
			if _, err := Verify(theirs, text, "file"); err == nil || !strings.Contains(err.Error(), `namespace "weft-plan"`) {
				t.Errorf("another namespace: %v", err)
			}
			for i := range theirs { // every byte of it matters, but for the armour's white space
				bent := bytes.Clone(theirs)
				bent[i] ^= 1
				if k, err := Verify(bent, text, plan); err == nil && !bytes.Equal(k.Marshal(), by.Marshal()) {
					t.Fatalf("byte %d: Verify finds another key", i)
				}
			}
		})
	}
}

// Lines of allowed_signers mean what they mean to ssh-keygen, which is asked
// about each.
func TestAllowed(t *testing.T) {
	dir := t.TempDir()
	text := []byte("a plan\n")
	for _, name := range []string{"key", "other", "ca", "ca2"} {
		made(t, dir, "-q", "-N", "", "-C", "", "-t", "ed25519", "-f", name)
	}
	certify := func(ca, serial, principals, validity string) []byte {
		made(t, dir, "-q", "-s", ca, "-I", "id", "-n", principals, "-z", serial, "-V", validity, "key.pub")
		return read(t, dir, "key-cert.pub")
	}
	pub := func(name string) string { return strings.TrimSpace(string(read(t, dir, name+".pub"))) }
	key, err := ssh.ParsePrivateKey(read(t, dir, "key"))
	if err != nil {
		t.Fatal(err)
	}
	valid, expired := "20200101:20990101", "20200101:20210101"
	for name, c := range map[string]struct {
		line    string
		cert    []byte
		allowed bool
	}{
		"plain":             {line: "ops " + pub("key"), allowed: true},
		"several":           {line: "dev,ops,qa " + pub("key"), allowed: true},
		"pattern":           {line: "o* " + pub("key"), allowed: true},
		"quoted":            {line: `"ops" ` + pub("key"), allowed: true},
		"comment":           {line: "# here\n\nops " + pub("key") + " and more words", allowed: true},
		"another key":       {line: "ops " + pub("other")},
		"second line":       {line: "ops " + pub("other") + "\nops " + pub("key"), allowed: true},
		"namespace":         {line: `ops namespaces="weft-plan" ` + pub("key"), allowed: true},
		"namespaces":        {line: `ops namespaces="git,weft-*" ` + pub("key"), allowed: true},
		"another namespace": {line: `ops namespaces="git" ` + pub("key")},
		"not it":            {line: `ops namespaces="*,!weft-plan" ` + pub("key")},
		"word of options":   {line: `ops NAMESPACES="weft-plan",valid-after="20200101" ` + pub("key"), allowed: true},
		"after":             {line: `ops valid-after="20990101" ` + pub("key")},
		"before":            {line: `ops valid-before="20200101Z" ` + pub("key")},
		"between":           {line: `ops valid-after="202001010000Z",valid-before="20990101000000" ` + pub("key"), allowed: true},
		"odd time":          {line: `ops valid-after="tomorrow" ` + pub("key")},
		"unknown option":    {line: `ops no-pty ` + pub("key")},
		"no key":            {line: "ops"},
		"authority":         {line: "ops cert-authority " + pub("ca"), cert: certify("ca", "1", "ops", valid), allowed: true},
		"key, not cert":     {line: "ops cert-authority " + pub("ca")},
		"own key":           {line: "ops cert-authority " + pub("key")},
		"no authority":      {line: "ops " + pub("ca"), cert: certify("ca", "2", "ops", valid)},
		"another authority": {line: "ops cert-authority " + pub("ca2"), cert: certify("ca", "3", "ops", valid)},
		"expired":           {line: "ops cert-authority " + pub("ca"), cert: certify("ca", "4", "ops", expired)},
		"another principal": {line: "ops cert-authority " + pub("ca"), cert: certify("ca", "5", "dev", valid)},
		"one of them":       {line: "o*s cert-authority " + pub("ca"), cert: certify("ca", "6", "dev,ops", valid), allowed: true},
		"certificate's key": {line: "ops " + pub("key"), cert: certify("ca", "7", "ops", valid)},
	} {
		t.Run(name, func(t *testing.T) {
			var cert *ssh.Certificate
			if c.cert != nil {
				k, _, _, _, err := ssh.ParseAuthorizedKey(c.cert)
				if err != nil {
					t.Fatal(err)
				}
				cert = k.(*ssh.Certificate)
			}
			sig, err := Sign(key, cert, plan, text)
			if err != nil {
				t.Fatal(err)
			}
			by, err := Verify(sig, text, plan)
			if err != nil {
				t.Fatal(err)
			}
			signers, err := ReadSigners("allowed", []byte(c.line), time.Local)
			if err == nil {
				_, err = signers.Allow(by, plan, time.Now())
			}
			if (err == nil) != c.allowed {
				t.Errorf("weft: %v", err)
			}
			here := t.TempDir()
			write(t, []byte(c.line+"\n"), here, "allowed")
			write(t, sig, here, "sig")
			out, ok := keygen(t, here, text, "-Y", "verify", "-f", "allowed", "-I", "ops", "-n", plan, "-s", "sig")
			if ok != c.allowed {
				t.Errorf("ssh-keygen: %s", out)
			}
		})
	}
}

func FuzzVerify(f *testing.F) {
	f.Add([]byte("-----BEGIN SSH SIGNATURE-----\nU1NIU0lH\n-----END SSH SIGNATURE-----\n"))
	f.Fuzz(func(t *testing.T, sig []byte) {
		if key, err := Verify(sig, []byte("text"), plan); err == nil && key == nil {
			t.Error("nobody has signed")
		}
	})
}

func FuzzReadSigners(f *testing.F) {
	f.Add([]byte(`a,b namespaces="x",valid-after="20200101" ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4`))
	f.Fuzz(func(t *testing.T, text []byte) {
		list, err := ReadSigners("f", text, time.UTC)
		for _, s := range list {
			if err == nil && (s.key == nil || s.principals == "") {
				t.Errorf("line %d allows nobody in particular", s.line)
			}
		}
	})
}
