//go:build unix

package remote

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"weft/internal/hint"
)

// sysfs writes a file tree with one PATH = CONTENT a line; PATH -> TARGET is a link.
func sysfs(t *testing.T, text string) string {
	t.Helper()
	dir := t.TempDir()
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if path, target, link := strings.Cut(line, " -> "); link {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
			must(t, os.Symlink(target, filepath.Join(dir, path)))
		} else if path, content, ok := strings.Cut(line, " = "); ok {
			must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o755))
			must(t, os.WriteFile(filepath.Join(dir, path), []byte(content+"\n"), 0o644))
		}
	}
	return dir
}

// An interface is that of the port that a place names, whatever comes first in the folder.
func TestPortOfFunction(t *testing.T) {
	const two = `
0000:41:00.0/net/eth2/dev_port = 0
0000:41:00.0/net/eth2/address = 02:00:00:00:00:02
0000:41:00.0/net/eth3/dev_port = 1
0000:41:00.0/net/eth3/address = 02:00:00:00:00:03
`
	const bonded = two + `
0000:41:00.0/net/eth2/bonding_slave/perm_hwaddr = 02:00:00:00:00:12
0000:41:00.0/net/eth3/bonding_slave/perm_hwaddr = 02:00:00:00:00:13
`
	for name, test := range map[string]struct {
		files, place string
		want         string // interface
		says, hint   []string
	}{
		"only one": {files: "0000:41:00.0/net/eth0/address = 02:00:00:00:00:01", want: "eth0"},
		"representor first": {files: `
0000:41:00.0/net/enp65s0f0_0/phys_port_name = pf0vf0
0000:41:00.0/net/enp65s0f0np0/phys_port_name = p0`, want: "enp65s0f0np0"},
		"representor of a sub-function": {files: `
0000:41:00.0/net/en3f0pf0sf1/phys_port_name = pf0sf1
0000:41:00.0/net/p0/phys_port_name = p0
0000:41:00.0/net/pf0hpf/phys_port_name = c1pf0`, want: "p0"},
		"numbered representor": {files: `
0000:41:00.0/net/eth0/phys_port_name = 0
0000:41:00.0/net/eth0/phys_switch_id = 0c42a1
0000:41:00.0/net/eth9/phys_switch_id = 0c42a1`, want: "eth9"},
		"split port":        {files: "0000:41:00.0/net/swp1s0/phys_port_name = p1s0", want: "swp1s0"},
		"only representors": {files: "0000:41:00.0/net/eth0/phys_port_name = pf0vf0", says: []string{"only representors: eth0"}},
		"partition of InfiniBand": {files: `
0000:41:00.0/net/ib0.8001/ifindex = 9
0000:41:00.0/net/ib0.8001/iflink = 4
0000:41:00.0/net/ib1/ifindex = 4
0000:41:00.0/net/ib1/iflink = 4`, want: "ib1"},
		"two ports": {files: two,
			says: []string{"several ports", "eth2 (port 0, MAC 02:00:00:00:00:02)", "eth3 (port 1, MAC 02:00:00:00:00:03)"},
			hint: []string{`match = { mac = "02:00:00:00:00:02" } or match = { pci = "0000:41:00.0", port = 0 } for eth2`,
				`match = { mac = "02:00:00:00:00:03" } or match = { pci = "0000:41:00.0", port = 1 } for eth3`}},
		"two ports of one number": {files: strings.ReplaceAll(two, "dev_port = 1", "dev_port = 0"),
			says: []string{"several ports", "eth2", "eth3"}, hint: []string{`match = { mac = "02:00:00:00:00:02" } for eth2`}},
		"by number":      {files: two, place: "0000:41:00.0@1", want: "eth3"},
		"by MAC":         {files: two, place: "@02:00:00:00:00:03", want: "eth3"},
		"by MAC of both": {files: two, place: "0000:41:00.0@02:00:00:00:00:02", want: "eth2"},
		"by MAC in a bond, its own": {files: strings.ReplaceAll(bonded, "address = 02:00:00:00:00:03", "address = 02:00:00:00:00:02"),
			place: "@02:00:00:00:00:13", want: "eth3"},
		"number in the name": {files: `
0000:41:00.0/net/eth2/phys_port_name = p0
0000:41:00.0/net/eth2/dev_port = 0
0000:41:00.0/net/eth3/phys_port_name = p1
0000:41:00.0/net/eth3/dev_port = 0`, place: "0000:41:00.0@1", want: "eth3"},
		"no such number": {files: two, place: "0000:41:00.0@7", says: []string{"no port 7", "eth2", "eth3"}},
		"no such MAC":    {files: two, place: "@02:00:00:00:00:99", says: []string{"MAC address 02:00:00:00:00:99"}},
		"virtual function": {files: `
0000:41:00.2/physfn -> ../0000:41:00.0
0000:41:00.2/net/eth5/address = 02:00:00:00:00:05`, place: "0000:41:00.2",
			says: []string{"eth5, of a virtual function of 0000:41:00.0", "not managed"}, hint: []string{`match = { pci = "0000:41:00.0" }`}},
		"MAC of a virtual function": {files: `
0000:41:00.2/physfn -> ../0000:41:00.0
0000:41:00.2/net/eth5/address = 02:00:00:00:00:05`, place: "@02:00:00:00:00:05", says: []string{"of a virtual function of 0000:41:00.0"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := sysfs(t, test.files)
			if test.place == "" {
				test.place = "0000:41:00.0"
			}
			look := Look{PCI: test.place, Args: []string{"echo", "{if}"}}
			script := strings.ReplaceAll(Script([]Look{look}), "/sys/bus/pci/devices/", dir+"/")
			if i, err := Choose(test.place, interfacesOf(t, dir, test.place)); i.Name != test.want || (err == nil) != (test.want != "") {
				t.Errorf("chosen %q, %v; want %q", i.Name, err, test.want)
			}
			for shell, run := range shells(t) {
				seen, err := parse("weft-1", []Look{look}, run(script, "weft-1"))
				if err != nil {
					t.Fatalf("%s: %v", shell, err)
				}
				got, err := seen.Interface(test.place)
				if got != test.want || test.want != "" && seen.Of(look).Text() != test.want {
					t.Errorf("%s: %q, %v; want %q", shell, got, err, test.want)
				}
				for _, says := range test.says {
					if err == nil || !strings.Contains(err.Error(), says) {
						t.Errorf("%s: %v; want %q", shell, err, says)
					}
				}
				for _, text := range test.hint {
					if !strings.Contains(hint.Of(err), text) {
						t.Errorf("%s: %q; want %q", shell, hint.Of(err), text)
					}
				}
				if many := len(test.says) > 0 && strings.HasPrefix(test.says[0], "several"); test.want == "" && errors.Is(err, fs.ErrNotExist) == many {
					t.Errorf("%s: %v is fs.ErrNotExist: %t", shell, err, !many)
				}
			}
		})
	}
}

// interfacesOf reads the interfaces of a place.
func interfacesOf(t *testing.T, dir, place string) (list []Interface) {
	t.Helper()
	function, by, _ := strings.Cut(place, "@")
	folders, err := filepath.Glob(filepath.Join(dir, cmp.Or(function, "*"), "net/*"))
	must(t, err)
	for _, folder := range folders {
		files := map[string]string{}
		for name := range strings.FieldsSeq(InterfaceFiles) {
			text, _ := os.ReadFile(filepath.Join(folder, name))
			files[name] = strings.TrimSpace(string(text))
		}
		target, _ := os.Readlink(filepath.Join(folder, "../../physfn"))
		physfn := ""
		if target != "" {
			physfn = filepath.Base(target)
		}
		if i := InterfaceOf(filepath.Base(folder), files, physfn); function != "" || i.MAC == by {
			list = append(list, i)
		}
	}
	return list
}
