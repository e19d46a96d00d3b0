//go:build unix

package lab

import (
	"fmt"
	"strings"

	"weft/internal/lab/simswitch"
)

// A GrammarLine is a line that simulated switches of an OS accept or, with the
// View "refusal", what they say about one that is not possible.
type GrammarLine struct {
	OS   string `json:"os"`
	View string `json:"view"` // where it is typed
	// Line is a pattern: {a|b} is a choice, [a] may be left out, <0-7> is a
	// value.
	Line   string `json:"line"`
	Undo   string `json:"undo,omitempty"` // what follows the word that negates, forms separated by ";"
	Source string `json:"source"`
	// Negates is the word that negates.
	Negates string `json:"-"`
	// Seen is false where the source says that part of it is SYNTHETIC: nobody
	// saw a device do it.
	Seen bool `json:"seen"`
}

// SwitchOSes are the OSes of switches that can be simulated.
func SwitchOSes() []string { return simswitch.Systems() }

// Grammar lists all that simulated switches of an OS accept, and the source
// of each line.
func Grammar(os string) ([]GrammarLine, error) {
	rules := simswitch.Grammar(os)
	if rules == nil {
		return nil, fmt.Errorf("no switch with the OS %q is simulated", os)
	}
	all := make([]GrammarLine, len(rules))
	for i, r := range rules {
		all[i] = GrammarLine{
			OS: os, Negates: simswitch.Negation(os), View: r.View, Line: r.Line, Undo: r.Undo, Source: r.Source,
			Seen: !strings.Contains(r.Source, "SYNTHETIC"),
		}
	}
	return all, nil
}
