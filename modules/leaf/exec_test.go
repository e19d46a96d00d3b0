package leaf

import (
	"strings"
	"testing"
)

func TestOnlyShows(t *testing.T) {
	for _, test := range []struct {
		verb, line string
		ok         bool
	}{
		{"show", "show version", true},
		{"show", "show interface Ethernet1/1 | include rate", true},
		{"show", "show running-config | section policy-map | no-more", true},
		{"show", "show queuing interface ethernet 1/1 | json", true},
		{"display", "display qos policy interface", true},
		{"display", "display current-configuration | include \"dscp 26\"", true},

		{"show", "", false},
		{"show", "show", false},
		{"show", "sh version", false}, // which may be the start of shutdown
		{"show", "showversion", false},
		{"show", "display version", false},
		{"display", "show version", false},
		{"", "show version", false}, // an OS without a verb
		{"show", "configure terminal", false},
		{"show", "reload", false},
		{"show", "show version ; reload", false},
		{"show", "show version\nreload", false},
		{"show", "show version\rreload", false},
		{"show", "show version > bootflash:x", false},
		{"display", "display version >> flash:/x", false},
		{"show", "show version | tee bootflash:x", false},
		{"show", "show version | redirect bootflash:x", false},
		{"show", "show version | vsh", false},
		{"show", "show version | sed w/x", false},
		{"show", "show version | awk 'BEGIN{system(1)}'", false},
		{"show", "show version | email a@example.net", false},
		{"show", "show version |", false},
		{"show", "show version | include a | tee x", false},
		{"show", "show version | include $(SWITCHNAME)", false},
		{"show", "show ?", false},
		{"show", "show v\u00e9rsion", false},
		{"show", "show \x15reload", false},
	} {
		if err := onlyShows(test.verb, test.line); (err == nil) != test.ok {
			t.Errorf("%s: %q: %v", test.verb, test.line, err)
		}
	}
}

// FuzzOnlyShows: what passes is one command, and it begins with the verb.
func FuzzOnlyShows(f *testing.F) {
	f.Add("show version | include x")
	f.Add("show a;b")
	f.Fuzz(func(t *testing.T, line string) {
		if onlyShows("show", line) != nil {
			return
		}
		if !strings.HasPrefix(strings.TrimLeft(line, " "), "show ") || strings.ContainsAny(line, ";>\r\n\x00") {
			t.Errorf("%q passes", line)
		}
	})
}
