package leaf_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"weft/internal/hint"
	"weft/internal/lab/simswitch"
	"weft/switches"
	"weft/switches/systems"
)

// A line of a text that is equal to the prompt of the switch ends an answer early. That is
// found out, however the text arrives and whichever command is asked last: what follows the
// line never passes for the answer of the next command, and what precedes it for a whole one.
func TestOwnPrompt(t *testing.T) {
	t.Parallel()
	eachOSOverSockets(t, func(t *testing.T, os string) {
		system := systems.Named(os)
		prompt := map[string]string{"nxos": "leaf#", "comware": "<leaf>"}[os]
		banner := map[string]string{"nxos": "banner motd ^\nours\n", "comware": "header motd %\nours\n"}[os] + prompt + "\nkeep out\n" + map[string]string{"nxos": "^\n", "comware": "%\n"}[os]
		running, version := system.Dialect.Running, system.Show[0]
		for how, crumbs := range map[string]bool{"line by line": true, "at once": false} {
			open := func() (*rig, *switches.Session) {
				l := newRigOf(t, simswitch.Spec{OS: os, Hostname: "leaf", Serial: "FDO1", Motd: prompt + "\nkeep out\n"})
				l.crumbs = crumbs
				s, err := switches.Open(t.Context(), "leaf", system, l.dial, time.Minute)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				return l, s
			}
			found := func(what, quoted string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), `equal to the prompt "`+prompt+`"`) || !strings.Contains(err.Error(), quoted) || hint.Of(err) == "" {
					t.Errorf("%s: %s: %v", how, what, err)
				}
			}
			_, s := open()
			out, err := s.Show(t.Context(), system.Show)
			if err != nil || !strings.Contains(out[running], "interface") {
				t.Errorf("%s: such a line before the first prompt: %v\n%s", how, err, out[running])
			}
			l, s := open()
			l.sw.Hostile(regexp.MustCompile("^"+running+"$"), banner+l.sw.RunningConfig())
			for _, commands := range [][]string{{running}, {running, version}, {version, running}, {version}} {
				out, err := s.Show(t.Context(), commands)
				if commands[len(commands)-1] != version || len(commands) > 1 {
					found("in a banner of the configuration, "+strings.Join(commands, ", "), `then came "REDACTED"`, err)
				} else if err != nil || strings.Contains(out[version], "keep out") {
					t.Errorf("%s: what comes after it: %v\n%s", how, err, out[version])
				}
			}
			l.sw.Hostile(regexp.MustCompile("mac"), "one\n"+prompt+"\nkeep out")
			_, err = s.Stations(t.Context())
			found("in what a command shows", "keep out", err)
			l.sw.Hostile(nil, "")
			if list, err := s.Stations(t.Context()); err != nil || len(list) > 0 {
				t.Errorf("%s: after it: %v, %v", how, list, err)
			}
			l.sw.Hostile(regexp.MustCompile("statistics|queuing"), "one\n"+prompt+"\nkeep out")
			_, err = s.Counters(t.Context(), []string{l.ports + "1"})
			found("in what is asked of a port", "keep out", err)
		}
	})
}

// The error about an answer that goes on after the prompt quotes no secret: neither one that
// its own line announces, nor a line of a banner or of a key that began before the prompt.
func TestOwnPromptHidesSecrets(t *testing.T) {
	t.Parallel()
	eachOSOverSockets(t, func(t *testing.T, os string) {
		system := systems.Named(os)
		prompt := map[string]string{"nxos": "leaf#", "comware": "<leaf>"}[os]
		running, version := system.Dialect.Running, system.Show[0]
		for what, c := range map[string]struct{ before, after string }{
			"a community":          {"", map[string]string{"nxos": "snmp-server community winter2026 ro", "comware": " snmp-agent community read simple winter2026"}[os]},
			"a user":               {"", map[string]string{"nxos": "username ops password 5 winter2026", "comware": " password simple winter2026"}[os]},
			"a banner":             {map[string]string{"nxos": "banner motd ^\nours\n", "comware": "header motd %\nours\n"}[os], "call 555-winter2026\n" + map[string]string{"nxos": "^", "comware": "%"}[os]},
			"a banner that is cut": {map[string]string{"nxos": "banner motd ^\nours\n", "comware": "header motd %\nours\n"}[os], "call 555-winter2026"},
			"a private key":        {"-----BEGIN RSA PRIVATE KEY-----\n", "MIIEwinter2026AAAA"},
		} {
			l := newRigOf(t, simswitch.Spec{OS: os, Hostname: "leaf", Serial: "FDO1"})
			s, err := switches.Open(t.Context(), "leaf", system, l.dial, time.Minute)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
			l.sw.Hostile(regexp.MustCompile("^"+running+"$"), c.before+prompt+"\n"+c.after+"\n")
			for _, commands := range [][]string{{running}, {running, version}} {
				_, err := s.Show(t.Context(), commands)
				if err == nil || strings.Contains(err.Error(), "winter2026") || !strings.Contains(err.Error(), "REDACTED") {
					t.Errorf("%s, %v: %v", what, commands, err)
				}
			}
		}
	})
}
