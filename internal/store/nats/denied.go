package nats

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"sync"

	client "github.com/nats-io/nats.go"

	"weft/internal/store"
)

// Denials are what the server does not let a connection do. It says so beside the
// answers, which then never come: who waits for one ends when it is said.
type denials struct {
	mu      sync.Mutex
	waiting map[*waiter]bool
}

type waiter struct {
	subject string // "": any
	end     context.CancelCauseFunc
}

var denial = regexp.MustCompile(`(?i)permissions violation for (publish|subscription) to "([^"]+)"`)

// hear is told what goes wrong with a connection.
func (d *denials) hear(_ *client.Conn, _ *client.Subscription, err error) {
	if !errors.Is(err, client.ErrPermissionViolation) {
		return // of a server that is away others tell
	}
	what, subject := "do that: "+err.Error(), ""
	if publish, to, known := classifyDenial(err); known {
		subject = to
		what = map[bool]string{true: "write to ", false: "listen to "}[publish] + subject
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for w := range d.waiting {
		if w.subject == "" || w.subject == subject {
			w.end(&store.DeniedError{What: what})
		}
	}
}

// classifyDenial finds what was denied in an error that wraps client.ErrPermissionViolation: nats.go v1.55.0
// carries the operation and the subject only in its text, which is that of the server.
func classifyDenial(err error) (publish bool, subject string, known bool) {
	m := denial.FindStringSubmatch(err.Error())
	if m == nil {
		return false, "", false
	}
	return strings.EqualFold(m[1], "publish"), m[2], true
}

// end ends a context when something is denied.
func (d *denials) end(ctx context.Context, cancel context.CancelFunc) (context.Context, context.CancelFunc) {
	return d.endOf(ctx, cancel, "")
}

// endOf ends it when a subject is denied.
func (d *denials) endOf(ctx context.Context, cancel context.CancelFunc, subject string) (context.Context, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	w := &waiter{subject: subject, end: end}
	d.mu.Lock()
	if d.waiting == nil {
		d.waiting = map[*waiter]bool{}
	}
	d.waiting[w] = true
	d.mu.Unlock()
	return ctx, func() {
		d.mu.Lock()
		delete(d.waiting, w)
		d.mu.Unlock()
		end(nil)
		cancel()
	}
}
