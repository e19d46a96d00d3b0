package main

import (
	"fmt"
	"strings"
	"testing"

	"weft/internal/discover"
)

// Who logs in where: --user says it of all servers, of those of a system, of switches and of
// vCenters.
func TestUsers(t *testing.T) {
	for name, c := range map[string]struct {
		users users
		want  string
	}{
		"nobody":          {nil, " map[] switch  vcenter "},
		"one for all":     {users{"weft"}, "weft map[] switch  vcenter "},
		"one each":        {users{"weft", "esxi=root", "windows=Administrator", "switch=netops", "vcenter=a@b.local"}, "weft map[esxi:root windows:Administrator] switch netops vcenter a@b.local"},
		"no such system":  {users{"solaris=x"}, `error: there is no system "solaris"`},
		"nobody's name":   {users{"esxi="}, "error: --user"},
		"no name at all":  {users{"-oProxyCommand=x"}, `error: there is no system "-oProxyCommand"`},
		"an option":       {users{"linux=-oProxyCommand"}, "error: --user"},
		"the last counts": {users{"esxi=a", "esxi=b"}, " map[esxi:b] switch  vcenter "},
	} {
		t.Run(name, func(t *testing.T) {
			var l discover.Login
			err := c.users.into(&l)
			if words, fails := strings.CutPrefix(c.want, "error: "); fails {
				if err == nil || !strings.Contains(err.Error(), words) {
					t.Errorf("%v, want %s", err, words)
				}
				return
			}
			if got := fmt.Sprint(l.User, " ", l.Users, " switch ", l.SwitchUser, " vcenter ", l.VCenterUser); err != nil || got != c.want {
				t.Errorf("%q %v, want %q", got, err, c.want)
			}
		})
	}
}

// A vCenter is named with its port, and with its certificate.
func TestCenters(t *testing.T) {
	sum := strings.Repeat("0A:", 31) + "0A"
	for text, want := range map[string]string{
		"vc.example.net":                "{vc.example.net 443 }",
		"vc.example.net:8443=" + sum:    "{vc.example.net 8443 " + strings.Repeat("0a", 32) + "}",
		"2001:db8::1":                   "{2001:db8::1 443 }",
		"[2001:db8::1]:8443":            "{2001:db8::1 8443 }",
		"vc.example.net:0":              `error: "0" is no port`,
		"-oProxyCommand":                "error: --vcenter",
		"vc.example.net=0a":             "error: no SHA-256",
		"vc.example.net,vc.example.net": "error: --vcenter",
	} {
		list, err := (&discoverFlags{vcenters: []string{text}}).centers()
		if words, fails := strings.CutPrefix(want, "error: "); fails {
			if err == nil || !strings.Contains(err.Error(), words) {
				t.Errorf("%s: %v, want %s", text, err, words)
			}
		} else if err != nil || len(list) != 1 || fmt.Sprintf("{%s %d %s}", list[0].Host, list[0].Port, list[0].SHA256) != want {
			t.Errorf("%s: %v %v, want %s", text, list, err, want)
		}
	}
}
