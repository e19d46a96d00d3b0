package perf

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/rawsock"
	"weft/internal/nvme/rdma/verbs"
)

// Serve answers who measures until ctx ends, and closes a. Each connection
// keeps a processor busy while it lasts, but for reads and floods of writes, of
// which this end's card takes care. told gets what goes wrong on
// connections; it may be called concurrently.
func Serve(ctx context.Context, a verbs.Acceptor, told func(error)) error {
	stop := context.AfterFunc(ctx, func() { _ = a.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		link, hello, err := a.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil:
			return errors.Join(err, a.Close())
		}
		wg.Go(func() {
			if err := answer(ctx, link, hello); err != nil && !errors.Is(err, verbs.ErrDisconnected) && ctx.Err() == nil {
				_, from := link.Ends()
				told(fmt.Errorf("%s: %w", from, err))
			}
		})
	}
}

// ServeOne answers one end that measures, returns when it has left, and closes
// a. It gives up when nobody has come for a time.
func ServeOne(ctx context.Context, a verbs.Acceptor, patience time.Duration) error {
	var nobody atomic.Bool
	late := time.AfterFunc(patience, func() {
		nobody.Store(true)
		_ = a.Close()
	})
	defer late.Stop()
	stop := context.AfterFunc(ctx, func() { _ = a.Close() })
	defer stop()
	for {
		link, hello, err := a.Accept()
		switch {
		case err == nil:
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case nobody.Load():
			return fmt.Errorf("no client connected for %v", patience)
		default:
			return errors.Join(err, a.Close())
		}
		late.Stop()
		err = answer(ctx, link, hello)
		switch {
		case errors.Is(err, errOther):
			late.Reset(patience)
			continue
		case errors.Is(err, verbs.ErrDisconnected):
			err = nil
		}
		return errors.Join(err, a.Close())
	}
}

// errOther is an end that does not want to measure.
var errOther = errors.New("not served")

// answer serves one connection.
func answer(ctx context.Context, link verbs.Link, hello verbs.Hello) (err error) {
	s, peer, err := readHello(hello.Private)
	if err != nil {
		return errors.Join(fmt.Errorf("%w: %w", errOther, err), link.Answer(verbs.Hello{}, false), link.Close())
	}
	e, err := newEnd(ctx, link, s)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	e.peer = peer
	limits := link.Domain().Limits()
	if err := link.Answer(verbs.Hello{Private: e.own().bytes(), Reads: min(hello.Reads, limits.Reads), Issues: min(hello.Issues, limits.Issues)}, true); err != nil {
		return err
	}
	over := make(chan error, 1)
	go func() { // whose thread is its own, and goes with it
		if err := rawsock.Own(-1); err != nil && !errors.Is(err, rawsock.ErrUnsupported) {
			over <- err
			return
		}
		over <- e.echo()
	}()
	return <-over
}

// echo does what the other end waits for, until it leaves.
func (e *end) echo() error {
	switch {
	case e.s.Op == Read, e.s.Bandwidth && e.s.Op == Write:
		return e.sleep()
	case e.s.Bandwidth:
		return e.until(func() bool { return false })
	}
	for n := 1; ; n++ {
		var err error
		if e.s.Op == Send {
			err = e.until(func() bool { return e.landed >= n })
		} else {
			err = e.written(n)
		}
		if err != nil {
			return err
		}
		e.mark(n)
		if err := e.post(); err != nil {
			return err
		}
		if err := e.until(func() bool { return e.sent >= n }); err != nil {
			return err
		}
	}
}

// sleep leaves everything to the card. It would be wrong to look, too: where
// software is the card, that has to get the processor.
func (e *end) sleep() error {
	for {
		if err := e.wait(time.Now().Add(time.Second)); err != nil {
			return err
		}
		if e.ctx.Err() != nil {
			return context.Cause(e.ctx)
		}
	}
}
