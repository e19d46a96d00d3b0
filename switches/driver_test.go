package switches_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weft/internal/traffic"
	"weft/switches"
	"weft/switches/systems"

	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "rewrite the lines and undo sections of testdata")

// TestCases renders every case there and back, and plays both on the printed
// configuration.
func TestCases(t *testing.T) {
	for _, d := range systems.All() {
		files, err := filepath.Glob(filepath.Join("testdata", d.Name, "*.txtar"))
		if err != nil || len(files) == 0 {
			t.Fatal("no cases of", d.Name, err)
		}
		for _, file := range files {
			t.Run(d.Name+"/"+strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) { runCase(t, d, file) })
		}
	}
}

func runCase(t *testing.T, d *switches.OS, file string) {
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
	for _, cmd := range d.Show {
		text, ok := section[cmd]
		if !ok {
			t.Fatalf("the case has no section %q", cmd)
		}
		out[cmd] = text
	}
	read := func(out map[string]string) switches.Reading {
		t.Helper()
		c, err := d.Parse(out)
		if err != nil {
			t.Fatal(err)
		}
		return c.For(want)
	}
	have := read(out)
	lines, err := switches.Render(d, have, want)
	var undo []string
	if err != nil {
		lines = []string{"error: " + err.Error()}
	} else if undo, err = switches.Render(d, want, have); err != nil {
		t.Fatal("undo:", err)
	}
	compare(t, file, ar, map[string]string{
		"lines": text(lines), "undo": text(undo),
		"have": showConfig(have, section, "have"), "warnings": showWarnings(have, section),
	})
	if err != nil || strings.HasPrefix(strings.Join(lines, ""), "error:") {
		return
	}
	box := newBox(d, out)
	before := box.print()
	box.play(t, lines)
	after := read(box.print())
	if left, err := switches.Render(d, after, want); err != nil || len(left) > 0 {
		t.Errorf("not converged: %v\n%s", err, strings.Join(left, "\n"))
	}
	readsBack(t, after, want)
	if again, err := switches.Render(d, after, after); err != nil || len(again) > 0 {
		t.Errorf("from itself to itself: %v %q", err, again)
	}
	box.play(t, undo)
	same(t, before, box.print(), d.Dialect.Running)
	if len(want.Ports) > 0 {
		partByPart(t, d, have, want, out)
	}
}

// readsBack compares what a switch says after the lines with the wish.
func readsBack(t *testing.T, after switches.Reading, want switches.Intent) {
	t.Helper()
	for i, w := range want.Ports {
		p := after.Ports[i]
		if p.PFC != w.PFC || p.Classify != w.Classify || p.ByTag != w.ByTag || p.Queue != w.Queue || p.MTU < w.MTU || p.Watchdog != w.Watchdog || p.Headroom != w.Headroom {
			t.Errorf("port %s reads back as %+v", w.Name, p)
		}
	}
	if want.LLDP && !after.LLDP {
		t.Error("LLDP does not read back")
	}
	if want.Watchdog != "" && after.Watchdog != want.Watchdog {
		t.Errorf("the watchdog reads back as %q", after.Watchdog)
	}
	for _, w := range want.Classes {
		i := slices.IndexFunc(after.Classes, func(k switches.Class) bool { return k.Name == w.Name })
		if i < 0 || showClass(after.Classes[i]) != showClass(w) {
			t.Errorf("class %s reads back as %+v", w.Name, after.Classes)
		}
	}
}

// partByPart goes there and back as the engine does: first the classes, then
// one port after the other.
func partByPart(t *testing.T, d *switches.OS, have switches.Reading, want switches.Intent, out map[string]string) {
	t.Helper()
	box := newBox(d, out)
	before := box.print()
	var back []string
	step := func(d switches.Difference, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		box.play(t, d.Send)
		back = append(d.Undo, back...)
	}
	step(d.CompareClasses(have, want))
	for i, w := range want.Ports {
		w.MTU, w.Exists = max(w.MTU, have.Ports[i].MTU), true
		step(d.ComparePort(have, want, have.Ports[i], w))
	}
	after, err := d.Parse(box.print())
	if err != nil {
		t.Fatal(err)
	}
	after = after.For(want)
	// Ports that nobody wants any more are no part of it.
	after.Ports = after.Ports[:len(want.Ports)]
	if left, err := switches.Render(d, after, want); err != nil || len(left) > 0 {
		t.Errorf("not converged part by part: %v\n%s", err, strings.Join(left, "\n"))
	}
	box.play(t, back)
	same(t, before, box.print(), d.Dialect.Running)
}

// same compares two printed switches, whatever the order of their sections.
func same(t *testing.T, before, after map[string]string, running string) {
	t.Helper()
	for cmd := range before {
		was, is := before[cmd], after[cmd]
		if cmd == running {
			was, is = switches.Flattened(was), switches.Flattened(is)
		}
		if was != is {
			t.Errorf("undo does not restore %q:\n%s\nwas:\n%s", cmd, is, was)
		}
	}
}

func text(lines []string) string {
	if len(lines) == 0 {
		return ""
	}
	return strings.Join(lines, "\n") + "\n"
}

func compare(t *testing.T, file string, ar *txtar.Archive, got map[string]string) {
	t.Helper()
	changed := false
	for i, f := range ar.Files {
		text, ok := got[f.Name]
		if !ok || text == string(f.Data) {
			continue
		}
		if *update {
			ar.Files[i].Data, changed = []byte(text), true
		} else {
			t.Errorf("%s:\n%s\nwant:\n%s", f.Name, text, f.Data)
		}
	}
	if changed {
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// parseWish reads the want section of a case.
func parseWish(t *testing.T, text string) (c switches.Intent) {
	t.Helper()
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 2 {
			continue
		}
		value := map[string]string{}
		for _, word := range w[2:] {
			k, v, _ := strings.Cut(word, "=")
			value[k] = v
		}
		has := func(k string) bool { _, ok := value[k]; return ok }
		num := func(k string) int { n, _ := strconv.Atoi(value[k]); return n }
		switch w[0] {
		case "name":
			c.Name = w[1]
		case "watchdog":
			c.Watchdog = w[1]
		case "tagged":
			c.Tagged = w[1] == "on"
		case "adopt":
			c.Adopt = w[1] == "on"
		case "lldp":
			c.LLDP = w[1] == "on"
		case "class":
			k := switches.Class{Name: w[1], Priority: num("priority"), Bandwidth: num("bandwidth"), Strict: has("strict"), PFC: has("pfc")}
			if has("dscp") {
				k.DSCP = traffic.ParseRanges(value["dscp"], traffic.ParseDSCP)
			}
			if has("ecn") {
				e := &switches.ECN{}
				if _, err := fmt.Sscanf(value["ecn"], "%d,%d,%d", &e.Min, &e.Max, &e.Probability); err != nil {
					t.Fatal(err)
				}
				k.ECN = e
			}
			if has("headroom") {
				k.Headroom = &switches.Headroom{}
				if _, err := fmt.Sscanf(value["headroom"], "%d,%d,%d", &k.Headroom.Size, &k.Headroom.Xoff, &k.Headroom.Xon); err != nil {
					t.Fatal(err)
				}
			}
			c.Classes = append(c.Classes, k)
		case "port":
			c.Ports = append(c.Ports, switches.Port{Name: w[1], MTU: num("mtu"), PFC: has("pfc"), Classify: has("classify"), ByTag: has("tag"), VLAN: num("tag"), Queue: has("queue"),
				Watchdog: has("watchdog"), Headroom: has("headroom")})
		default:
			t.Fatalf("unknown line %q", line)
		}
	}
	return c
}

func showClass(k switches.Class) string {
	s := fmt.Sprintf("class %s dscp=%s priority=%d bandwidth=%d strict=%v pfc=%v", k.Name, traffic.Ranges(k.DSCP), k.Priority, k.Bandwidth, k.Strict, k.PFC)
	if k.ECN != nil {
		s += fmt.Sprintf(" ecn=%d,%d,%d", k.ECN.Min, k.ECN.Max, k.ECN.Probability)
	}
	if h := k.Headroom; h != nil {
		s += fmt.Sprintf(" headroom=%d,%d,%d", h.Size, h.Xoff, h.Xon)
	}
	return s
}

// showConfig prints what was read, for cases that have that section.
func showConfig(c switches.Reading, section map[string]string, name string) string {
	if _, ok := section[name]; !ok {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "name %q\n", c.Name)
	for _, k := range c.Classes {
		fmt.Fprintln(&b, showClass(k))
	}
	for _, p := range c.Ports {
		fmt.Fprintf(&b, "port %s exists=%v mtu=%d pfc=%v classify=%v queue=%v", p.Name, p.Exists, p.MTU, p.PFC, p.Classify, p.Queue)
		if p.Watchdog {
			b.WriteString(" watchdog")
		}
		if p.Headroom {
			b.WriteString(" headroom")
		}
		b.WriteString("\n")
	}
	for _, f := range c.Foreign {
		fmt.Fprintln(&b, "foreign", f)
	}
	return b.String()
}

func showWarnings(c switches.Reading, section map[string]string) string {
	if _, ok := section["warnings"]; !ok {
		return ""
	}
	return text(c.Warnings)
}
