package switches

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"weft/internal/hint"
)

// Recognise logs in and finds the system whose prompt comes first. Nothing is typed:
// a device that weft does not know gets no line of weft's.
func Recognise(ctx context.Context, name string, dial Dial, known []*OS, patience time.Duration) (*OS, error) {
	prompts := make([]*regexp.Regexp, len(known))
	for i, o := range known {
		var err error
		if prompts[i], err = regexp.Compile(o.Dialect.Prompt); err != nil {
			return nil, fmt.Errorf("dialect: %w", err)
		}
	}
	conn, err := dial(ctx)
	if err != nil {
		return nil, err
	}
	w := &wire{conn: conn}
	defer w.Close()
	heard := make(chan bool, 1)
	go func() {
		for {
			_, err := w.Read(4096)
			select {
			case heard <- err == nil:
			default:
			}
			if err != nil {
				return
			}
		}
	}()
	late := time.NewTimer(patience)
	defer late.Stop()
	var found *OS
	var quiet <-chan time.Time // a banner may have lines that look like prompts
	for {
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-late.C:
			return nil, strange(name, w)
		case <-quiet:
			return found, nil
		case more := <-heard:
			found, quiet = nil, nil
			last := lastLine(w.said())
			for i, re := range prompts {
				if last != "" && re.MatchString(last) {
					found, quiet = known[i], time.After(settle)
				}
			}
			if !more {
				return nil, strange(name, w)
			}
		}
	}
}

// settle is how long nothing comes after a prompt.
const settle = 300 * time.Millisecond

// strange is a device whose prompt is of no system.
func strange(name string, w *wire) error {
	if is, _ := foreignIn(w.said()); is != "" {
		no := &UnlikeError{Is: is}
		return hint.Wrap(fmt.Errorf("%s is %s, which weft does not speak; the last it said is %q", name, is, quoteLast(w.said())), "%s", no.advice())
	}
	return hint.Wrap(fmt.Errorf("%s shows the prompt of no switch system that weft knows; the last it said is %q", name, quoteLast(w.said())),
		"switches of other systems are described with unmanaged = true; a server belongs into --hosts")
}
