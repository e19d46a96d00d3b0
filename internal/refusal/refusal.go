// Package refusal is the error about a line that a device did not accept. The engine, the switch
// sessions and the host modules share it.
package refusal

import (
	"fmt"
	"slices"
	"strings"
)

// An Error is a line that a device did not accept. Its maker removes secrets from both fields.
type Error struct {
	Line  string // what was sent
	Reply string // what came back
}

// Error is one line: the beginning of a long line that was sent, and the reply
// without the caret that points into the line above it.
func (e *Error) Error() string {
	const most = 100
	line := []rune(e.Line)
	if len(line) > most {
		line = append(line[:most], '…')
	}
	words := slices.DeleteFunc(strings.Fields(e.Reply), func(w string) bool { return w == "^" })
	return fmt.Sprintf("refused %q: %s", string(line), strings.Join(words, " "))
}
