package hub

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"
)

// A log is what the server and the broker report. A client can make them report, so each
// source of lines has a number of lines a minute: each credential, and all others together.
type log struct {
	to   func(string)
	name func(key string) string  // of a credential; nil: none is known
	from func(addr string) string // where a client is; nil: as the server says

	mu    sync.Mutex
	since time.Time
	said  map[string]int // by source
	fatal string
}

const linesAMinute = 600

func newLog(to func(string)) *log {
	if to == nil {
		to = func(string) {}
	}
	return &log{to: to, said: map[string]int{}}
}

// identity is how the server names who is logged in.
var identity = regexp.MustCompile(`(?:Nkey |"[^" ]*/nkey:)"?([A-Z0-9]+)"`)

func (l *log) say(format string, v []any) { l.note(fmt.Sprintf(format, v...)) }

// note reports a line, with the name of a credential in place of its key.
func (l *log) note(text string) {
	source := ""
	if m := identity.FindStringSubmatch(text); m != nil && l.name != nil {
		source = l.name(m[1])
		text = strings.ReplaceAll(text, m[0], source)
	} else if rest, ok := strings.CutPrefix(text, refused); ok {
		source, _, _ = strings.Cut(rest, ": ")
	}
	if addr, rest, ok := strings.Cut(text, " - cid:"); ok && l.from != nil {
		text = l.from(addr) + " - cid:" + rest
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) > time.Minute {
		for source, n := range l.said {
			if n > linesAMinute {
				l.to(fmt.Sprintf("%d more lines within a minute: %s", n-linesAMinute, cmp.Or(source, "the server, and clients that are not logged in")))
			}
		}
		l.since = now
		clear(l.said)
	}
	if l.said[source]++; l.said[source] > linesAMinute {
		return
	}
	l.to(oneLine(text))
}

// refused begins the lines of the broker.
const refused = "refused "

// why is what ended the server.
func (l *log) why() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fatal
}

func (l *log) Warnf(format string, v ...any)  { l.say(format, v) }
func (l *log) Errorf(format string, v ...any) { l.say(format, v) }

// Fatalf is not the end of this process.
func (l *log) Fatalf(format string, v ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal == "" {
		l.fatal = oneLine(fmt.Sprintf(format, v...))
	}
}

func (l *log) Noticef(string, ...any) {}
func (l *log) Debugf(string, ...any)  {}
func (l *log) Tracef(string, ...any)  {}
