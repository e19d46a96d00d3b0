package switches_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"weft/internal/require"
	"weft/internal/traffic"
	"weft/switches"
	"weft/switches/comware"
	"weft/switches/nxos"

	"golang.org/x/tools/txtar"
)

// oneOfOurs are words by which a line belongs to QoS, PFC, ECN, buffers,
// watchdog, MTU or LLDP, apart from those that the vocabularies go by.
var oneOfOurs = strings.Fields("qos mtu lldp pfc ecn wred wfq buffer buffers queue queuing pause dcbx headroom jumboframe jumbomtu flowcontrol watchdog")

func concerns(line string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(strings.ToLower(line), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '_'
	}), func(word string) bool { return slices.Contains(oneOfOurs, word) })
}

// A ledger of lines: what became of each line of a printed configuration.
type lines struct {
	v     *switches.Vocabulary
	key   func(string) string
	have  switches.Reading
	shown string // all that is not understood
	said  string // all that is said of lines
	own   string // what only the system knows of
	held  []string
	lost  []string // neither understood nor shown
	count int      // of those that had to be
}

// dropped reads a configuration whose ports are all wished, and returns the
// lines that were neither understood nor shown, and how many had to be.
func dropped(t *testing.T, d *switches.OS, running string) ([]string, int) {
	t.Helper()
	v := d.Lines.Words()
	have, err := d.Parse(map[string]string{d.Dialect.Running: running})
	if err != nil {
		t.Fatal(err)
	}
	have = have.For(wishFor(have.PortNames()...))
	l := lines{v: v, key: d.Lines.Grammar.Key, have: have, shown: strings.Join(have.NotUnderstood, "\n"), said: strings.Join(have.Warnings, "\n"), own: fmt.Sprintf("%+v", have.Text().Own)}
	for text := range have.Text().Notes() {
		l.said += "\n" + text
	}
	bs := slices.Clone(have.Text().Global)
	for _, p := range have.PortNames() {
		bs = append(bs, have.Text().Port[p]...)
	}
	for _, b := range bs {
		l.held = append(append(l.held, b.Path...), b.Lines...)
	}
	l.held = append(l.held, have.Text().Others...)
	l.walk(switches.ParseTree(running))
	return l.lost, l.count
}

func (l *lines) walk(ns []*switches.Node, path ...string) {
	for _, n := range ns {
		line := l.v.Normal(n.Line)
		ok := true
		switch l.v.Judge(path, line) {
		case switches.IsUnknown:
			ok = strings.Contains(l.shown, switches.Redact(n.Line))
		case switches.IsTold:
			ok = strings.Contains(l.said, "("+line+")")
		case switches.IsKept:
			ok = l.holds(line, path)
		case switches.IsElse:
			ok = !concerns(line) && (len(path) == 0 || l.v.Port(path[0]) == "")
			l.count--
		}
		l.count++
		if !ok {
			l.lost = append(l.lost, strings.Join(append(slices.Clone(path), line), " / "))
		}
		if !l.v.Skip(line) {
			l.walk(n.Kids, append(slices.Clone(path), line)...)
		}
	}
}

// holds reports whether the reading has a line that counts as understood.
func (l *lines) holds(line string, path []string) bool {
	name := line[strings.LastIndexByte(line, ' ')+1:]
	replaced := func(other string) bool { return l.key(other) == l.key(line) } // the later line of two holds
	switch {
	case slices.ContainsFunc(l.held, replaced), strings.HasPrefix(line, "service-policy ") && strings.Contains(l.own, line+"}"), len(path) > 0 && slices.Contains(l.have.Text().Others, path[0]):
		return true
	case line == "mtu 1500", line == "priority-flow-control mode auto", strings.HasSuffix(line, " group 1 byte-count 1"), strings.HasPrefix(name, "default-"):
		return true // defaults
	case strings.HasPrefix(line, "hostname "), strings.HasPrefix(line, "switchname "), strings.HasPrefix(line, "sysname "):
		return l.have.Facts.Hostname != ""
	case strings.HasPrefix(line, "system jumbomtu "):
		return !strings.Contains(l.own, "jumbo:0") // the later line of two holds
	case strings.HasPrefix(line, "channel-group "), strings.HasPrefix(line, "port link-aggregation group "):
		return l.have.Text().Bundles[l.v.Port(path[0])] != ""
	case strings.HasPrefix(line, "match dscp "):
		return len(traffic.ParseRanges(strings.TrimPrefix(line, "match dscp "), traffic.ParseDSCP)) > 0
	case len(imports(line)) > 0:
		return slices.Contains(l.held, imports(line)[0])
	case strings.HasPrefix(line, "port link-mode "), len(path) > 0 && l.have.Text().OS.Lines.PerPort && strings.HasPrefix(line, "mtu "):
		routes := strings.Contains(l.own, l.v.Port(path[0])+":")
		return routes || line == "port link-mode bridge"
	case strings.HasPrefix(line, "interface "):
		return l.v.Port(line) == "" || slices.Contains(l.have.PortNames(), l.v.Port(line))
	}
	return strings.Contains(l.said, line)
}

// No line of a configuration is dropped in silence: what is not understood is
// shown with where it stands, of ports of the fabric whatever it is about.
func TestNoLineIsDropped(t *testing.T) {
	for name, c := range map[string]struct {
		driver *switches.OS
		port   string // of the fabric
	}{
		"nxos":    {nxos.OS(), "Ethernet1/1"},
		"comware": {comware.OS(), "FourHundredGigE1/0/1"},
	} {
		t.Run(name, func(t *testing.T) {
			ar, err := txtar.ParseFile(filepath.Join("testdata", "whole", name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			running := string(ar.Files[0].Data)
			if lost, n := dropped(t, c.driver, running); len(lost) > 0 || n < 60 {
				t.Errorf("%d of %d lines were neither understood nor shown:\n%s", len(lost), n, strings.Join(lost, "\n"))
			}
			have, err := c.driver.Parse(map[string]string{c.driver.Dialect.Running: running})
			if err != nil {
				t.Fatal(err)
			}
			want := wishFor(c.port)
			want.Classes = append(want.Classes, switches.Class{Name: "rdma", Priority: 3, DSCP: []int{26}, PFC: true})
			have = have.For(want)
			compare(t, filepath.Join("testdata", "whole", name+".txtar"), ar, map[string]string{
				"not understood": text(have.NotUnderstood), "warnings": text(have.Warnings), "starved": text(have.Starved),
			})
		})
	}
}

// What devices printed, and what people typed, is not dropped either.
func TestTranscriptsNoLineIsDropped(t *testing.T) {
	root := filepath.Join("..", "..", "shared", "transcripts")
	for dir, d := range map[string]*switches.OS{
		"cisco_nxos/CONFIG_EXAMPLES": nxos.OS(), "cisco_nxos/show_running-config": nxos.OS(), "cisco_nxos/show_running-config_interface": nxos.OS(),
		"cisco_nxos/show_running-config_ipqos": nxos.OS(), "hp_comware/CONFIG_EXAMPLES": comware.OS(), "hp_comware/display_this": comware.OS(),
		"hp_comware/display_current-configuration_include": comware.OS(),
	} {
		files, err := fs.Glob(os.DirFS(root), dir+"/*.txt")
		if err != nil || len(files) == 0 {
			require.Transcript(t, dir) // says that they are missing
		}
		for _, file := range files {
			if lost, _ := dropped(t, d, require.Transcript(t, file)); len(lost) > 0 {
				t.Errorf("%s: %d lines were neither understood nor shown:\n%s", file, len(lost), strings.Join(lost, "\n"))
			}
		}
	}
}
