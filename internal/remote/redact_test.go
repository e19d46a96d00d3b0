package remote

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Errors about commands quote no secret: neither one of a known form, nor what the command
// was given on standard input.
func TestRedact(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a DH-HMAC-CHAP key":  {"bad key DHHC-1:00:c2VjcmV0c2VjcmV0:, refused", "bad key DHHC-1:REDACTED, refused"},
		"a TLS key":           {"'NVMeTLSkey-1:01:c2VjcmV0:' is short", "'NVMeTLSkey-1:REDACTED' is short"},
		"an option":           {"nqn=x,dhchap_secret=hunter22,keyring=1", "nqn=x,dhchap_secret=REDACTED,keyring=1"},
		"an argument":         {"exec: tool --password='a b c' --user=x", "exec: tool --password=REDACTED --user=x"},
		"an environment":      {"VC_API_TOKEN=abc failed", "VC_API_TOKEN=REDACTED failed"},
		"an address":          {"https://ops:hunter22@vc.example.net/sdk: EOF", "https://ops:REDACTED@vc.example.net/sdk: EOF"},
		"a private key":       {"-----BEGIN RSA PRIVATE KEY-----\nMIIE\nAAAA\n-----END RSA PRIVATE KEY-----\nx", "-----BEGIN RSA PRIVATE KEY-----REDACTED-----END RSA PRIVATE KEY-----\nx"},
		"a private key, cut":  {"-----BEGIN PRIVATE KEY-----\nMIIE\nAAAA", "-----BEGIN PRIVATE KEY-----REDACTED"},
		"a file of a secret":  {"open /etc/weft/dhchap_secret: permission denied", "open /etc/weft/dhchap_secret: permission denied"},
		"an ordinary message": {"sysctl: setting key \"net.core.rmem_max\": Invalid argument", "sysctl: setting key \"net.core.rmem_max\": Invalid argument"},
	} {
		if got := Redact(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// A repeater fails and prints what it was given.
type repeater struct{ Host }

func (repeater) Run(_ context.Context, cmd Cmd) (Output, error) {
	b := new(strings.Builder)
	if cmd.Stdin != nil {
		buf := make([]byte, 4096)
		n, _ := cmd.Stdin.Read(buf)
		b.Write(buf[:n])
	}
	out := Output{Stdout: []byte("got " + b.String()), Stderr: []byte("sh: " + b.String() + ": Invalid argument")}
	return out, &ExitError{Args: cmd.Args, Code: 1, Output: out}
}

func TestDoWithholdsSecret(t *testing.T) {
	err := Do(t.Context(), repeater{}, Step{Args: []string{"tee", "/dev/nvme-fabrics"}, Secret: []byte("nqn=nqn.x,key:winter2026\n")})
	var exit *ExitError
	if !errors.As(err, &exit) {
		t.Fatal(err)
	}
	for _, text := range []string{err.Error(), string(exit.Output.Stdout), string(exit.Output.Stderr)} {
		if strings.Contains(text, "winter2026") {
			t.Errorf("the error shows the secret: %s", text)
		}
	}
	if !strings.Contains(err.Error(), "Invalid argument") {
		t.Errorf("the error lost its cause: %v", err)
	}
}
