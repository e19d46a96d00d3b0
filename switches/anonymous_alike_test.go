package switches_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/switches"
	"weft/switches/systems"
)

// What weft reads of a text of a real switch is the same without names, and none of the names
// and serial numbers is left.
func TestAnonymousReadsAlike(t *testing.T) {
	require.Transcript(t, "SOURCES.md")
	folders := map[string]string{"nxos": "cisco_nxos", "comware": "hp_comware"}
	read := 0
	for _, o := range systems.All() {
		if folders[o.Name] == "" || o.Lacks(switches.Recording) != nil {
			continue
		}
		root := filepath.Join("..", "..", "shared", "transcripts", folders[o.Name])
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			folder := filepath.Base(filepath.Dir(path))
			for _, line := range append(o.Show, o.Neighbours.Line) {
				if words := strings.ReplaceAll(line, " ", "_"); folder == words || line == o.Dialect.Running && strings.HasPrefix(folder, words) {
					read++
					alike(t, o, line, path, string(text))
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if read < 50 {
		t.Errorf("only %d texts were compared", read)
	}
}

// alike compares what is read of a text with what is read of it without names.
func alike(t *testing.T, o *switches.OS, line, path, text string) {
	t.Helper()
	clean := switches.Redact(text)
	without := switches.Anonymized(o, clean)
	if line == o.Neighbours.Line {
		heard, again := o.Neighbours.Heard(clean), o.Neighbours.Heard(without)
		if len(heard) != len(again) {
			t.Errorf("%s: %d neighbours, without names %d", path, len(heard), len(again))
			return
		}
		for i, n := range heard {
			if is := again[i]; is.Port != n.Port || is.Bridge != n.Bridge || is.PFC != n.PFC || (is.System == "") != (n.System == "") || (is.Chassis == "") != (n.Chassis == "") {
				t.Errorf("%s: neighbour %+v, without names %+v", path, n, is)
			}
		}
		return
	}
	have, err := o.Parse(map[string]string{line: clean})
	got, late := o.Parse(map[string]string{line: without})
	if (err == nil) != (late == nil) {
		t.Errorf("%s: error %v, without names %v", path, err, late)
		return
	}
	for _, told := range []string{have.Facts.Hostname, have.Facts.Serial} {
		if len(told) > 2 && told != "REDACTED" && strings.Contains(without, told) {
			t.Errorf("%s: %q is left", path, told)
		}
	}
	have.Facts.Hostname, have.Facts.Serial, got.Facts.Hostname, got.Facts.Serial = "", "", "", ""
	if have.Facts != got.Facts || !reflect.DeepEqual(have.Ports, got.Ports) || have.Watchdog != got.Watchdog || have.LLDP != got.LLDP ||
		len(have.NotUnderstood) != len(got.NotUnderstood) || len(have.Text().Notes()) != len(got.Text().Notes()) {
		t.Errorf("%s: it reads\n%+v\nwithout names\n%+v", path, have, got)
	}
}
