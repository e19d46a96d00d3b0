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
			found := func(what string, err error) {
				t.Helper()
				if err == nil || !strings.Contains(err.Error(), `equal to the prompt "`+prompt+`"`) || !strings.Contains(err.Error(), "keep out") || hint.Of(err) == "" {
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
					found("in a banner of the configuration, "+strings.Join(commands, ", "), err)
				} else if err != nil || strings.Contains(out[version], "keep out") {
					t.Errorf("%s: what comes after it: %v\n%s", how, err, out[version])
				}
			}
			l.sw.Hostile(regexp.MustCompile("mac"), "one\n"+prompt+"\nkeep out")
			_, err = s.Stations(t.Context())
			found("in what a command shows", err)
			l.sw.Hostile(nil, "")
			if list, err := s.Stations(t.Context()); err != nil || len(list) > 0 {
				t.Errorf("%s: after it: %v, %v", how, list, err)
			}
			l.sw.Hostile(regexp.MustCompile("statistics|queuing"), "one\n"+prompt+"\nkeep out")
			_, err = s.Counters(t.Context(), []string{l.ports + "1"})
			found("in what is asked of a port", err)
		}
	})
}
