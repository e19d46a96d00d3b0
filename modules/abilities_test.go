package modules

import (
	"testing"

	"weft/modules/host"
	"weft/modules/leaf"
	"weft/plan"
)

// What a device cannot do is refused with its name.
func TestAbilities(t *testing.T) {
	for _, d := range []plan.Device{&host.Machine{}, &leaf.Device{}} {
		if _, ok := d.(plan.Leaser); !ok {
			t.Errorf("%T does not say who holds it", d)
		}
		if _, ok := d.(plan.Marker); !ok {
			t.Errorf("%T carries no marks", d)
		}
	}
	fleet := map[string]plan.Device{"server.a": &host.Machine{}, "switch.b": &leaf.Device{}}
	able := func(_ any, err error) string {
		if err != nil {
			return err.Error()
		}
		return ""
	}
	for _, c := range []struct{ of, got, want string }{
		{"commands of a server", able(plan.As[Commander](fleet, "server.a", "takes no commands")), ""},
		{"commands of a switch", able(plan.As[Commander](fleet, "switch.b", "takes no commands")), "switch.b takes no commands"},
		{"the terminal of a switch", able(plan.As[Terminal](fleet, "switch.b", "has no terminal")), ""},
		{"the terminal of a server", able(plan.As[Terminal](fleet, "server.a", "has no terminal")), "server.a has no terminal"},
		{"counters of a switch", able(plan.As[Counter](fleet, "switch.b", "has no ports that count")), ""},
		{"neighbours of a switch", able(plan.As[Listener](fleet, "switch.b", "hears nobody")), ""},
		{"a test case of a switch", able(plan.As[Recorder](fleet, "switch.b", "makes no test cases")), ""},
		{"a device that is not there", able(ReadFacts(t.Context(), fleet, "server.c")), "server.c tells no facts"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.of, c.got, c.want)
		}
	}
}
