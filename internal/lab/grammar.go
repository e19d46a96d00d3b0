//go:build unix

package lab

import (
	"strings"

	"weft/internal/lab/simswitch"
	"weft/internal/labctl"
)

// grammar lists every line that simulated switches accept, with its source.
func grammar() labctl.Grammar {
	g := labctl.Grammar{Hello: labctl.Hello{Version: labctl.Version()}, Negation: map[string]string{}}
	for _, os := range simswitch.Systems() {
		g.Negation[os] = simswitch.Negation(os)
		for _, r := range simswitch.Grammar(os) {
			g.Lines = append(g.Lines, labctl.GrammarLine{OS: os, View: r.View, Line: r.Line, Undo: r.Undo, Source: r.Source, Seen: !strings.Contains(r.Source, "SYNTHETIC")})
		}
	}
	return g
}
