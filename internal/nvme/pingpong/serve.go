package pingpong

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"weft/internal/nvme/rawsock"
)

// Serve answers clients, each on its own goroutine, until ctx ends or the
// listener fails; it closes the listener. told hears of clients that went
// wrong. Polled clients are served on processor cpu; negative is any.
func Serve(ctx context.Context, l net.Listener, cpu int, told func(error)) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer l.Close()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := l.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept: %w", err)
		}
		wg.Go(func() {
			if err := serve(ctx, c, cpu); err != nil && !left(err) && ctx.Err() == nil {
				told(fmt.Errorf("%s: %w", c.RemoteAddr(), err))
			}
		})
	}
}

// ServeOne answers one client and returns when it has left; it closes the
// listener, and gives up when nobody has come for a time. Who speaks something
// else is not the one.
func ServeOne(ctx context.Context, l *net.TCPListener, patience time.Duration) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer l.Close()
	if err := l.SetDeadline(time.Now().Add(patience)); err != nil {
		return fmt.Errorf("wait for a client: %w", err)
	}
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			return fmt.Errorf("wait for a client: %w", err)
		}
		switch err = serve(ctx, c, -1); {
		case errors.Is(err, errOther):
			continue
		case err == nil || left(err):
			return nil
		}
		return fmt.Errorf("%s: %w", c.RemoteAddr(), err)
	}
}

// left reports whether a client has hung up, as all do in the end: with replies
// on the way that it did not wait for.
func left(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// serve answers one client until it leaves.
func serve(ctx context.Context, c net.Conn, cpu int) error {
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	s, err := readHello(c)
	if err != nil {
		return fmt.Errorf("%w: %w", errOther, err)
	}
	if !s.Poll {
		return serveBlocking(c, s)
	}
	if err := rawsock.Own(cpu); err != nil {
		return err
	}
	sock, err := rawsock.Detach(c)
	if err != nil {
		return err
	}
	defer sock.Close()
	return servePolling(ctx, sock, s)
}

func serveBlocking(c net.Conn, s Shape) error {
	in, out := make([]byte, s.Request), make([]byte, s.Reply)
	for {
		if _, err := io.ReadFull(c, in); err != nil {
			return err
		}
		if _, err := c.Write(out); err != nil {
			return err
		}
	}
}

// chunk is how much one call reads or writes at most.
const chunk = 256 << 10

func servePolling(ctx context.Context, sock *rawsock.Socket, s Shape) error {
	in, out := make([]byte, chunk), make([]byte, chunk)
	part, owed := 0, 0 // bytes of a request that has begun; bytes of replies to send
	var idle idler
	for {
		n, err := sock.Read(in, nil)
		if err != nil {
			return err
		}
		part += n
		owed += part / s.Request * s.Reply
		part %= s.Request
		if owed > 0 {
			sent, err := sock.Write(out[:min(owed, chunk)])
			if err != nil {
				return err
			}
			owed -= sent
			n += sent
		}
		if idle.is(n == 0) && ctx.Err() != nil {
			return nil
		}
	}
}

// An idler counts polls that found nothing.
type idler int

// idlePolls is after how many of them the processor is offered to others.
const idlePolls = 1024

// is counts one more poll; true says that it is time to look around.
func (i *idler) is(nothing bool) bool {
	if !nothing {
		*i = 0
		return false
	}
	if *i++; *i < idlePolls {
		return false
	}
	*i = 0
	rawsock.Yield()
	return true
}
