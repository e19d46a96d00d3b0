package switches

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	v     *vocabulary
	key   func(string) string
	have  Reading
	shown string // all that is not understood
	said  string // all that is said of lines
	held  []string
	lost  []string // neither understood nor shown
	count int      // of those that had to be
}

// dropped reads a configuration whose ports are all wished, and returns the
// lines that were neither understood nor shown, and how many had to be.
func dropped(t *testing.T, d *OS, running string) ([]string, int) {
	t.Helper()
	v := nxosVocabulary()
	if d.Name == "comware" {
		v = comwareVocabulary()
	}
	have, err := d.Parse(map[string]string{d.Dialect.Running: running})
	if err != nil {
		t.Fatal(err)
	}
	have = have.For(wishFor(have.PortNames()...))
	l := lines{v: v, key: d.lines.grammar.key, have: have, shown: strings.Join(have.NotUnderstood, "\n"), said: strings.Join(have.Warnings, "\n")}
	for text := range have.read.notes {
		l.said += "\n" + text
	}
	bs := slices.Clone(have.read.global)
	for _, p := range have.PortNames() {
		bs = append(bs, have.read.port[p]...)
	}
	for _, b := range bs {
		l.held = append(append(l.held, b.path...), b.lines...)
	}
	l.held = append(l.held, have.read.others...)
	beside := []attached(nil)
	if own, ok := have.read.own.(*nxosSeen); ok {
		beside = own.beside
	}
	for _, a := range beside {
		l.held = append(l.held, a.line)
	}
	l.walk(parseTree(running))
	return l.lost, l.count
}

func (l *lines) walk(ns []*node, path ...string) {
	for _, n := range ns {
		line := l.v.normal(n.line)
		ok := true
		switch l.v.judge(path, line) {
		case isUnknown:
			ok = strings.Contains(l.shown, Redact(n.line))
		case isTold:
			ok = strings.Contains(l.said, "("+line+")")
		case isKept:
			ok = l.holds(line, path)
		case isElse:
			ok = !concerns(line) && (len(path) == 0 || l.v.port(path[0]) == "")
			l.count--
		}
		l.count++
		if !ok {
			l.lost = append(l.lost, strings.Join(append(slices.Clone(path), line), " / "))
		}
		if !l.v.skip(line) {
			l.walk(n.kids, append(slices.Clone(path), line)...)
		}
	}
}

// holds reports whether the reading has a line that counts as understood.
func (l *lines) holds(line string, path []string) bool {
	name := line[strings.LastIndexByte(line, ' ')+1:]
	replaced := func(other string) bool { return l.key(other) == l.key(line) } // the later line of two holds
	switch {
	case slices.ContainsFunc(l.held, replaced), len(path) > 0 && slices.Contains(l.have.read.others, path[0]):
		return true
	case line == "mtu 1500", line == "priority-flow-control mode auto", strings.HasSuffix(line, comwareDefaultShare), strings.HasPrefix(name, "default-"):
		return true // defaults
	case strings.HasPrefix(line, "hostname "), strings.HasPrefix(line, "switchname "), strings.HasPrefix(line, "sysname "):
		return l.have.Facts.Hostname != ""
	case strings.HasPrefix(line, nxosJumbo):
		return nxosOf(l.have.read).jumbo > 0 // the later line of two holds
	case strings.HasPrefix(line, "channel-group "), strings.HasPrefix(line, comwareMember):
		return l.have.read.bundles[l.v.port(path[0])] != ""
	case strings.HasPrefix(line, "match dscp "):
		return len(parseRanges(strings.TrimPrefix(line, "match dscp "), dscpNumber)) > 0
	case len(comwareImports(line)) > 0:
		return slices.Contains(l.held, comwareImports(line)[0])
	case strings.HasPrefix(line, "port link-mode "), len(path) > 0 && l.have.read.os.lines.perPort && strings.HasPrefix(line, "mtu "):
		_, routes := comwareOf(l.have.read).routed[l.v.port(path[0])]
		return routes || line == "port link-mode bridge"
	case strings.HasPrefix(line, "interface "):
		return l.v.port(line) == "" || slices.Contains(l.have.PortNames(), l.v.port(line))
	}
	return strings.Contains(l.said, line)
}

// No line of a configuration is dropped in silence: what is not understood is
// shown with where it stands, of ports of the fabric whatever it is about.
func TestNoLineIsDropped(t *testing.T) {
	for name, c := range map[string]struct {
		driver *OS
		port   string // of the fabric
	}{
		"nxos":    {NXOS(), "Ethernet1/1"},
		"comware": {Comware(), "FourHundredGigE1/0/1"},
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
			want.Classes = append(want.Classes, Class{Name: "rdma", Priority: 3, DSCP: []int{26}, PFC: true})
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
	for dir, d := range map[string]*OS{
		"cisco_nxos/CONFIG_EXAMPLES": NXOS(), "cisco_nxos/show_running-config": NXOS(), "cisco_nxos/show_running-config_interface": NXOS(),
		"cisco_nxos/show_running-config_ipqos": NXOS(), "hp_comware/CONFIG_EXAMPLES": Comware(), "hp_comware/display_this": Comware(),
		"hp_comware/display_current-configuration_include": Comware(),
	} {
		files, err := fs.Glob(os.DirFS(root), dir+"/*.txt")
		if err != nil || len(files) == 0 {
			transcript(t, dir) // says that they are missing
		}
		for _, file := range files {
			if lost, _ := dropped(t, d, transcript(t, file)); len(lost) > 0 {
				t.Errorf("%s: %d lines were neither understood nor shown:\n%s", file, len(lost), strings.Join(lost, "\n"))
			}
		}
	}
}
