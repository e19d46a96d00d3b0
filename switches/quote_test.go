package switches

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A refusal holds no secret, whether the switch repeats the line or prints a part of its
// configuration.
func TestRefusedErrorHidesSecrets(t *testing.T) {
	for what, reply := range map[string]string{
		"the line":    "Syntax error while parsing 'username ops password 5 winter2026'",
		"a banner":    "% Invalid\nbanner motd ^\ncall winter2026\n",
		"a key":       "% Invalid\n-----BEGIN RSA PRIVATE KEY-----\nMIIEwinter2026\n",
		"a community": "snmp-agent community read cipher winter2026\n % Failed",
	} {
		err := NewRefusedError("snmp-server community winter2026 ro", reply)
		if strings.Contains(err.Error()+err.Line+err.Reply+briefRefusal(err), "winter2026") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := NewRefusedError("vlan 4000", "% Invalid value/range at '^' marker.\n"); err.Error() != `refused "vlan 4000": % Invalid value/range at '^' marker.` {
		t.Errorf("%v", err)
	}
}

// What a switch printed last stands in errors without its secrets.
func TestQuoteLast(t *testing.T) {
	for text, want := range map[string]string{
		"":                                               "",
		"a\n % Memory exhausted \r\n\r\n":                "% Memory exhausted",
		"banner motd ^\nwinter2026\n":                    redacted,
		"banner motd ^\nours\n^\nleaf#":                  "leaf#",
		"username a password winter2026":                 "username a password " + redacted,
		"-----BEGIN X-----\nwinter2026\n":                redacted,
		strings.Repeat("x ", 70) + "password winter2026": strings.Repeat("x ", 60),
	} {
		if got := quoteLast(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Only quote.go makes the error about a refused line, so that none quotes a secret.
func TestRefusedErrorMadeOnce(t *testing.T) {
	literal := regexp.MustCompile(`RefusedError\{[^}]`)
	for _, pattern := range []string{"*.go", "*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if file != "quote.go" && !strings.HasSuffix(file, "_test.go") && literal.Match(text) {
				t.Errorf("%s makes a RefusedError by itself: NewRefusedError redacts it", file)
			}
		}
	}
}
