package tcp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"syscall"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

const patience = time.Minute

// peer is a connection that speaks PDU by PDU, well or badly.
type peer struct {
	t    *testing.T
	conn net.Conn
}

func dialPeer(t *testing.T, addr string) *peer {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &peer{t, conn}
}

func (p *peer) send(b []byte) {
	// The other end may have hung up already: what it says is judged.
	_, _ = p.conn.Write(b)
}

func (p *peer) receive(n int) []byte {
	p.t.Helper()
	b := make([]byte, n)
	if _, err := io.ReadFull(p.conn, b); err != nil {
		p.t.Fatalf("read %d bytes: %v", n, err)
	}
	return b
}

// introduce exchanges ICReq and ICResp.
func (p *peer) introduce() wire.ICResp {
	p.t.Helper()
	p.send(icReq(nil))
	var resp wire.ICResp
	if err := resp.UnmarshalBinary(p.receive(wire.ICSize)); err != nil {
		p.t.Fatal(err)
	}
	return resp
}

// answered is introduce where the target may end the connection instead.
func (p *peer) answered() bool {
	p.t.Helper()
	p.send(icReq(nil))
	_, err := io.ReadFull(p.conn, make([]byte, wire.ICSize))
	return err == nil
}

// connect opens an I/O queue for three commands.
func (p *peer) connect() {
	p.t.Helper()
	p.introduce()
	cmd := wire.ConnectCommand{QID: 1, SQSize: 2}.Command()
	p.send(capsule(cmd, wire.ConnectDataSize, nil))
	if st := p.response().Status; st != wire.Success {
		p.t.Fatal(st)
	}
}

func (p *peer) response() wire.Completion {
	p.t.Helper()
	var r wire.CapsuleResp
	if err := r.UnmarshalBinary(p.receive(wire.CapsuleRespSize)); err != nil {
		p.t.Fatal(err)
	}
	if r.Type != wire.PDUCapsuleResp {
		p.t.Fatalf("%v, want %v", r.Type, wire.PDUCapsuleResp)
	}
	return r.Completion
}

// r2t starts a write of 8 KiB and returns what the target asks for.
func (p *peer) r2t() wire.R2T {
	p.t.Helper()
	cmd := wire.Command{Opcode: wire.OpWrite, CID: 0xa005, SGL: wire.SGL{Type: wire.SGLTransport, Length: 8192}}
	cmd.SetBlocks(0, 16)
	p.send(capsule(cmd, 0, nil))
	var r wire.R2T
	if err := r.UnmarshalBinary(p.receive(wire.R2TSize)); err != nil {
		p.t.Fatal(err)
	}
	if r.Type != wire.PDUR2T || r.CID != 0xa005 || r.Offset != 0 || r.Length != 8192 {
		p.t.Fatalf("asked for %+v", r)
	}
	return r
}

func icReq(change func(*wire.ICReq)) []byte {
	p := wire.NewICReq()
	if change != nil {
		change(&p)
	}
	b, _ := p.AppendBinary(nil)
	return b
}

// capsule is a CapsuleCmd with n bytes of data in it.
func capsule(cmd wire.Command, n int, change func(*wire.CapsuleCmd)) []byte {
	cmd.Flags = wire.FlagsSGL
	if n > 0 {
		cmd.SGL = wire.SGL{Type: wire.SGLInCapsule, Length: uint32(n)}
	}
	p := wire.NewCapsuleCmd(&cmd, n)
	if change != nil {
		change(&p)
	}
	b, _ := p.AppendBinary(nil)
	return append(b, make([]byte, n)...)
}

// data is the H2CData that answers an R2T in full, changed.
func data(r wire.R2T, change func(*wire.DataPDU)) []byte {
	p := wire.NewDataPDU(wire.PDUH2CData, r.CID, int(r.Offset), int(r.Length))
	p.TTag, p.Flags = r.TTag, wire.PDULast
	if change != nil {
		change(&p)
	}
	b, _ := p.AppendBinary(nil)
	return append(b, make([]byte, p.Length&0xffff)...)
}

var flush = wire.Command{Opcode: wire.OpFlush, CID: 7}

// breaches are what a target must answer with a C2HTermReq; reason 0 is a
// connection that is ended without a word.
var breaches = []struct {
	name   string
	do     func(p *peer)
	reason wire.FatalStatus
	info   uint32
}{
	{"unknown type first", func(p *peer) { p.send([]byte{0x55, 0, 8, 0, 8, 0, 0, 0}) }, wire.FatalHeaderField, 0},
	{"HTTP", func(p *peer) { p.send([]byte("GET / HTTP/1.1\r\n\r\n")) }, wire.FatalHeaderField, 0},
	{"command before ICReq", func(p *peer) { p.send(capsule(flush, 0, nil)) }, wire.FatalSequence, 0},
	{"data before ICReq", func(p *peer) { p.send(data(wire.R2T{Length: 4}, nil)) }, wire.FatalSequence, 0},
	{"ICReq of 129 bytes", func(p *peer) { p.send(icReq(func(r *wire.ICReq) { r.PLen = 129 })) }, wire.FatalHeaderField, 4},
	{"ICReq with a short header", func(p *peer) { p.send(icReq(func(r *wire.ICReq) { r.HLen = 24 })) }, wire.FatalHeaderField, 2},
	{"ICReq of another version", func(p *peer) { p.send(icReq(func(r *wire.ICReq) { r.PFV = 1 })) }, wire.FatalUnsupported, 8},
	{"ICReq with alignment 32", func(p *peer) { p.send(icReq(func(r *wire.ICReq) { r.HPDA = 32 })) }, wire.FatalHeaderField, 10},
	{"second ICReq", func(p *peer) { p.introduce(); p.send(icReq(nil)) }, wire.FatalSequence, 0},
	{"half an ICReq", func(p *peer) { p.send(icReq(nil)[:50]); p.half() }, 0, 0},
	{"half a command", func(p *peer) { p.connect(); p.send(capsule(flush, 0, nil)[:70]); p.half() }, 0, 0},
	{"half of the data", func(p *peer) { p.connect(); p.send(data(p.r2t(), nil)[:5000]); p.half() }, 0, 0},
	{"half of the data in the capsule", func(p *peer) { p.connect(); p.send(capsule(flush, 512, nil)[:100]); p.half() }, 0, 0},
	{"TermReq", func(p *peer) {
		p.connect()
		term := wire.NewTermReq(wire.PDUH2CTermReq, wire.FatalSequence, 0, 0)
		b, _ := term.AppendBinary(nil)
		p.send(b)
	}, 0, 0},
	{"TermReq without end", func(p *peer) {
		p.connect()
		term := wire.NewTermReq(wire.PDUH2CTermReq, wire.FatalSequence, 0, 129)
		b, _ := term.AppendBinary(nil)
		p.send(b)
	}, wire.FatalHeaderField, 4},
	{"PDU of a target", func(p *peer) {
		p.connect()
		r2t := wire.NewR2T(1, 1, 0, 4096)
		b, _ := r2t.AppendBinary(nil)
		p.send(b)
	}, wire.FatalHeaderField, 0},
	{"command of 4 GiB", func(p *peer) {
		p.connect()
		p.send(capsule(flush, 0, func(c *wire.CapsuleCmd) { c.PLen = 1<<32 - 1 }))
	}, wire.FatalHeaderField, 4},
	{"command with one byte too many in it", func(p *peer) {
		p.connect()
		p.send(capsule(flush, fabric.DefaultInCapsule+1, nil))
	}, wire.FatalHeaderField, 4},
	{"command shorter than its header", func(p *peer) {
		p.connect()
		p.send(capsule(flush, 0, func(c *wire.CapsuleCmd) { c.PLen = 71 }))
	}, wire.FatalHeaderField, 4},
	{"command with a long header", func(p *peer) {
		p.connect()
		p.send(capsule(flush, 0, func(c *wire.CapsuleCmd) { c.HLen = 73 }))
	}, wire.FatalHeaderField, 2},
	{"command with data somewhere", func(p *peer) {
		p.connect()
		p.send(capsule(flush, 512, func(c *wire.CapsuleCmd) { c.PDO = 80 }))
	}, wire.FatalHeaderField, 3},
	{"command with a digest", func(p *peer) {
		p.connect()
		p.send(capsule(flush, 0, func(c *wire.CapsuleCmd) { c.PDUHeader.Flags = wire.PDUHeaderDigest }))
	}, wire.FatalHeaderField, 1},
	{"more commands than the queue holds", func(p *peer) {
		p.connect()
		for range 4 {
			p.send(capsule(wire.Command{Opcode: nvmetest.OpNever}, 0, nil))
		}
	}, wire.FatalSequence, 0},
	{"two commands before connect", func(p *peer) {
		p.introduce()
		never := capsule(wire.Command{Opcode: nvmetest.OpNever}, 0, nil)
		p.send(append(never, never...))
	}, wire.FatalSequence, 0},
	{"data that nobody asked for", func(p *peer) { p.connect(); p.send(data(wire.R2T{Length: 512}, nil)) }, wire.FatalHeaderField, 10},
	{"data with a tag beyond all", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.TTag = 0xffff }))
	}, wire.FatalHeaderField, 10},
	{"data with the tag of a command that is executed", func(p *peer) {
		p.connect()
		p.send(capsule(wire.Command{Opcode: nvmetest.OpNever}, 0, nil))
		r := p.r2t()
		for tag := range uint16(fabric.DefaultMaxDepth) {
			if tag != r.TTag {
				r.TTag = tag
				break
			}
		}
		p.send(data(r, nil))
	}, wire.FatalHeaderField, 10},
	{"data of another command", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.CID++ }))
	}, wire.FatalHeaderField, 8},
	{"data not at the beginning", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.Offset = 4 }))
	}, wire.FatalOutOfRange, 12},
	{"the same data twice", func(p *peer) {
		p.connect()
		r := p.r2t()
		half := func(d *wire.DataPDU) { d.Length, d.PLen, d.Flags = 4096, 4096+24, 0 }
		p.send(data(r, half))
		p.send(data(r, half))
	}, wire.FatalOutOfRange, 12},
	{"too much data", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.Length += 4; d.PLen += 4 }))
	}, wire.FatalOutOfRange, 16},
	{"last data too early", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.Length -= 4; d.PLen -= 4 }))
	}, wire.FatalOutOfRange, 1},
	{"data longer than it says", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.Length -= 4 }))
	}, wire.FatalHeaderField, 16},
	{"no data", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.Length, d.PLen = 0, 24 }))
	}, wire.FatalHeaderField, 16},
	{"data without its size that is not all", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.Length, d.PLen = 4096, 24 }))
	}, wire.FatalHeaderField, 16},
	{"data without its size that is more", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.Length += 4; d.PLen = 24 }))
	}, wire.FatalHeaderField, 16},
	{"data without its size elsewhere", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.PDO, d.PLen = 28, 24 }))
	}, wire.FatalHeaderField, 16},
	{"data larger than agreed", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.Length = 1 << 20; d.PLen = 1<<20 + 24 }))
	}, wire.FatalHeaderField, 4},
	{"data with padding", func(p *peer) {
		p.connect()
		p.send(data(p.r2t(), func(d *wire.DataPDU) { d.PDO = 28; d.PLen += 4 }))
	}, wire.FatalHeaderField, 3},
}

// half ends what the peer says, not what it hears.
func (p *peer) half() { _ = p.conn.(*net.TCPConn).CloseWrite() }

// end reads until the target hangs up, past responses, and returns its
// TermReq. The target does not wait for ever for who is still sending: what it
// has said is there all the same.
func (p *peer) end() *wire.TermReq {
	p.t.Helper()
	all, err := io.ReadAll(p.conn)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) {
		p.t.Fatalf("after %d bytes: %v", len(all), err)
	}
	for len(all) > 0 {
		var h wire.PDUHeader
		if err := h.UnmarshalBinary(all); err != nil || int(h.PLen) > len(all) || h.PLen < 8 {
			p.t.Fatalf("%v of %d bytes, %d are there: %v", h.Type, h.PLen, len(all), err)
		}
		if h.Type == wire.PDUC2HTermReq {
			var term wire.TermReq
			if err := term.UnmarshalBinary(all); err != nil {
				p.t.Fatal(err)
			}
			if int(h.PLen) != len(all) || h.PLen > wire.TermReqMax {
				p.t.Errorf("%v of %d bytes, and then %d", h.Type, h.PLen, len(all)-int(h.PLen))
			}
			return &term
		}
		all = all[h.PLen:]
	}
	return nil
}

func TestHostileHosts(t *testing.T) { hostileHosts(t, new(tcp.Transport)) }

func hostileHosts(t *testing.T, tr *tcp.Transport) {
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	l, err := tr.Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0"}, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	innocent, err := tr.Dial(context.Background(), fabric.DialParams{Addr: l.Addr(), Depth: 2, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer innocent.Close()
	connect := wire.ConnectCommand{SQSize: 2}.Command()
	if _, err := fabric.Do(innocent, &connect, make([]byte, wire.ConnectDataSize)); err != nil {
		t.Fatal(err)
	}
	for _, c := range breaches {
		t.Run(c.name, func(t *testing.T) {
			p := dialPeer(t, l.Addr())
			c.do(p)
			term := p.end()
			switch {
			case c.reason == 0 && term != nil:
				t.Errorf("answered with %v at %d", term.Reason, term.Info)
			case c.reason != 0 && term == nil:
				t.Error("no C2HTermReq")
			case c.reason != 0 && (term.Reason != c.reason || term.Info != c.info):
				t.Errorf("%v at %d, want %v at %d", term.Reason, term.Info, c.reason, c.info)
			}
			if st, err := fabric.Do(innocent, &wire.Command{Opcode: wire.OpFlush}, nil); err != nil || st.Status != wire.Success {
				t.Fatalf("another connection suffers: %v, %v", st.Status, err)
			}
		})
	}
	_ = innocent.Close()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	open, ended := disk.Open()
	if open != 0 {
		t.Errorf("%d connections remain", open)
	}
	told := 0
	for _, err := range ended {
		if err != nil {
			told++
		}
	}
	if told < len(breaches) {
		t.Errorf("the handlers of %d connections were told why they ended, want %d", told, len(breaches))
	}
}
