package switches

import (
	"bytes"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"

	"github.com/scrapli/scrapligo/transport"
)

// A wire carries scrapligo over a terminal that is already logged in. It
// keeps the end of what the switch has said, because a switch also speaks
// when nobody listens.
type wire struct {
	conn io.ReadWriteCloser

	mu     sync.Mutex
	heard  strings.Builder
	since  int    // bytes that came since a line was typed
	held   []byte // the beginning of what terminals obey, whose end has not come
	closed bool
	err    error // why the terminal ended
}

// memory is how much of what was heard is kept, in bytes.
const memory = 1 << 16

// most is how much a switch may say to one line, in bytes, or when nothing was typed. No
// configuration comes near it; and scrapligo keeps all that it hears.
const most = 32 << 20

// errMost ends a session in which more than that came.
var errMost = fmt.Errorf("it said more than %d MiB, and there was no prompt", most>>20)

// Open implements transport.Implementation: there is nothing left to open.
func (w *wire) Open(*transport.Args) error { return nil }

// Close ends the terminal, and with it a Read that is waiting.
func (w *wire) Close() error {
	w.mu.Lock()
	was := w.closed
	w.closed = true
	w.mu.Unlock()
	if was {
		return nil
	}
	return w.conn.Close()
}

// IsAlive implements transport.Implementation.
func (w *wire) IsAlive() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.closed && w.err == nil
}

// Read implements transport.Implementation. Every end is io.EOF to scrapligo,
// which would try again after any other error.
func (w *wire) Read(n int) ([]byte, error) {
	b := make([]byte, n)
	n, err := w.conn.Read(b)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since += n; w.since > most && w.err == nil {
		w.err = errMost
	}
	if w.err != nil {
		return nil, io.EOF
	}
	if n > 0 {
		if w.heard.Len() > memory {
			tail := w.heard.String()[w.heard.Len()-memory/2:]
			w.heard.Reset()
			w.heard.WriteString(tail)
		}
		w.heard.Write(b[:n])
		text := append(w.held, b[:n]...)
		whole := len(text) - unfinished(text)
		w.held = bytes.Clone(text[whole:])
		return text[:whole:whole], nil
	}
	if err != nil {
		w.err = err
		return nil, io.EOF
	}
	return nil, nil
}

// sequence is the beginning of a sequence that terminals obey, at the end of a text.
var sequence = regexp.MustCompile(`\x1b(?:\[[0-?]*[ -/]*|\][^\x07\x1b]*|[ -/]*)?$`)

// longestSequence is more bytes than one has that a switch sends.
const longestSequence = 256

// unfinished is how many bytes at the end of a text begin a sequence that terminals obey.
// scrapligo takes out those that come whole, and they may come in pieces.
func unfinished(text []byte) int {
	tail := text[max(0, len(text)-longestSequence):]
	if bytes.IndexByte(tail, 0x1b) < 0 {
		return 0
	}
	if at := sequence.FindIndex(tail); at != nil {
		return len(tail) - at[0]
	}
	return 0
}

// Write implements transport.Implementation.
func (w *wire) Write(b []byte) error {
	w.mu.Lock()
	w.since = 0
	w.mu.Unlock()
	_, err := w.conn.Write(b)
	return err
}

// forget drops what was heard so far.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.heard.Reset()
}

// said is what the switch has said since forget.
func (w *wire) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.heard.String()
}

// hears reports whether the switch has said text since forget.
func (w *wire) hears(text string) bool {
	return strings.Contains(w.said(), text)
}

// end is why the terminal ended, or nil.
func (w *wire) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
