package hub

import (
	"fmt"
	"sync"
	"time"
)

// A log is what the server says. Whoever connects can make it speak, so that it is
// heard so many times a minute and no more.
type log struct {
	note func(string)

	mu    sync.Mutex
	since time.Time
	said  int
	left  int
	fatal string
}

const linesAMinute = 20

func newLog(note func(string)) *log {
	if note == nil {
		note = func(string) {}
	}
	return &log{note: note}
}

func (l *log) say(format string, v []any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) > time.Minute {
		if l.left > 0 {
			l.note(fmt.Sprintf("and %d lines more within that minute", l.left))
		}
		l.since, l.said, l.left = now, 0, 0
	}
	if l.said++; l.said > linesAMinute {
		l.left++
		return
	}
	l.note(oneLine(fmt.Sprintf(format, v...)))
}

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
