package leaf

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"weft/internal/hint"
)

// Show implements Terminal.
func (d *Device) Show(ctx context.Context, line string) (string, error) {
	if d.session == nil {
		return "", fmt.Errorf("%s is not connected", d.cfg.Name)
	}
	if err := d.OnlyShows(line); err != nil {
		return "", err
	}
	out, err := d.session.Show(ctx, []string{line})
	return out[line], err
}

// OnlyShows implements Terminal.
func (d *Device) OnlyShows(line string) error {
	verb := d.cfg.OS.Dialect.Reads
	err := onlyShows(verb, line)
	if err != nil {
		return hint.Wrap(fmt.Errorf("%s is not typed on %s: %w", line, d.cfg.Name, err),
			"%s takes lines that begin with %s; what the files describe changes it, through weft plan and apply", d.cfg.Name, verb)
	}
	return nil
}

// filters are what a line may hand its output to: nothing that writes a file,
// starts a shell or sends mail.
func filters() []string {
	return []string{"begin", "by-linenum", "count", "egrep", "exclude", "grep", "head", "include", "json", "json-pretty", "last", "no-more",
		"section", "xml"}
}

// onlyShows refuses a line that is not the verb with its words. Commands may
// follow one another in a line, or write its output to a file.
func onlyShows(verb, line string) error {
	parts := strings.Split(line, "|")
	switch words := strings.Fields(parts[0]); {
	case verb == "" || len(words) == 0 || words[0] != verb:
		return fmt.Errorf("it does not begin with %q", verb)
	case len(words) == 1:
		return fmt.Errorf("it does not say what to %s", verb)
	case strings.IndexFunc(line, func(r rune) bool { return unicode.IsControl(r) || r > unicode.MaxASCII }) >= 0:
		return errors.New("it holds a character that is not plain")
	case strings.ContainsAny(line, ";<>`$\\?!&"):
		return errors.New("it holds one of ; < > ` $ \\ ? ! &, which may do more than show")
	}
	for _, part := range parts[1:] {
		words := strings.Fields(part)
		if len(words) == 0 || !slices.Contains(filters(), words[0]) {
			return fmt.Errorf("after | there may be %s", strings.Join(filters(), ", "))
		}
	}
	return nil
}
