package switches

import (
	"slices"
	"strings"
)

// Errors, logs and findings quote a switch only through this file: every quoted line passes
// [Redact] together with the lines before it, which tell whether it is part of a banner or
// of a key.

// NewRefusedError returns the error about a line that the switch did not accept, without the secrets of
// the line and of the reply.
func NewRefusedError(line, reply string) *RefusedError {
	return &RefusedError{Line: Redact(line), Reply: strings.TrimRight(quoteAfter("", reply), "\n")}
}

// quoteLast returns the last line of a text that has any characters, without secrets.
func quoteLast(text string) string {
	lines := strings.TrimRight(text, " \t\r\n")
	at := strings.LastIndexByte(lines, '\n') + 1
	return lastLine(quoteAfter(lines[:at], lines[at:]))
}

// quoteAfter returns rest without secrets, where before is what the switch printed until then.
// Lines after the beginning of a banner whose end did not come are all redacted.
func quoteAfter(before, rest string) string {
	skip := strings.Count(before, "\n")
	if before != "" && !strings.HasSuffix(before, "\n") {
		before += "\n"
		skip++
	}
	text := before + rest
	lines := slices.Collect(strings.Lines(text))
	if at := openBanner(lines); at >= 0 {
		for i := at; i < len(lines); i++ {
			lines[i] = redacted + lineEnd(lines[i])
		}
		text = strings.Join(lines, "")
	}
	lines = slices.Collect(strings.Lines(Redact(text)))
	return strings.Join(lines[min(skip, len(lines)):], "")
}
