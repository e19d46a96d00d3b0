package findings

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFold(t *testing.T) {
	for _, c := range []struct {
		names string // between semicolons
		want  string
	}{
		{"leaf-1", "leaf-1"},
		{"leaf-1;leaf-2", "leaf-1..2"},
		{"leaf-1;leaf-2;leaf-3;leaf-7;spine-1", "leaf-1..3,7, spine-1"},
		{"leaf-9;leaf-10;leaf-11", "leaf-9..11"},
		{"cn08;cn09;cn10;cn11", "cn08..11"},
		{"cn7;cn08", "cn7,08"},
		{`server.node["cn01"] p0;server.node["cn01"] p1;server.node["cn02"] p0;server.node["cn02"] p1`, `server.node["cn01..02"] p0..1`},
		{"leaf-1 Eth1/1;leaf-1 Eth1/2;leaf-2 Eth1/1;leaf-2 Eth1/2;leaf-3 Eth1/5", "leaf-1..2 Eth1/1..2, leaf-3 Eth1/5"},
		{"10.0.0.1:4420;10.0.0.2:4420", "10.0.0.1:4420, 10.0.0.2:4420"},
		{"0000:3b:00.0;0000:3b:00.1", "0000:3b:00.0, 0000:3b:00.1"},
		{"02:00:00:00:00:01;02:00:00:00:00:02", "02:00:00:00:00:01, 02:00:00:00:00:02"},
		{"[fd00::1]:4420;[fd00::1]:4421", "[fd00::1]:4420, [fd00::1]:4421"},
		{"main.weft.hcl:2;main.weft.hcl:3;main.weft.hcl:40", "main.weft.hcl:2..3,40"},
		{"a1b;a2b", "a1b, a2b"},
		{"leaf-1;leaf-1", "leaf-1"},
		{"x1;x3;x5;x7;x9;x11;x13;x15;x17;x19;x21;x23;x25;x27", "x1,3,5,7,9,11,13,15,17,19,21,23, x25,27"},
		{"a;b;c;d;e", "a, b, c and 2 more"},
		{"node12345678901;node12345678902", "node12345678901, node12345678902"},
	} {
		names := slices.Compact(slices.Sorted(slices.Values(strings.Split(c.names, ";"))))
		if got := fold(names, 3); got != c.want {
			t.Errorf("%s: %s, want %s", c.names, got, c.want)
		}
	}
	for names, want := range map[string]string{"": "", "leaf-10;leaf-2;leaf-1;leaf-2": "leaf-1, leaf-2, leaf-10", "b;leaf-1;leaf-2;leaf-3": "b, leaf-1..3"} {
		if got := Fold(strings.Split(names, ";"), 3); got != want {
			t.Errorf("%s: %q, want %q", names, got, want)
		}
	}
}

// TestFoldCounts holds that no name is lost: those listed and those counted are all.
func TestFoldCounts(t *testing.T) {
	var names []string
	for leaf := 1; leaf <= 40; leaf++ {
		for port := 1; port <= 48; port += 1 + leaf%3 {
			names = append(names, fmt.Sprintf("leaf-%d Ethernet1/%d", leaf, port))
		}
	}
	got := Fold(names, 0)
	if want := fmt.Sprintf(" and %d more", len(names)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestGroup(t *testing.T) {
	var list []Finding
	for i := 1; i <= 1000; i++ {
		host := fmt.Sprintf("cn%04d", i)
		list = append(list, Finding{"MTU", "the port takes 1500 bytes, and " + host + " sends 9000", Place{host, "p0"}},
			Finding{"MTU", "the port takes 1500 bytes, and " + host + " sends 9000", Place{host, "p1"}})
	}
	list = append(list, Finding{"PFC", "it pauses for none", Place{"leaf-1", "Eth1/1"}}, Finding{"MTU", "its MTU is not known", Place{"cn0001", "p0"}})
	got := Group(list, nil, func(f Finding) Finding { return f })
	if len(got) != 2 || got[0].Cause != "MTU" || got[1].Cause != "PFC" || got[0].Len() != 2001 || got[1].Len() != 1 {
		t.Fatalf("%d entries: %v", len(got), got)
	}
	var text []string
	for _, v := range slices.Concat(got[0].Variants, got[1].Variants) {
		text = append(text, fmt.Sprintf("%d: %s: %s", len(v.All), v.Where(4), v.Text))
	}
	want := []string{
		"2000: cn0001..1000 p0..1: the port takes 1500 bytes, and … sends 9000",
		"1: cn0001 p0: its MTU is not known",
		"1: leaf-1 Eth1/1: it pauses for none",
	}
	if !slices.Equal(text, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(text, "\n"), strings.Join(want, "\n"))
	}
	if rest := got[0].Rest(1); len(rest.All) != 1 || rest.Where(1) != "cn0001 p0" {
		t.Errorf("rest: %v", rest)
	}
}

func TestNames(t *testing.T) {
	n := NewNames("cn1.example.net", `server.node["cn1"]`, "a", "")
	for text, want := range map[string]string{
		"weft-initiator on cn1.example.net did not run: exit 127": "weft-initiator on … did not run: exit 127",
		`(server.node["cn1"], 10.0.0.1:4420): refused`:            "(…, …): refused",
		"cn1.example.network is another word":                     "cn1.example.network is another word",
		"cn1.example.net 10.0.0.1, 10.0.0.2: silent":              "…, …: silent",
		"an area": "an area",
	} {
		if got := n.Without(text); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
