package see

import (
	"encoding/json"
	"fmt"
	"strings"

	"weft/internal/hint"
	"weft/internal/pattern"
)

// message is a line that no JSON document has: it begins with a letter, and not with a word
// of JSON.
var message = pattern.New(`^\s*(?:[A-Za-z][^\n]*)$`)

// JSON reads what a tool printed. Tools such as lvm2 print messages between the lines of
// their reports (lvm2 issue 137): such lines are left out. A string of JSON has no line break,
// so no line of a document begins within one.
func JSON(out []byte, into any) error {
	err := json.Unmarshal(out, into)
	if err == nil {
		return nil
	}
	var rest []string
	said := ""
	for line := range strings.Lines(string(out)) {
		text := strings.TrimSpace(line)
		if !message.MatchString(text) || jsonWord(text) {
			rest = append(rest, line)
		} else if said == "" {
			said = text
		}
	}
	if said == "" {
		return err
	}
	if json.Unmarshal([]byte(strings.Join(rest, "")), into) == nil {
		return nil
	}
	return hint.Wrap(fmt.Errorf("no JSON: %w", err), "it prints %q", said)
}

// jsonWord reports whether a line is a value of JSON that is a word.
func jsonWord(text string) bool {
	switch strings.TrimRight(text, ", ]}") {
	case "true", "false", "null":
		return true
	}
	return false
}
