package switches_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"

	"golang.org/x/tools/txtar"
)

// fuzzParse reads anything as the output of every command. Whatever it is, it
// is a configuration, and from it to itself nothing is sent.
func fuzzParse(f *testing.F, d *switches.OS) {
	files, err := filepath.Glob(filepath.Join("testdata", d.Name, "*.txtar"))
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		ar, err := txtar.ParseFile(file)
		if err != nil {
			f.Fatal(err)
		}
		all := ""
		for _, s := range ar.Files {
			all += string(s.Data)
		}
		f.Add(all)
	}
	want := wishFor("Ethernet1/1", "HundredGigE1/0/1")
	f.Fuzz(func(t *testing.T, text string) {
		out := map[string]string{}
		for _, cmd := range d.Show {
			out[cmd] = text
		}
		c, err := d.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		have := c.For(want)
		if lines, err := switches.Render(d, have, have); err != nil || len(lines) > 0 {
			t.Errorf("from itself to itself: %v %q", err, lines)
		}
		lines, err := switches.Render(d, have, want)
		if err != nil {
			return
		}
		if _, err := switches.Render(d, want, have); err != nil {
			t.Errorf("there is no way back from %q: %v", lines, err)
		}
	})
}

func FuzzParseNXOS(f *testing.F) { fuzzParse(f, nxos.OS()) }

func FuzzParseComware(f *testing.F) { fuzzParse(f, comware.OS()) }

// fuzzLine puts a line, whatever it is, into a configuration, at each kind of
// place in turn: it is understood, or shown, or about something else.
func fuzzLine(f *testing.F, d *switches.OS) {
	ar, err := txtar.ParseFile(filepath.Join("testdata", "whole", d.Name+".txtar"))
	if err != nil {
		f.Fatal(err)
	}
	running := strings.Split(strings.TrimSuffix(string(ar.Files[0].Data), "\n"), "\n")
	for i, line := range running {
		f.Add(line, i)
	}
	for _, line := range []string{
		"priority-flow-control mode on off", "priority-flow-control watch-dog-interval on later", "pause pfc-cos 3 twice", "match dscp 26,none",
		"service-policy type qos output X", "set qos-group", "mtu jumbo", "system jumbomtu", "system jumbomtu 9", "policy-map type psp X", "lldp", "buffer", "qos wfq be",
		"qos trust", "priority-flow-control", "import 3 export", "queue 3 ecn often", "jumboframe enable much", "random-detect ecn", "interface Ethernet",
	} {
		for i := 0; i < len(running); i += 9 {
			f.Add(line, i)
		}
	}
	f.Fuzz(func(t *testing.T, line string, at int) {
		line = strings.Join(strings.Fields(line), " ")
		if line == "" || line[0] == '!' || line[0] == '#' || switches.BannerLength([]string{line}) > 0 || strings.ContainsFunc(line, unicode.IsControl) {
			t.Skip("no line of its own")
		}
		at = max(at, 0) % len(running)
		if switches.BannerLength(running[max(0, at-2):]) > 0 || switches.BannerLength(running[max(0, at-1):]) > 0 || switches.BannerLength(running[at:]) > 0 {
			t.Skip("into free text")
		}
		indent := running[at][:len(running[at])-len(strings.TrimLeft(running[at], " "))]
		text := strings.Join(slices.Insert(slices.Clone(running), at, indent+line), "\n")
		if lost, _ := dropped(t, d, text); len(lost) > 0 {
			t.Errorf("neither understood nor shown: %q", lost)
		}
	})
}

func FuzzLineNXOS(f *testing.F) { fuzzLine(f, nxos.OS()) }

func FuzzLineComware(f *testing.F) { fuzzLine(f, comware.OS()) }
