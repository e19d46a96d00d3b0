package tcp_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/tls13"
	"weft/internal/nvme/wire"
)

// echoes counts the commands that reach the target.
type echoes struct {
	fabric.Handler
	n     *atomic.Int32
	ended chan error
}

func (e echoes) Begin(x *fabric.Exchange) (int, wire.Status) {
	if x.Command.Opcode == nvmetest.OpEcho {
		e.n.Add(1)
	}
	return e.Handler.Begin(x)
}

func (e echoes) Disconnected(err error) {
	e.Handler.Disconnected(err)
	e.ended <- err
}

// A middle carries the records of TLS between a host and a target, and does with them what
// it likes once it is armed.
type middle struct {
	armed        atomic.Bool
	host, target func(record []byte) (send []byte, cut bool) // what comes from there; nil: it is passed on
	mu           sync.Mutex
	sent         []byte // by the host
	portal       string
}

func (m *middle) carry(a net.Conn) {
	b, err := net.Dial("tcp", m.portal)
	if err != nil {
		a.Close()
		return
	}
	go m.pass(a, b, m.target, false)
	m.pass(b, a, m.host, true)
}

func (m *middle) pass(to, from net.Conn, with func([]byte) ([]byte, bool), host bool) {
	defer to.Close()
	defer from.Close()
	for {
		record := make([]byte, 5)
		if _, err := io.ReadFull(from, record); err != nil {
			return
		}
		record = append(record, make([]byte, binary.BigEndian.Uint16(record[3:]))...)
		if _, err := io.ReadFull(from, record[5:]); err != nil {
			return
		}
		if host {
			m.mu.Lock()
			m.sent = append(m.sent, record...)
			m.mu.Unlock()
		}
		cut := false
		if with != nil && m.armed.Load() {
			record, cut = with(record)
		}
		if _, err := to.Write(record); err != nil || cut {
			return
		}
	}
}

// A peer on the wire that replays or truncates records of TLS has no command carried out
// twice or in part, and no answer taken for another: the connection ends, with an error.
func TestTLSOnTheWire(t *testing.T) {
	t.Parallel()
	twice := func(r []byte) ([]byte, bool) { return append(bytes.Clone(r), r...), false }
	for name, c := range map[string]struct {
		host, target func([]byte) ([]byte, bool)
		first        bool // the first command may succeed
		most         int32
	}{
		"replayed to the target":          {host: twice, first: true, most: 1},
		"replayed to the host":            {target: twice, first: true, most: 2},
		"cut in a record to the target":   {host: func(r []byte) ([]byte, bool) { return r[:len(r)/2], true }},
		"cut in a record to the host":     {target: func(r []byte) ([]byte, bool) { return r[:len(r)/2], true }, most: 1},
		"cut before a record to the host": {target: func(r []byte) ([]byte, bool) { return nil, true }, most: 1},
		"cut in a header to the host":     {target: func(r []byte) ([]byte, bool) { return r[:3], true }, most: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := tlsKey(tls13.AES128SHA256)
			disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
			e := echoes{n: new(atomic.Int32), ended: make(chan error, 8)}
			l, err := (&tcp.Transport{Keys: known(k)}).Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0"}, func(x fabric.Conn) fabric.Handler {
				return echoes{disk.Accept(x), e.n, e.ended}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			wire2, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer wire2.Close()
			m := &middle{host: c.host, target: c.target, portal: l.Addr()}
			go func() {
				for {
					a, err := wire2.Accept()
					if err != nil {
						return
					}
					go m.carry(a)
				}
			}()
			q, err := (&tcp.Transport{Offers: []tls13.Key{k}}).Dial(context.Background(), fabric.DialParams{Addr: wire2.Addr().String(), Depth: 2, Timeout: time.Minute})
			if err != nil {
				t.Fatal(err)
			}
			defer q.Close()
			connect := wire.ConnectCommand{SQSize: 3}.Command()
			if c, err := fabric.Do(q, &connect, make([]byte, wire.ConnectDataSize)); err != nil || c.Status != wire.Success {
				t.Fatal(c.Status, err)
			}
			m.armed.Store(true)
			echo := wire.Command{Opcode: nvmetest.OpEcho, CDW10: 7}
			got, err := fabric.Do(q, &echo, nil)
			if err == nil && (!c.first || got.Result != 7) {
				t.Errorf("it is answered with %+v", got)
			}
			for range 3 { // the connection does not go on
				if _, err = fabric.Do(q, &echo, nil); err != nil {
					break
				}
			}
			if err == nil {
				t.Error("the connection goes on")
			}
			<-e.ended
			if n := e.n.Load(); n > c.most {
				t.Errorf("%d commands have reached the target, of at most %d", n, c.most)
			}
			// What was sent in this session is worth nothing in another.
			before := e.n.Load()
			again, err := net.Dial("tcp", l.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			m.mu.Lock()
			_, _ = again.Write(m.sent) // the target may have closed it
			m.mu.Unlock()
			if err := <-e.ended; err == nil {
				t.Error("a session that is replayed ends well")
			}
			if n := e.n.Load(); n != before {
				t.Errorf("a session that is replayed has %d commands carried out", n-before)
			}
		})
	}
}
