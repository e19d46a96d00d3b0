package tcp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// lie is a target that answers the first PDU with icresp, and the first
// command with what answer makes of it.
func lie(t *testing.T, icresp []byte, answer func(cmd wire.Command) []byte) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(patience))
		if _, err := io.ReadFull(conn, make([]byte, wire.ICSize)); err != nil {
			return
		}
		_, _ = conn.Write(icresp)
		raw := make([]byte, wire.CapsuleCmdSize)
		if _, err := io.ReadFull(conn, raw); err == nil {
			var c wire.CapsuleCmd
			_ = c.UnmarshalBinary(raw)
			_, _ = conn.Write(answer(c.Command))
		}
		_, _ = io.Copy(io.Discard, conn)
	}()
	t.Cleanup(func() { _ = l.Close(); <-served })
	return l.Addr().String()
}

func icResp(change func(*wire.ICResp)) []byte {
	p := wire.NewICResp()
	p.MaxH2CData = 4096
	if change != nil {
		change(&p)
	}
	b, _ := p.AppendBinary(nil)
	return b
}

func toHost(cid uint16, at, n int, flags uint8) []byte {
	p := wire.NewDataPDU(wire.PDUC2HData, cid, at, n)
	p.Flags = flags
	b, _ := p.AppendBinary(nil)
	return append(b, make([]byte, n)...)
}

func ask(cid uint16, at, n int) []byte {
	p := wire.NewR2T(cid, 9, at, n)
	b, _ := p.AppendBinary(nil)
	return b
}

func respond(c wire.Completion) []byte {
	p := wire.NewCapsuleResp(c)
	b, _ := p.AppendBinary(nil)
	return b
}

func TestHostileTargets(t *testing.T) {
	term := wire.NewTermReq(wire.PDUC2HTermReq, wire.FatalUnsupported, 8, 0)
	termRaw, _ := term.AppendBinary(nil)
	for _, c := range []struct {
		name string
		ic   []byte
		say  string
	}{
		{"another version", icResp(func(r *wire.ICResp) { r.PFV = 2 }), "version 2"},
		{"digests", icResp(func(r *wire.ICResp) { r.Digest = 1 }), "digests"},
		{"padding", icResp(func(r *wire.ICResp) { r.CPDA = 1 }), "alignment"},
		{"tiny H2CData", icResp(func(r *wire.ICResp) { r.MaxH2CData = 512 }), "512"},
		{"odd H2CData", icResp(func(r *wire.ICResp) { r.MaxH2CData = 4098 }), "4098"},
		{"a response", respond(wire.Completion{}), "CapsuleResp"},
		{"not NVMe/TCP", []byte("SSH-2.0-OpenSSH_9.2\r\n"), "PDU type"},
		{"a TermReq", termRaw, "unsupported parameter"},
		{"longer than it is", icResp(func(r *wire.ICResp) { r.PLen = 132 }), "132"},
	} {
		addr := lie(t, c.ic, func(wire.Command) []byte { return nil })
		q, err := new(tcp.Transport).Dial(context.Background(), fabric.DialParams{Addr: addr, Depth: 2, Timeout: patience})
		if err == nil {
			_ = q.Close()
			t.Errorf("ICResp: %s: accepted", c.name)
		} else if !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), addr) {
			t.Errorf("ICResp: %s: %v", c.name, err)
		}
	}
	for _, c := range []struct {
		name   string
		op     uint8
		answer func(cmd wire.Command) []byte
		say    string
	}{
		{"response to nothing", wire.OpRead, func(wire.Command) []byte { return respond(wire.Completion{CID: 5}) }, "command 5"},
		{"response beyond the queue", wire.OpRead, func(wire.Command) []byte { return respond(wire.Completion{CID: 0xffff}) }, "command 65535"},
		{"success without data", wire.OpRead, func(c wire.Command) []byte { return respond(wire.Completion{CID: c.CID}) }, "0 of 4096"},
		{"success without fetching the data", wire.OpWrite, func(c wire.Command) []byte { return respond(wire.Completion{CID: c.CID}) }, "0 of 4096"},
		{"success with less data", wire.OpRead, func(c wire.Command) []byte {
			return append(toHost(c.CID, 0, 2048, wire.PDULast), respond(wire.Completion{CID: c.CID})...)
		}, "2048 of 4096"},
		{"success flag with less data", wire.OpRead, func(c wire.Command) []byte { return toHost(c.CID, 0, 2048, wire.PDULast|wire.PDUSuccess) }, "2048 of 4096"},
		{"success that is not the last", wire.OpRead, func(c wire.Command) []byte { return toHost(c.CID, 0, 4096, wire.PDUSuccess) }, "not the last"},
		{"too much data", wire.OpRead, func(c wire.Command) []byte { return toHost(c.CID, 0, 4100, wire.PDULast) }, "C2HData of 4100"},
		{"data elsewhere", wire.OpRead, func(c wire.Command) []byte { return toHost(c.CID, 4, 512, 0) }, "at 4"},
		{"data for a write", wire.OpWrite, func(c wire.Command) []byte { return toHost(c.CID, 0, 512, 0) }, "reads nothing"},
		{"data for nothing", wire.OpRead, func(wire.Command) []byte { return toHost(1, 0, 512, 0) }, "not outstanding"},
		{"R2T for a read", wire.OpRead, func(c wire.Command) []byte { return ask(c.CID, 0, 512) }, "R2T"},
		{"R2T beyond the end", wire.OpWrite, func(c wire.Command) []byte { return ask(c.CID, 0, 4097) }, "R2T"},
		{"R2T for nothing", wire.OpWrite, func(c wire.Command) []byte { return ask(c.CID, 0, 0) }, "R2T"},
		{"R2T not at the beginning", wire.OpWrite, func(c wire.Command) []byte { return ask(c.CID, 512, 512) }, "R2T"},
		{"the same R2T twice", wire.OpWrite, func(c wire.Command) []byte { return append(ask(c.CID, 0, 4096), ask(c.CID, 0, 4096)...) }, "has sent 4096 of 4096"},
		{"a command", wire.OpRead, func(c wire.Command) []byte { return capsule(c, 0, nil) }, "CapsuleCmd from a target"},
		{"TermReq", wire.OpRead, func(wire.Command) []byte { return termRaw }, "peer ended the connection: unsupported parameter"},
	} {
		addr := lie(t, icResp(nil), c.answer)
		q, err := new(tcp.Transport).Dial(context.Background(), fabric.DialParams{Addr: addr, QID: 1, Depth: 2, Timeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		cmd := wire.Command{Opcode: c.op}
		_, err = fabric.Do(q, &cmd, make([]byte, 4096))
		if err == nil || !strings.Contains(err.Error(), c.say) || !strings.Contains(err.Error(), addr) {
			t.Errorf("%s: %v", c.name, err)
		}
		if err := q.Submit(1, &cmd, fabric.Buffer{}); err == nil {
			t.Errorf("%s: the queue lives", c.name)
		}
		_ = q.Close()
	}
}

// TestAnswerTwice: a second response to a command is none to another one.
func TestAnswerTwice(t *testing.T) {
	addr := lie(t, icResp(nil), func(c wire.Command) []byte {
		r := respond(wire.Completion{CID: c.CID})
		return append(r, r...)
	})
	q, err := new(tcp.Transport).Dial(context.Background(), fabric.DialParams{Addr: addr, QID: 1, Depth: 2, Timeout: patience})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	for tag := range uint16(2) {
		if err := q.Submit(tag, &wire.Command{Opcode: wire.OpFlush}, fabric.Buffer{}); err != nil {
			t.Fatal(err)
		}
	}
	done, completed := make([]wire.Completion, 2), 0
	for err == nil {
		var n int
		n, err = q.Wait(done)
		completed += n
	}
	if completed > 1 || !strings.Contains(err.Error(), "command 0, which is not outstanding") {
		t.Errorf("%d completed, then %v", completed, err)
	}
}

func TestDialIsBounded(t *testing.T) {
	addr := lie(t, nil, func(wire.Command) []byte { return nil })
	_, err := new(tcp.Transport).Dial(context.Background(), fabric.DialParams{Addr: addr, Depth: 1, Timeout: 20 * time.Millisecond})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a target that says nothing: %v", err)
	}
	addr = lie(t, nil, func(wire.Command) []byte { return nil })
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(10*time.Millisecond, cancel)
	_, err = new(tcp.Transport).Dial(ctx, fabric.DialParams{Addr: addr, Depth: 1, Timeout: patience})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a dial that is no longer wanted: %v", err)
	}
}
