package simswitch

import "testing"

// Each ailment changes the display of what it is about, and no other; made well again a
// switch shows what it showed before.
func TestAil(t *testing.T) {
	for name, c := range map[string]struct {
		sw          *Switch
		quiet, sign string
		port        string
		shown       map[string]string // by ailment
	}{
		"nxos": {leaf(), "terminal length 0", "leaf-a# ", "Ethernet1/2", map[string]string{"supply": "show environment", "fan": "show environment", "warm": "show environment",
			"module": "show module", "log": "show logging level", "optic Ethernet1/2": "show interface transceiver details", "hot Ethernet1/2": "show interface transceiver details"}},
		"comware": {h3c(), "screen-length disable", "<leaf-b>", "HundredGigE1/0/2", map[string]string{"supply": "display power", "fan": "display fan", "warm": "display environment", "module": "display device",
			"optic HundredGigE1/0/2": "display transceiver diagnosis interface", "hot HundredGigE1/0/2": "display transceiver diagnosis interface"}},
	} {
		t.Run(name, func(t *testing.T) {
			term := login(t, start(t, c.sw), "netops", 24)
			term.until(c.sign)
			term.run(c.quiet, c.sign)
			all := func() map[string]string {
				out := map[string]string{}
				for _, line := range c.shown {
					out[line] = term.run(line, c.sign)
				}
				return out
			}
			well := all()
			for what, where := range c.shown {
				if err := c.sw.Ail(what); err != nil {
					t.Fatal(err)
				}
				for line, text := range all() {
					if (text == well[line]) != (line != where) {
						t.Errorf("%s: %s shows\n%s", what, line, text)
					}
				}
				if err := c.sw.Ail(""); err != nil {
					t.Fatal(err)
				}
			}
			for line, text := range all() {
				if text != well[line] {
					t.Errorf("well again, %s shows\n%s", line, text)
				}
			}
			for _, what := range []string{"rust", "optic", "fan " + c.port, "optic Ethernet9/9"} {
				if c.sw.Ail(what) == nil {
					t.Errorf("%q ails it", what)
				}
			}
		})
	}
}
