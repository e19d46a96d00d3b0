//go:build unix

package labctl

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
)

// A Grammar is every line that simulated switches accept.
type Grammar struct {
	Hello
	Negation map[string]string `json:"negation"` // word that negates a line, by OS
	Lines    []GrammarLine     `json:"lines"`
}

// A GrammarLine is a line that simulated switches of an OS accept or, with the View "refusal",
// the message with which they refuse one.
type GrammarLine struct {
	OS   string `json:"os"`
	View string `json:"view"` // where it is typed
	// Line is a pattern: {a|b} is a choice, [a] may be omitted, <0-7> is a value.
	Line   string `json:"line"`
	Undo   string `json:"undo,omitempty"` // what follows the word that negates, forms separated by ";"
	Source string `json:"source"`
	// Seen is false if the source marks a part of it SYNTHETIC: never seen on a device.
	Seen bool `json:"seen"`
}

// ReadGrammar asks weft-lab for its grammar.
func ReadGrammar(ctx context.Context, program string) (*Grammar, error) {
	out, err := exec.CommandContext(ctx, program, "grammar").Output()
	if err != nil {
		return nil, fmt.Errorf("%s grammar: %w", program, err)
	}
	var g Grammar
	if err := json.Unmarshal(out, &g); err != nil {
		return nil, fmt.Errorf("%s grammar: %w", program, err)
	}
	return &g, sameVersion(program, g.Version)
}
