package tcp_test

import (
	"context"
	"io"
	"net"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// pipes is a network of connections without sockets.
type pipes struct {
	calls chan net.Conn
	done  chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.calls:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.done); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 4420} }

func (p *pipes) dial(ctx context.Context, _ string) (net.Conn, error) {
	here, there := net.Pipe()
	select {
	case p.calls <- there:
		return here, nil
	case <-p.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// over is NVMe/TCP through them.
func (p *pipes) over() *tcp.Transport {
	return &tcp.Transport{
		DialAddr:   p.dial,
		ListenAddr: func(context.Context, string) (net.Listener, error) { return p, nil },
	}
}

// TestConformanceWithoutSockets takes the ways of connections that cannot be
// written to without blocking.
func TestConformanceWithoutSockets(t *testing.T) {
	t.Parallel()
	nvmetest.Conformance(t, func(*testing.T) fabric.Transport { return newPipes().over() }, "10.0.0.1:0")
}

// FuzzTarget sends whatever comes to a target, after a good beginning.
func FuzzTarget(f *testing.F) {
	connect := capsule(wire.ConnectCommand{QID: 1, SQSize: 3}.Command(), wire.ConnectDataSize, nil)
	write := wire.Command{Opcode: wire.OpWrite, SGL: wire.SGL{Type: wire.SGLTransport, Length: 512}}
	f.Add(uint8(0), icReq(nil))
	f.Add(uint8(1), connect)
	f.Add(uint8(2), capsule(flush, 0, nil))
	f.Add(uint8(2), append(capsule(write, 0, nil), data(wire.R2T{Length: 512}, nil)...))
	f.Add(uint8(2), capsule(write, 512, nil))
	f.Add(uint8(5), dressed(capsule(write, 512, nil), 0))
	f.Add(uint8(5), dressed(capsule(write, 512, nil), 'd'))
	for _, h := range []wire.PDUType{wire.PDUH2CTermReq, wire.PDUH2CData, wire.PDUR2T} {
		f.Add(uint8(2), []byte{byte(h), 0, 24, 24, 24, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	}
	f.Fuzz(func(t *testing.T, stage uint8, b []byte) {
		net := newPipes()
		disk := &nvmetest.Disk{Data: make([]byte, 64<<10)}
		l, err := net.over().Listen(t.Context(), fabric.ListenParams{Addr: "10.0.0.1:4420"}, disk.Accept)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := net.dial(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		heard := make(chan struct{})
		go func() {
			defer close(heard)
			_, _ = io.Copy(io.Discard, conn)
		}()
		asked, connect := icReq(nil), connect
		if stage%6 > 2 {
			asked, connect = icReq(func(r *wire.ICReq) { r.Digest = 3 }), dressed(connect, 0)
		}
		if stage%3 > 0 {
			_, _ = conn.Write(asked)
		}
		if stage%3 > 1 {
			_, _ = conn.Write(connect)
		}
		_, _ = conn.Write(b)
		_ = conn.Close()
		<-heard
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if open, ended := disk.Open(); open != 0 || len(ended) != 1 {
			t.Errorf("%d queue pairs are open, %d have ended", open, len(ended))
		}
	})
}
