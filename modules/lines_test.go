package modules

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"weft/internal/agent"
	"weft/internal/remote"
	"weft/plan"
)

// What follows reads lines as the programs do, and shares nothing with the
// writers: kmod's and systemd's join lines after a backslash, and so does udev.

// entriesOf are the lines of a text that are neither empty nor a comment.
func entriesOf(text string) (list []string) {
	for _, line := range strings.FieldsFunc(strings.ReplaceAll(text, "\\\n", " "), func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' && line[0] != ';' {
			list = append(list, line)
		}
	}
	return list
}

// wordsOf are the words of a line, of which one in quotes has spaces.
func wordsOf(line string) (words []string) {
	quoted, word := false, ""
	for _, r := range line + " " {
		switch {
		case r == '"':
			quoted = !quoted
			word += string(r)
		case (r == ' ' || r == '\t' || r == '\v' || r == '\f') && !quoted:
			if word != "" {
				words = append(words, word)
			}
			word = ""
		default:
			word += string(r)
		}
	}
	if quoted {
		return nil
	}
	return words
}

// Whatever goes in, a text holds exactly the entries that were given.
func FuzzLines(f *testing.F) {
	f.Add("nvmet", "a", "1\ninstall nvmet /bin/false", "b", "2")
	f.Add("nvme_core", "multipath", "Y", "x.y", `"a b"`)
	f.Add("net.core.rmem_max", "vg-1", "4096 87380 16777216", "lv\\", "1\\")
	f.Add("# x", "$(id)", `"; RUN+="/bin/x`, "=", "\u2028")
	f.Fuzz(func(t *testing.T, name, key1, value1, key2, value2 string) {
		options := map[string]string{key1: value1, key2: value2}
		if text, err := modprobeOptions(name, options); err == nil {
			want := []string{"options", name}
			for _, k := range slices.Sorted(maps.Keys(options)) {
				want = append(want, k+"="+options[k])
			}
			if lines := entriesOf(text); len(lines) != 1 || !slices.Equal(wordsOf(lines[0]), want) {
				t.Errorf("modprobe.d: %q of %q", text, want)
			}
		}
		if text, err := modulesLoad(name); err == nil && !slices.Equal(entriesOf(text), []string{name}) {
			t.Errorf("modules-load.d: %q of %q", text, name)
		}
		if text, err := sysctlSetting(name, value1); err == nil {
			lines := entriesOf(text)
			if len(lines) != 1 {
				t.Fatalf("sysctl.d: %q of %q and %q", text, name, value1)
			}
			k, v, _ := strings.Cut(lines[0], "=")
			if strings.TrimSpace(k) != name || strings.TrimSpace(v) != value1 {
				t.Errorf("sysctl.d: %q of %q and %q", text, name, value1)
			}
		}
		if text, err := lockedMemory([]string{name, key1}); err == nil {
			want := []string{name + " - memlock unlimited", key1 + " - memlock unlimited"}
			if !slices.Equal(entriesOf(text), want) || len(strings.Fields(name)) != 1 {
				t.Errorf("limits.d: %q of %q", text, want)
			}
		}
		if text, err := udevRule(name, []property{{key1, value1}}, property{key2, value2}); err == nil {
			want := []string{`ENV{` + key1 + `}=="` + value1 + `"`, `ENV{` + key2 + `}="` + value2 + `"`}
			lines := entriesOf(text)
			if len(lines) != 1 || !slices.Equal(strings.Split(lines[0], ", "), want) || strings.Count(lines[0], `"`) != 4 {
				t.Errorf("udev: %q of %q", text, want)
			}
		}
		if text, err := unitText(unitPart{name, [][2]string{{key1, value1}, {key2, value2}}}); err == nil {
			if want := []string{"[" + name + "]", key1 + "=" + value1, key2 + "=" + value2}; !slices.Equal(entriesOf(text), want) {
				t.Errorf("a unit: %q of %q", text, want)
			}
		}
		config := &agent.Target{Subsystems: []agent.Subsystem{{NQN: name, Serial: value1, AllowHosts: []string{key1, value2}}}}
		if text, err := config.Marshal(); err == nil {
			if back, err := agent.ParseTarget(text); err != nil || len(back.Subsystems) != 1 || back.Subsystems[0].NQN != name ||
				back.Subsystems[0].Serial != value1 || !slices.Equal(back.Subsystems[0].AllowHosts, []string{key1, value2}) {
				t.Errorf("target.toml: %q: %v", text, err)
			}
		}
	})
}

// A text that would be another line is refused where it is to be written, also
// if the files' own rules ever let it pass; and so is a name that leads elsewhere.
func TestUnwritable(t *testing.T) {
	d := &server{os: Linux()}
	refusal := func(r plan.Resource) error {
		no, _ := r.(onServer).parse(remote.Seen{}).(refused)
		return no.err
	}
	for _, c := range []struct {
		want plan.Resource
		says string
	}{
		{KernelModuleKind().Want(d, newKernelModule("nvmet", map[string]string{"a": "1\ninstall nvmet /bin/false"})), `value of a "1\ninstall`},
		{KernelModuleKind().Want(d, newKernelModule("nvmet", map[string]string{"a b": "1"})), `option "a b"`},
		{KernelModuleKind().Want(d, newKernelModule("nvmet\nx", nil)), "the module"},
		{SysctlKind().Want(d, newSysctl("vm.swappiness\nx", "1")), "the key"},
		{SysctlKind().Want(d, newSysctl("vm.swappiness", "1\x01x")), "the value"},
		{NVMeTHostKind().Want(d, &NVMeTHost{NQN: "nqn.2026-11.net.example:../../x"}), "no NQN"},
		{NVMeTSubsystemKind().Want(d, newNVMeTSubsystem("nqn.2026-11.net.example:a", "s", []string{"$(id)"})), "no NQN"},
		{NVMeTPortKind().Want(d, &NVMeTPort{Subsystems: []string{"nqn.2026-11.net.example:it's"}}), "no NQN"},
		{BootKind().Want(d, newBoot("o\nExecStart=/bin/x", "", nil, nil)), "cannot be written"},
	} {
		if err := refusal(c.want); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%T: %v, wanted %q", c.want, err, c.says)
		}
	}
	for _, good := range []interface{ unwritable() error }{newKernelModule("nvmet", map[string]string{"a": `"x y"`, "b": ""}), newSysctl("net.ipv4.tcp_rmem", "1 2\t3"), newBoot("o", bootStorage, nil, nil), newMemlock("o", "a\nb")} {
		if err := good.unwritable(); err != nil {
			t.Error(err)
		}
	}
}
