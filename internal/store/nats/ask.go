package nats

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store"
	"weft/internal/wait"
)

// limit gives a call without a deadline one: nothing is asked for ever.
func (s *Store) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, s.o.Timeout)
}

// once limits one attempt, so that there is time for others.
func (s *Store) once(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.patience())
}

// patience is how long one answer is waited for.
func (s *Store) patience() time.Duration {
	return min(max(s.o.Timeout/4, 100*time.Millisecond), 3*time.Second)
}

// pause waits before the next attempt, and reports whether there is to be one.
func pause(ctx context.Context, attempt int) bool {
	return wait.For(ctx, min(10*time.Millisecond<<min(attempt, 10), 500*time.Millisecond))
}

// ask asks until there is an answer. What is asked may be asked twice.
func (s *Store) ask(ctx context.Context, question func(context.Context) error) error {
	ctx, cancel := s.limit(ctx)
	defer cancel()
	for n := 0; ; n++ {
		one, cancel := s.denials.end(s.once(ctx))
		err := question(one)
		denied := context.Cause(one)
		cancel()
		switch {
		case s.elsewhere(ctx, err, n):
			continue
		case err == nil, !lost(err):
			return err
		case errors.As(denied, new(*store.DeniedError)):
			return denied
		case errors.Is(err, client.ErrConnectionClosed), !pause(ctx, n):
			return s.away(ctx, err, false)
		}
	}
}

// FullDisk begins what a server of a hub says whose disk is full.
const FullDisk = "the disk of server "

// elsewhere moves to another server of the hub where the disk of this one is full, and reports
// whether to ask again.
func (s *Store) elsewhere(ctx context.Context, err error, attempt int) bool {
	var api *jetstream.APIError
	if !errors.As(err, &api) || !strings.Contains(api.Description, FullDisk) || len(s.conn.Servers()) < 2 || attempt > 8 {
		return false
	}
	if s.conn.ForceReconnect() != nil {
		return false
	}
	for n := 0; !s.conn.IsConnected(); n++ {
		if !pause(ctx, n) {
			return false
		}
	}
	return true
}

// away is a store that does not answer.
func (s *Store) away(ctx context.Context, err error, unknown bool) error {
	if errors.Is(err, client.ErrReconnectBufExceeded) {
		// Nothing is buffered without a connection: the client's words for that say no more.
		err = errors.New("the connection is lost")
		if failed := s.failed.Load(); failed != nil {
			err = fmt.Errorf("the connection is lost: %w", *failed)
		}
	}
	if s.conn.IsConnected() {
		err = fmt.Errorf("%s: %w", s.conn.ConnectedUrlRedacted(), err)
	} else if last := s.conn.LastError(); last != nil && !errors.Is(err, last) {
		err = fmt.Errorf("%s: not connected: %w; %w", s.servers(), err, last)
	} else {
		err = fmt.Errorf("%s: not connected: %w", s.servers(), err)
	}
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
	}
	return &store.UnavailableError{Err: err, Unknown: unknown}
}

// servers are those that the store was looked for at, without secrets.
func (s *Store) servers() string { return redacted(s.o.URL) }

// redacted are addresses without what a URL may hold of secrets.
func redacted(addresses string) string {
	var list []string
	for _, one := range strings.Split(addresses, ",") {
		u, err := url.Parse(strings.TrimSpace(one))
		if err != nil {
			continue // it may hold anything
		}
		u.User = nil
		list = append(list, u.String())
	}
	return strings.Join(list, ", ")
}

// is tells the errors of JetStream apart.
func is(err error, codes ...jetstream.ErrorCode) bool {
	var known jetstream.JetStreamError
	if !errors.As(err, &known) || known.APIError() == nil {
		return false
	}
	return slices.ContainsFunc(codes, func(c jetstream.ErrorCode) bool { return known.APIError().ErrorCode == c })
}

// overtaken: a condition does not hold.
func overtaken(err error) bool {
	return is(err, jetstream.JSErrCodeStreamWrongLastSequence, jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// lost: there is no answer, or one that says that another server may have it.
func lost(err error) bool {
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api):
		// A server that is cut off from the others says that there is no stream which it knew.
		return api.Code >= 500 && !full(err) || api.ErrorCode == jetstream.JSErrCodeStreamNotFound
	case unsent(err):
		return true
	}
	return slices.ContainsFunc([]error{context.DeadlineExceeded, context.Canceled, client.ErrTimeout, client.ErrDisconnected, client.ErrConnectionClosed,
		client.ErrConnectionReconnecting, client.ErrStaleConnection, client.ErrBadSubscription,
		jetstream.ErrInvalidJSAck, jetstream.ErrInvalidJetStreamResponse, jetstream.ErrConsumerCreationResponseEmpty}, func(e error) bool {
		return errors.Is(err, e)
	})
}

// full: a limit of the store refuses a message, and would again.
func full(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (strings.Contains(api.Description, "maximum bytes exceeded") || strings.Contains(api.Description, "maximum messages per subject exceeded"))
}

// unsent: nobody has got what was sent.
func unsent(err error) bool {
	return errors.Is(err, client.ErrReconnectBufExceeded) || errors.Is(err, client.ErrNoResponders) ||
		errors.Is(err, jetstream.ErrNoStreamResponse) || errors.Is(err, client.ErrConnectionClosed)
}
