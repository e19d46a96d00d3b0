package switches_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"weft/switches"
	"weft/switches/systems"

	"golang.org/x/tools/txtar"
)

// What is recorded of a switch is a case that holds, and holds no secret.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for _, d := range systems.All() {
		if d.Lacks(switches.Recording) != nil {
			continue
		}
		files, err := filepath.Glob(filepath.Join("testdata", d.Name, "*.txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			t.Run(d.Name+"/"+filepath.Base(file), func(t *testing.T) { testRecorded(t, d, file) })
		}
	}
}

// tellsLess compares a record with one that tells less: what is sent is the same.
func tellsLess(t *testing.T, d *switches.OS, out map[string]string, want switches.Intent, open string) {
	t.Helper()
	text, err := switches.Recorded(d, d.Show, out, want, switches.Discretion{Secrets: []string{"Kn0wn"}, Anonymous: true})
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(text, "\n")
	if !strings.Contains(head, "in the place of") || strings.Contains(text, "192.0.2.1 traps") {
		t.Errorf("what was replaced: %s", head)
	}
	lines := func(text string) string {
		for _, f := range txtar.Parse([]byte(text)).Files {
			if f.Name == "lines" {
				return string(f.Data)
			}
		}
		return ""
	}
	if got, wanted := lines(text), lines(open); !sameButNames(got, wanted) {
		t.Errorf("without names it sends\n%s\nwith names\n%s", got, wanted)
	}
}

// sameButNames reports whether two texts differ in nothing but names, each of which has one
// other.
func sameButNames(a, b string) bool {
	to, from := map[string]string{}, map[string]string{}
	one, two := strings.Fields(a), strings.Fields(b)
	if len(one) != len(two) {
		return false
	}
	for i := range one {
		if is, ok := to[one[i]]; ok && is != two[i] {
			return false
		}
		if is, ok := from[two[i]]; ok && is != one[i] {
			return false
		}
		to[one[i]], from[two[i]] = two[i], one[i]
	}
	return true
}

func testRecorded(t *testing.T, d *switches.OS, file string) {
	ar, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	section := map[string]string{}
	for _, f := range ar.Files {
		section[f.Name] = string(f.Data)
	}
	want := parseWish(t, section["want"])
	out := map[string]string{}
	for _, line := range d.Show {
		out[line] = section[line]
	}
	running := d.Dialect.Running
	secret := map[string]string{
		"nxos":    "snmp-server community S1lence group network-operator\nsnmp-server host 192.0.2.1 traps version 2c S1lence\nbanner motd ^login Kn0wn^\n-- not a section --\n",
		"comware": " snmp-agent community read S1lence\n#\n header motd login Kn0wn\n-- not a section --\n#\n",
	}[d.Name]
	out[running] = secret + out[running]
	text, err := switches.Recorded(d, d.Show, out, want, switches.Discretion{Secrets: []string{"Kn0wn"}})
	if err != nil {
		t.Fatal(err)
	}
	tellsLess(t, d, out, want, text)
	if strings.Contains(text, "S1lence") || strings.Contains(text, "Kn0wn") {
		t.Error("a secret is in the case")
	}
	again := txtar.Parse([]byte(text))
	for _, f := range again.Files {
		if f.Name == "want" && !reflect.DeepEqual(parseWish(t, string(f.Data)), want) {
			t.Errorf("the wish reads back as\n%s", f.Data)
		}
		if is := string(f.Data); (f.Name == "lines" || f.Name == "undo") && section[f.Name] != is {
			t.Errorf("%s:\n%s\nwant:\n%s", f.Name, is, section[f.Name])
		}
	}
	copied := filepath.Join(t.TempDir(), "recorded.txtar")
	if err := os.WriteFile(copied, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if !*update {
		runCase(t, d, copied)
	}
}
