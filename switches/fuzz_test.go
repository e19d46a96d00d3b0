package switches

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/txtar"
)

// fuzzParse reads anything as the output of every command. Whatever it is, it
// is a configuration, and from it to itself nothing is sent.
func fuzzParse(f *testing.F, d Driver, dir string) {
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
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
		for _, cmd := range d.Show(want) {
			out[cmd] = text
		}
		c, err := d.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		have := c.For(want)
		if lines, err := d.Render(have, have); err != nil || len(lines) > 0 {
			t.Errorf("from itself to itself: %v %q", err, lines)
		}
		lines, err := d.Render(have, want)
		if err != nil {
			return
		}
		if _, err := d.Render(want, have); err != nil {
			t.Errorf("there is no way back from %q: %v", lines, err)
		}
	})
}

func FuzzParseNXOS(f *testing.F) { fuzzParse(f, NXOS(), "nxos") }

func FuzzParseComware(f *testing.F) { fuzzParse(f, Comware(), "comware") }
