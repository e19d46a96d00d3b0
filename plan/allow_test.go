package plan

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckAllow(t *testing.T) {
	for pattern, good := range map[string]bool{
		`server.node["st1"]/volume.flash.data`: true, `server.node["st1"]/volume.*`: true, `server.node[*]/volume.flash.data`: true, `server.node/volume.flash.*`: true,
		`*`: false, `*/volume.flash.data`: false, `server.*/volume.x`: false, `server.node/*`: false, `server.node/*.data`: false, `server.node/vol*.data`: false,
		`server.node["st1"]`: false, `volume.*`: false, ``: false, `/volume.x`: false, `server.st1/volume.`: false,
	} {
		if err := CheckAllow(pattern); (err == nil) != good {
			t.Errorf("%q: %v", pattern, err)
		}
	}
}

// Patterns are resolved to what the plan prints, and allow nothing that a later plan adds.
func TestAllowPatterns(t *testing.T) {
	for _, c := range []struct {
		patterns  []string
		allowed   string
		unallowed []string
	}{
		{[]string{`server.n["a"]/v.x`}, `server.n["a"]/v.x`, nil},
		{[]string{`server.n["a"]/v.*`}, `server.n["a"]/v.x server.n["a"]/v.y.z`, nil},
		{[]string{`server.n[*]/v.x`}, `server.n["a"]/v.x server.n["b"]/v.x`, nil},
		{[]string{`server.n/v.*z`}, `server.n["a"]/v.y.z`, nil},
		{[]string{`server.n["c"]/v.x`, `server.n/v.x`}, `server.n["a"]/v.x server.n["b"]/v.x`, []string{`server.n["c"]/v.x`}},
		{[]string{`server.n["a"]/v.harmless`}, "", []string{`server.n["a"]/v.harmless`}}, // it loses nothing
		{[]string{`server.n["a"]/w.*`}, "", []string{`server.n["a"]/w.*`}},
	} {
		w := newWorld()
		for _, id := range []string{`server.n["a"]/v.x`, `server.n["a"]/v.y.z`, `server.n["b"]/v.x`} {
			w.want(id, "2").impact = ImpactDataLoss
		}
		w.want(`server.n["a"]/v.harmless`, "2")
		in := w.input()
		in.AllowDestroy = c.patterns
		p := mustMake(t, t.Context(), in)
		got := slices.Sorted(slices.Values(p.AllowDestroy))
		if strings.Join(got, " ") != c.allowed {
			t.Errorf("%q allow %q, want %s", c.patterns, got, c.allowed)
		}
		if list := in.Unallowed(p); !slices.Equal(list, c.unallowed) {
			t.Errorf("%q: %q allow nothing, want %q", c.patterns, list, c.unallowed)
		}
		hints := 0
		for _, r := range p.Refusals {
			if strings.Contains(r.Hint, "--allow-destroy='") {
				hints++
			}
		}
		if want := min(len(p.Refusals), 1); hints != want || len(p.Refusals) != 3-len(got) {
			t.Errorf("%q: %d of %d refusals say how they are allowed", c.patterns, hints, len(p.Refusals))
		}
	}
}
