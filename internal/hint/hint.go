// Package hint carries advice with an error: what to do next.
package hint

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

type hinted struct {
	err  error
	hint string
}

func (h *hinted) Error() string { return h.err.Error() }
func (h *hinted) Unwrap() error { return h.err }

// Wrap returns err with advice for its reader. The advice is one sentence
// that says what to do next; it is never part of Error().
// Wrap(nil, …) is nil.
func Wrap(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &hinted{err, fmt.Sprintf(format, args...)}
}

// Join makes one advice of several, without those that are empty.
func Join(advice ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(advice), func(a string) bool { return a == "" }), "; ")
}

// Of returns the outermost advice that err carries, or "".
func Of(err error) string {
	var h *hinted
	if errors.As(err, &h) {
		return h.hint
	}
	return ""
}
