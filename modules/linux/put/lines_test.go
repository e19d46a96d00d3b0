package put

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"weft/internal/agent"
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
		if text, err := ModprobeOptions(name, options); err == nil {
			want := []string{"options", name}
			for _, k := range slices.Sorted(maps.Keys(options)) {
				want = append(want, k+"="+options[k])
			}
			if lines := entriesOf(text); len(lines) != 1 || !slices.Equal(wordsOf(lines[0]), want) {
				t.Errorf("modprobe.d: %q of %q", text, want)
			}
		}
		if text, err := ModulesLoad(name); err == nil && !slices.Equal(entriesOf(text), []string{name}) {
			t.Errorf("modules-load.d: %q of %q", text, name)
		}
		if text, err := SysctlSetting(name, value1); err == nil {
			lines := entriesOf(text)
			if len(lines) != 1 {
				t.Fatalf("sysctl.d: %q of %q and %q", text, name, value1)
			}
			k, v, _ := strings.Cut(lines[0], "=")
			if strings.TrimSpace(k) != name || strings.TrimSpace(v) != value1 {
				t.Errorf("sysctl.d: %q of %q and %q", text, name, value1)
			}
		}
		if text, err := LockedMemory([]string{name, key1}); err == nil {
			want := []string{name + " - memlock unlimited", key1 + " - memlock unlimited"}
			if !slices.Equal(entriesOf(text), want) || len(strings.Fields(name)) != 1 {
				t.Errorf("limits.d: %q of %q", text, want)
			}
		}
		if text, err := UdevRule(name, []Property{{key1, value1}}, Property{key2, value2}); err == nil {
			want := []string{`ENV{` + key1 + `}=="` + value1 + `"`, `ENV{` + key2 + `}="` + value2 + `"`}
			lines := entriesOf(text)
			if len(lines) != 1 || !slices.Equal(strings.Split(lines[0], ", "), want) || strings.Count(lines[0], `"`) != 4 {
				t.Errorf("udev: %q of %q", text, want)
			}
		}
		if text, err := UnitText(UnitPart{name, [][2]string{{key1, value1}, {key2, value2}}}); err == nil {
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
