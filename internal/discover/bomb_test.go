package discover

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// An inventory cannot stand for much more than it has bytes: its error names what is wrong
// in a few words, and what is built of it is bounded.
func TestAnsibleBombs(t *testing.T) {
	laughs := "a: &a [x, x, x, x, x, x, x, x, x, x]\n"
	for c := 'b'; c <= 'z'; c++ {
		laughs += fmt.Sprintf("%c: &%c [%s]\n", c, c, strings.TrimSuffix(strings.Repeat("*"+string(c-1)+", ", 10), ", "))
	}
	groups := "z0: &z0\n  hosts: {h: {}}\n"
	for i := 1; i < 18; i++ {
		groups += fmt.Sprintf("z%d: &z%d\n  children: {a%d: *z%d, b%d: *z%d, c%d: *z%d, d%d: *z%d}\n", i, i, i, i-1, i, i-1, i, i-1, i, i-1)
	}
	edges := "all:\n  children:\n    g:\n      hosts:\n"
	for i := range 4000 {
		edges += fmt.Sprintf("        h%d:\n", i)
	}
	for i := range 4000 {
		edges += fmt.Sprintf("    p%d:\n      children: {g: }\n", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"aliases of aliases": {laughs, "excessive aliasing"},
		"aliases of groups":  {groups, "excessive aliasing"},
		"nested lists":       {"all: " + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20), "exceeded max depth"},
		"nested groups":      {strings.Repeat(`{"all":{"children":`, 50) + "{}" + strings.Repeat("}}", 50), "nested more than 20 deep"},
		"contains itself":    {"all: &a\n  children:\n    g: *a\n", "contains itself"},
		"hosts in groups":    {edges, "more than 2000000 groups altogether"},
		"values":             {"all: {vars: [" + strings.Repeat("1,", 3<<20) + "]}", "more than 2000000 values"},
		"a long line":        {strings.Repeat("[", 1<<20), "[[[…\" is neither a group nor a host"},
		"a long name":        {"all: {hosts: {? " + strings.Repeat("h", 1<<20) + " : }}", "hhh…\" is no host"},
		"errors":             {"all: {hosts: [" + strings.Repeat("-", 3) + strings.Repeat(", [1]", 1000) + "]}\nb: {hosts: {" + manyHosts() + "}}", "and 1902 more errors"},
		"a variable":         {"all: {hosts: {st1: {ansible_host: {" + strings.Repeat("a: {", 900) + strings.Repeat("}", 900) + "}}}}", "ansible_host is map[a:map[a:map["},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := ParseAnsible([]byte(c.text))
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 64<<10 {
			t.Errorf("%s: %.500v", name, err)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 1024 {
			t.Errorf("%s: %d MB were allocated", name, n)
		}
	}
}

// manyHosts are hosts that cannot be dialled.
func manyHosts() string {
	var list []string
	for i := range 2000 {
		list = append(list, fmt.Sprintf(`"-%d": `, i))
	}
	return strings.Join(list, ", ")
}

// A finding about a name of any length is short.
func TestLongName(t *testing.T) {
	var s Site
	s.found(Warn, "leaf-a", "", "port %q", strings.Repeat("é", 1<<20))
	if n := len(s.Findings[0].Text); n > longestFinding+8 {
		t.Errorf("%d bytes", n)
	}
}
