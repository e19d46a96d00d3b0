package modules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/plan"
)

// Run runs a command on a server that is open. With hold nobody else changes
// the server meanwhile: a *plan.HeldError says who already does.
func Run(ctx context.Context, dev plan.Device, cmd remote.Cmd, hold bool) (out remote.Output, err error) {
	d, ok := dev.(*server)
	if !ok || d.host == nil {
		return out, fmt.Errorf("%T takes no commands", dev)
	}
	if hold {
		if _, err := d.take(ctx, nil); err != nil {
			return out, err
		}
		defer func() {
			// Also after Ctrl-C, but not for ever.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
			defer cancel()
			err = errors.Join(err, d.release(ctx))
		}()
	}
	return d.host.Run(ctx, cmd)
}

// releasePatience is how long giving a lease back may take: it ends by itself.
const releasePatience = 10 * time.Second

// Show types a line that only reads on a switch that is open, and returns what
// it printed.
func Show(ctx context.Context, dev plan.Device, line string) (string, error) {
	d, ok := dev.(*device)
	if !ok || d.session == nil {
		return "", fmt.Errorf("%T has no terminal", dev)
	}
	if err := d.onlyShows(line); err != nil {
		return "", err
	}
	out, err := d.session.Show(ctx, []string{line})
	return out[line], told(err)
}

// OnlyShows refuses a line that may do more than print, if the device is a
// switch; isSwitch reports whether it is.
func OnlyShows(dev plan.Device, line string) (isSwitch bool, err error) {
	d, ok := dev.(*device)
	if !ok {
		return false, nil
	}
	return true, d.onlyShows(line)
}

func (d *device) onlyShows(line string) error {
	verb := d.os.Dialect.Reads
	err := onlyShows(verb, line)
	if err != nil {
		return hint.Wrap(fmt.Errorf("%s is not typed on %s: %w", line, d.name, err),
			"%s takes lines that begin with %s; what the files describe changes it, through weft plan and apply", d.name, verb)
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
