package tls13

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"
	"time"
)

// Client shows a server that it has a key, and has it show the same. Of several the
// server chooses one; the first is the one that is liked best, and all are for the same
// suite. Client does not close the connection. The context bounds the handshake.
func Client(ctx context.Context, conn net.Conn, key Key, others ...Key) (*Conn, error) {
	keys := append([]Key{key}, others...)
	for _, k := range keys {
		err := k.valid()
		if err == nil && k.Suite != key.Suite {
			err = fmt.Errorf("keys for %v and %v", key.Suite, k.Suite)
		}
		if err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	c := newConn(conn, true)
	err := c.connect(keys)
	if ended := !stop(); ended && err == nil {
		err = context.Cause(ctx) // the deadline is set, or about to be
	} else if ended {
		err = fmt.Errorf("%w (%w)", context.Cause(ctx), err)
	}
	if err != nil {
		return nil, c.fail(err)
	}
	return c, nil
}

// Server has a client show that it has a key, and shows the same. find returns the key
// of an identity, which anybody may have written. Server does not close the connection,
// whose deadline bounds the handshake.
func Server(conn net.Conn, find func(identity string) (Key, bool)) (*Conn, error) {
	c := newConn(conn, false)
	if err := c.accept(find); err != nil {
		return nil, c.fail(err)
	}
	return c, nil
}

// message reads the next message of the handshake, which must be of a kind. At the
// end of what one secret protects nothing of the next may have come with it.
func (c *Conn) message(want byte, last bool) ([]byte, error) {
	for {
		m, err := c.next(c.most)
		switch {
		case err != nil:
			return nil, err
		case m != nil && m[0] != want:
			return nil, broke(unexpectedMessage, "message %d where %d belongs", m[0], want)
		case m != nil && last && len(c.said) > 0:
			return nil, broke(unexpectedMessage, "%d more bytes come with message %d", len(c.said), want)
		case m != nil:
			return m, nil
		}
		kind, plain, err := c.record()
		if err != nil {
			return nil, err
		}
		if kind != recordHandshake {
			return nil, broke(unexpectedMessage, "a record of type %d in the handshake", kind)
		}
		c.said = append(c.said, plain...)
	}
}

// established says that the peer has shown its key.
func (c *Conn) established() {
	c.most, c.ccs = maxRecord, 0
}

func random32() []byte {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails
	return b
}
