package simswitch

import (
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A way says how a view is reached and what has to be there for its lines.
type way struct{ enter, before []string }

// objects are what the samples of lines refer to.
var objects = map[string][]string{
	"nxos": {"class-map type qos match-any SAMPLE", "policy-map type qos SAMPLE", "policy-map type queuing SAMPLE",
		"policy-map type network-qos SAMPLE", "feature lldp"},
	"comware": {"qos wred queue table SAMPLE", "quit"},
}

var ways = map[string]map[string]way{
	"nxos": {
		"config": {}, "vlan": {enter: []string{"vlan 7"}}, "if": {enter: []string{"interface Ethernet1/1"}},
		"cmap-qos": {enter: []string{"class-map type qos match-any C"}}, "pmap-qos": {enter: []string{"policy-map type qos P"}},
		"pmap-c-qos": {enter: []string{"policy-map type qos P", "class SAMPLE"}}, "pmap-que": {enter: []string{"policy-map type queuing P"}},
		"pmap-c-que": {enter: []string{"policy-map type queuing P", "class type queuing c-out-8q-q3"}},
		"pmap-nqos":  {enter: []string{"policy-map type network-qos P"}}, "sys-qos": {enter: []string{"system qos"}},
		"pmap-nqos-c": {enter: []string{"policy-map type network-qos P", "class type network-qos c-8q-nq3"}},
	},
	"comware": {
		"system": {}, "vlan": {enter: []string{"vlan 7"}}, "wred-table": {enter: []string{"qos wred queue table T"}},
		"maptbl-dscp": {enter: []string{"qos map-table dscp-lp"}}, "maptbl-dot1p": {enter: []string{"qos map-table dot1p-lp"}},
		"if": {enter: []string{"interface HundredGigE1/0/1"}, before: []string{"priority-flow-control enable", "qos wfq byte-count"}},
	},
}

// sample makes a line from a variant of a pattern.
func sample(os string, v variant) string {
	var words []string
	for _, e := range v.elements {
		switch low, high := bounds(strings.TrimPrefix(strings.TrimPrefix(e.kind, "list "), "numbers ")); {
		case e.param == nil:
			words = append(words, e.words[0])
		case high >= 0 && (e.name == "low" || e.name == "to"):
			words = append(words, strconv.Itoa(low))
		case high >= 0:
			words = append(words, strconv.Itoa(high))
		case e.kind == "name":
			words = append(words, "SAMPLE")
		case e.kind == "text":
			words = append(words, "some text")
		case e.kind == "queue":
			words = append(words, "ef")
		case e.kind == "port" && os == "nxos":
			words = append(words, "loopback5")
		case e.kind == "port":
			words = append(words, "HundredGigE1/0/2")
		case e.kind == "ports" && os == "nxos":
			words = append(words, "Ethernet1/2-3")
		case e.kind == "ports":
			words = append(words, "HundredGigE1/0/2 to HundredGigE1/0/3")
		}
	}
	return strings.Join(words, " ")
}

func TestEveryRule(t *testing.T) {
	for _, os := range []string{"nxos", "comware"} {
		for _, r := range systemOf(os).dialect().rules {
			if r.Source == "" || strings.HasPrefix(r.Source, "SYNTHETIC") {
				t.Errorf("%s %s: that a switch takes it rests on nothing", os, r.Line)
			}
			if r.run != nil {
				continue
			}
			for _, view := range strings.Fields(r.View) {
				w, known := ways[os][view]
				if !known {
					t.Fatalf("%s %s: no way to view %s", os, r.Line, view)
				}
				for i, v := range r.set {
					testRule(t, os, r, w, strings.ReplaceAll(sample(os, v), ",", ""), i)
				}
			}
		}
	}
}

// testRule types a line, looks for it in the configuration, reads the
// configuration back from its text, and takes the line off again.
func testRule(t *testing.T, os string, r *rule, w way, line string, i int) {
	sw := leaf()
	if os == "comware" {
		sw = h3c()
	}
	s := newSession(sw, "test", nil)
	s.enterTop()
	do := func(line string) {
		if reply := s.do(line); !s.ok {
			t.Errorf("%s %s: %q is refused: %s", os, r.Line, line, reply)
		}
	}
	for _, l := range slices.Concat(objects[os], w.enter, w.before) {
		do(l)
	}
	before := sw.RunningConfig()
	levels := slices.Clone(s.levels)
	do(line)
	m, f := parse([]*rule{r}, line)
	if f != nil {
		return // another rule of the view took the line, which is reported above
	}
	m.rule = r
	stored := false
	for _, e := range spread(edit{m: m}) {
		for _, set := range e.m.settings(sw) {
			if set.line == "" || set.line == e.m.expand(r.hide) || r.quiet {
				continue
			}
			stored = true
			has(t, sw.RunningConfig(), set.line+"\n")
		}
	}
	if got := strings.Join(sw.system.print(sw.load(sw.RunningConfig())), "\n") + "\n"; got != sw.RunningConfig() {
		t.Errorf("%s %s: printed\n%s\nread back as\n%s", os, r.Line, sw.RunningConfig(), got)
	}
	if len(r.unset) == 0 || !stored {
		return
	}
	s.levels = levels
	undo := r.unset[min(i, len(r.unset)-1)]
	do(strings.ReplaceAll(sample(os, undo), ",", ""))
	hasNotMore(t, before, sw.RunningConfig(), r.Line)
}

// hasNotMore wants every line of after to be in before.
func hasNotMore(t *testing.T, before, after, rule string) {
	t.Helper()
	for line := range strings.Lines(after) {
		if !strings.Contains(before, line) {
			t.Errorf("%s: after its negative form %q is still there", rule, line)
		}
	}
}

// Commands that only look, and the modes, run without a fault.
func TestEveryCommand(t *testing.T) {
	for _, os := range []string{"nxos", "comware"} {
		for _, r := range systemOf(os).dialect().rules {
			if r.run == nil || r.View == "pipe" {
				continue
			}
			sw := leaf()
			if os == "comware" {
				sw = h3c()
			}
			s := newSession(sw, "test", nil)
			if strings.Contains(r.View, "dual-stage") {
				s.do("configure dual-stage")
			}
			if r.View == "system" {
				s.enterTop()
			}
			for _, v := range r.set {
				reply := s.do(strings.ReplaceAll(sample(os, v), ",", ""))
				if strings.Contains(reply, "'^'") && r.Line != "copy running-config <file:name>" {
					t.Errorf("%s %s: %s", os, r.Line, reply)
				}
				s.question = nil
			}
			sw.Close()
		}
	}
}

// More lossless priorities than any document promises are refused, with the reason.
func TestLosslessPriorities(t *testing.T) {
	for _, test := range []struct {
		sw      *Switch
		prepare []string
		line    string // refused
	}{
		{leaf(), []string{"policy-map type network-qos P", "class type network-qos c-8q-nq3", "pause pfc-cos 3", "class type network-qos c-8q-nq4", "pause pfc-cos 4",
			"class type network-qos c-8q-nq5"}, "pause pfc-cos 5"},
		{leaf(), []string{"policy-map type network-qos P", "class type network-qos c-8q-nq3"}, "pause pfc-cos 1-6"},
		{h3c(), []string{"interface HundredGigE1/0/1", "priority-flow-control enable", "priority-flow-control no-drop dot1p 3,4"}, "priority-flow-control no-drop dot1p 3-5"},
	} {
		s := newSession(test.sw, "test", nil)
		s.enterTop()
		for _, line := range test.prepare {
			if reply := s.do(line); !s.ok {
				t.Errorf("%q is refused: %s", line, reply)
			}
		}
		before := test.sw.RunningConfig()
		reply := s.do(test.line)
		if s.ok || !strings.Contains(reply, "lossless priorities; a SIMULATED switch takes 2") {
			t.Errorf("%q: %s", test.line, reply)
		}
		if test.sw.RunningConfig() != before {
			t.Errorf("%q has changed something", test.line)
		}
	}
}

func TestGrammar(t *testing.T) {
	for _, os := range []string{"nxos", "comware"} {
		if len(Grammar(os)) < 50 {
			t.Errorf("%s has only %d rules", os, len(Grammar(os)))
		}
	}
	if Grammar("ios") != nil {
		t.Error("there is a grammar of an OS that is not simulated")
	}
}
