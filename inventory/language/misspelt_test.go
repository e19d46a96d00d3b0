package language

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"weft/inventory/problem"
)

// One misspelt word is one problem: nothing that rests on it is judged.
func TestMisspelt(t *testing.T) {
	for _, words := range [][2]string{
		{`    dscp      = [26]`, `    dcsp      = [26]`}, {`    priority  = 3`, `    priorty  = 3`}, {`    bandwidth = 60`, `    bandwith = 60`},
		{`  transport = "rocev2"`, `  transprt = "rocev2"`}, {`traffic_class "rdma"`, `trafic_class "rdma"`}, {`traffic_class "default"`, `trafic_class "default"`},
		{`plane "a"`, `plne "a"`}, {`subnet = "10.1.0.0/24"`, `subnt = "10.1.0.0/24"`}, {`fabric "roce"`, `fabrc "roce"`},
		{`  os     = "nxos"`, `  ox     = "nxos"`}, {`  host   = "leaf.example.net"`, `  hst   = "leaf.example.net"`}, {`switch "leaf"`, `swich "leaf"`},
		{`rnic "p0"`, `rnc "p0"`}, {`pool "flash"`, `pol "flash"`}, {"pool \"flash\" {\n  server", "pool \"flash\" {\n  servr"}, {`volume "fast"`, `volme "fast"`}, {`subsystem "data"`, `subsytem "data"`},
		{`nqn = "nqn.2026`, `nqm = "nqn.2026`}, {`size = "1TiB"`, `sise = "1TiB"`}, {`target "nvme"`, `targt "nvme"`}, {`initiator "nvme"`, `initator "nvme"`},
		{`  select = `, `  selct = `},
	} {
		text := edited(t)
		if !strings.Contains(text, words[0]) {
			t.Errorf("the base has no %s", words[0])
			continue
		}
		m, diags := loadText(strings.Replace(text, words[0], words[1], 1), Options{})
		if code := problem.CodeOf(diags[0]); len(diags) != 1 || code != problem.Attribute && code != problem.Block {
			t.Errorf("%s: %d problems\n%s", words[1], len(diags), diagText(m, diags))
		}
	}
}

// Problems that do not rest on a misspelt word appear beside it.
func TestMisspeltBesideOthers(t *testing.T) {
	m, diags := loadText(edited(t, `    dscp      = [26]`, `    dcsp      = [26]`, `"10.1.0.11/24"`, `"10.9.0.11/24"`, `size = "1TiB"`, `size = "1TiBB"`), Options{})
	for _, code := range []problem.Code{problem.Attribute, problem.NoPlane, problem.Value} {
		if find(m, diags, code, "") == nil {
			t.Errorf("%s is missing:\n%s", code, diagText(m, diags))
		}
	}
	if len(diags) != 3 {
		t.Errorf("%d problems:\n%s", len(diags), diagText(m, diags))
	}
}

// Each attribute, block and reference of the base, misspelt in turn, is one problem at its
// place: a block that failed decoding is shown neither to references nor to rules.
func TestEachMisspelt(t *testing.T) {
	text := edited(t)
	words := regexp.MustCompile(`(?m)(?:^\s*|[{]\s*)([a-z_]{4,})(?: +=| *\{| +")`) // attributes and blocks
	references := regexp.MustCompile(`\b(?:switch|server|fabric|pool|volume|target|initiator|validation|credential)(?:\.[a-z_]+)+`)
	try := func(end int, codes ...problem.Code) {
		m, diags := loadText(text[:end-2]+"x"+text[end-1:], Options{})
		line := 1
		for _, c := range text[:end] {
			if c == '\n' {
				line++
			}
		}
		if len(diags) != 1 {
			t.Errorf("line %d, %q: %d problems\n%s", line, text[max(0, end-12):end], len(diags), diagText(m, diags))
			return
		}
		if code := problem.CodeOf(diags[0]); !slices.Contains(codes, code) || diags[0].Subject.Start.Line != line {
			t.Errorf("line %d, %q: %s", line, text[max(0, end-12):end], diags[0].Error())
		}
	}
	for _, at := range words.FindAllStringSubmatchIndex(text, -1) {
		try(at[3], problem.Attribute, problem.Block)
	}
	for _, at := range references.FindAllStringIndex(text, -1) {
		try(at[1], problem.Reference)
	}
}
