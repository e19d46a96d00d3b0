package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"strings"

	"weft/internal/pattern"
)

// A Looker is a Host that answers looks by itself, without a shell. Read
// prefers it.
type Looker interface {
	Look(context.Context, []Look) (Seen, error)
}

// A Scripter is a Host that runs a POSIX script, with arguments, in fewer round
// trips than Run does. The script may be seen by others on the host, as arguments are. Errors
// are those of a Quiet command.
type Scripter interface {
	Script(ctx context.Context, text string, args ...string) (Output, error)
}

// Read carries out all of the looks in one round trip. Equal looks are
// carried out once. The error says that the host could not be asked; what
// went wrong with a single look stands in its Sight.
//
// The host runs one POSIX script, given to "sh -s" on standard input unless it
// is a Scripter.
func Read(ctx context.Context, h Host, looks []Look) (Seen, error) {
	looks = distinct(looks)
	if len(looks) == 0 {
		return Seen{}, nil
	}
	for _, l := range looks {
		if err := l.check(); err != nil {
			return Seen{}, err
		}
	}
	if l, ok := h.(Looker); ok {
		return l.Look(ctx, looks)
	}
	if l, ok := h.(Limited); ok && l.Limited() {
		return readLimited(ctx, h, looks)
	}
	nonce := newNonce()
	// Quiet: the script is no use in a message, and files may hold secrets.
	out, err := runScript(ctx, h, Script(looks), nonce)
	if err != nil {
		return Seen{}, unread(h, out, err)
	}
	seen, err := parse(nonce, looks, out)
	if err != nil {
		return Seen{}, fmt.Errorf("reading %s: %w", h.Name(), err)
	}
	return seen, nil
}

// unread is the error of a script that did not end well.
func unread(h Host, out Output, err error) error {
	if said := bytes.TrimSpace(out.Stderr); errors.As(err, new(*ExitError)) && len(said) > 0 {
		// The script itself exits 0: this is a host without a shell.
		err = fmt.Errorf("%w: %s", err, Redact(string(said)))
	}
	if errors.As(err, new(*BecomeError)) || errors.As(err, new(*UnreachableError)) {
		return err // which names the machine
	}
	return fmt.Errorf("reading %s: %w", h.Name(), err)
}

// ReadRest reads those of the looks that have not been seen, in one round trip or
// none, and returns what is seen of all together.
func ReadRest(ctx context.Context, read func(context.Context, []Look) (Seen, error), looks []Look, seen Seen) (Seen, error) {
	var rest []Look
	for _, l := range looks {
		if _, known := seen.sights[l.key()]; !known {
			rest = append(rest, l)
		}
	}
	if len(rest) == 0 {
		return seen, nil
	}
	more, err := read(ctx, rest)
	if err != nil {
		return seen, err
	}
	maps.Copy(more.sights, seen.sights)
	return more, nil
}

func runScript(ctx context.Context, h Host, text string, nonces ...string) (Output, error) {
	if s, ok := h.(Scripter); ok {
		return s.Script(ctx, text, nonces...)
	}
	return h.Run(ctx, Cmd{Args: append([]string{"sh", "-s"}, nonces...), Stdin: strings.NewReader(text), Quiet: true})
}

// place is what Look.PCI may hold; see FindPort.
var place = pattern.New(`^[0-9A-Za-z][0-9A-Za-z:.]*(@[0-9A-Za-z:]+)?$|^@[0-9A-Za-z:]+$`)

// check refuses looks that no script could carry out.
func (l Look) check() error {
	switch {
	case l.File != "" && len(l.Args) > 0:
		return fmt.Errorf("look at %s: either a file or a command", l)
	case l.File == "" && len(l.Args) == 0 && l.PCI == "":
		return fmt.Errorf("look at nothing")
	case l.File != "" && !strings.HasPrefix(l.File, "/"):
		return fmt.Errorf("look at %s: not an absolute path", l)
	case l.Own && (len(l.Args) < 3 || l.Args[0] != "sh" || l.Args[1] != "-c"):
		return fmt.Errorf("look at %s: not a script of its own", l)
	case (l.Sum || l.Stat) && l.File == "" || l.Sum && l.Stat:
		return fmt.Errorf("look at %s: a file has a sum, or a content with its mode", l)
	case l.PCI != "" && !place.MatchString(l.PCI):
		return fmt.Errorf("look at %s: %q is not the place of a NIC port", l, l.PCI)
	}
	all := l.File + strings.Join(l.Args, "")
	if strings.ContainsRune(all, 0) {
		return fmt.Errorf("look at %q: a zero byte cannot be passed to a command", all)
	}
	if l.PCI == "" && strings.Contains(all, placeholder) {
		return fmt.Errorf("look at %s: %s needs a PCI address", l, placeholder)
	}
	return nil
}

// distinct drops repeated looks and keeps the order.
func distinct(looks []Look) []Look {
	var once []Look
	known := map[string]bool{}
	for _, l := range looks {
		if k := l.key(); !known[k] {
			known[k] = true
			once = append(once, l)
		}
	}
	return once
}

// newNonce returns a word that no file can be expected to hold.
func newNonce() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	return "weft-" + hex.EncodeToString(b[:])
}
