package simswitch

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync"

	"weft/internal/lab/sshd"
)

const (
	keyBreak  = 0x03 // Ctrl-C
	keyLeave  = 0x1a // Ctrl-Z
	keyErase  = 0x08
	keyDelete = 0x7f
	keyKill   = 0x15 // Ctrl-U
	keyHelp   = '?'

	longestLine = 4096
	defaultRows = 24
)

// A terminal is the user's end of a session: it echoes what is typed.
type terminal struct {
	in      *bufio.Reader
	session *sshd.Session
	sawCR   bool
	enter   string // what is echoed at the end of a line
	mu      sync.Mutex
	out     io.Writer
	prompt  string // as last shown
	hungUp  bool
}

func newTerminal(ctx context.Context, rw io.ReadWriter) *terminal {
	return &terminal{in: bufio.NewReader(rw), out: rw, session: sshd.SessionFrom(ctx), enter: "\r\n"}
}

// rows is the height of the terminal.
func (t *terminal) rows() int {
	if t.session != nil {
		if pty, ok := t.session.PTY(); ok && pty.Rows > 1 {
			return pty.Rows
		}
	}
	return defaultRows
}

// print writes text, its line ends made those of a terminal. A terminal that
// is gone swallows it.
func (t *terminal) print(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.printLocked(text)
}

func (t *terminal) printLocked(text string) {
	if t.hungUp || text == "" {
		return
	}
	if _, err := io.WriteString(t.out, strings.ReplaceAll(text, "\n", "\r\n")); err != nil {
		t.hungUp = true
	}
}

// raw writes bytes as they are.
func (t *terminal) raw(text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.hungUp {
		_, _ = io.WriteString(t.out, text) // the next read tells
	}
}

func (t *terminal) hangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hungUp = true
}

// key reads one key.
func (t *terminal) key() (byte, error) {
	for {
		b, err := t.in.ReadByte()
		if err != nil {
			return 0, err
		}
		cr := t.sawCR
		t.sawCR = b == '\r'
		if b == '\n' && cr { // the second half of a line end
			continue
		}
		if b == '\r' {
			b = '\n'
		}
		return b, nil
	}
}

// line shows the prompt and reads a line. end is the key that ended it: '\n',
// [keyBreak], [keyLeave] or [keyHelp], before which the line may be unfinished.
func (t *terminal) line(prompt, start string) (line string, end byte, err error) {
	t.mu.Lock()
	t.prompt = prompt
	t.printLocked(prompt + start)
	t.mu.Unlock()
	typed := []byte(start)
	for {
		b, err := t.key()
		if err != nil {
			return "", 0, err
		}
		switch {
		case b == '\n':
			t.raw(t.enter)
			return string(typed), b, nil
		case b == keyBreak || b == keyLeave:
			t.raw("^" + string(rune(b+'@')) + "\r\n")
			return string(typed), b, nil
		case b == keyHelp:
			t.raw("?\r\n")
			return string(typed), b, nil
		case b == keyErase || b == keyDelete:
			if len(typed) > 0 {
				typed = typed[:len(typed)-1]
				t.raw("\b \b")
			}
		case b == keyKill:
			t.raw(strings.Repeat("\b \b", len(typed)))
			typed = typed[:0]
		case b >= ' ' && len(typed) < longestLine:
			typed = append(typed, b)
			t.raw(string([]byte{b}))
		}
	}
}

// page shows text a screen at a time: space for the next one, Enter for one
// more line, anything else to stop. Zero rows: all at once.
func (t *terminal) page(text, more string, rows int) error {
	if rows == 0 {
		t.print(text)
		return nil
	}
	shown := 0
	for line := range strings.Lines(text) {
		if shown == rows-1 {
			t.raw(more)
			b, err := t.key()
			if err != nil {
				return err
			}
			t.raw("\r" + strings.Repeat(" ", len(more)) + "\r")
			switch b {
			case ' ':
				shown = 0
			case '\n':
				shown--
			default:
				return nil
			}
		}
		t.print(line)
		shown++
	}
	return nil
}

// interject prints what nobody asked for in the middle of whatever is going on.
func (t *terminal) interject(parts ...string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, p := range parts {
		t.printLocked(p + t.prompt)
	}
}
