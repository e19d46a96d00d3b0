package tcp_test

import (
	"bytes"
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// TestDataDescriptions sends commands whose SGL is wrong: the command fails,
// the connection lives.
func TestDataDescriptions(t *testing.T) {
	p := dialPeer(t, listenDisk(t, fabric.ListenParams{}))
	p.connect()
	write := wire.Command{Opcode: wire.OpWrite, CID: 0xb001}
	with := func(f func(*wire.Command)) func(*wire.CapsuleCmd) {
		return func(c *wire.CapsuleCmd) { f(&c.Command) }
	}
	for _, c := range []struct {
		name   string
		inside int
		change func(*wire.Command)
		want   wire.Status
	}{
		{"in the capsule", 512, func(*wire.Command) {}, wire.Success},
		{"offset", 512, func(c *wire.Command) { c.SGL.Address = 4 }, wire.SGLInvalidOffset},
		{"shorter than the capsule", 512, func(c *wire.Command) { c.SGL.Length = 508 }, wire.SGLInvalidLength},
		{"longer than the capsule", 512, func(c *wire.Command) { c.SGL.Length = 1024 }, wire.SGLInvalidLength},
		{"nothing described", 512, func(c *wire.Command) { c.SGL.Length = 0 }, wire.SGLInvalidLength},
		{"both ways", 512, func(c *wire.Command) { c.SGL.Type = wire.SGLTransport }, wire.SGLInvalidLength},
		{"keyed", 0, func(c *wire.Command) { c.SGL = wire.SGL{Type: wire.SGLKeyed, Length: 512} }, wire.SGLInvalidType},
		{"not in the capsule", 0, func(c *wire.Command) { c.SGL = wire.SGL{Type: wire.SGLInCapsule, Length: 512} }, wire.SGLInvalidLength},
		{"4 GiB", 0, func(c *wire.Command) { c.SGL = wire.SGL{Type: wire.SGLTransport, Length: 1<<32 - 1} }, wire.SGLInvalidLength},
		{"PRP", 512, func(c *wire.Command) { c.Flags = 0 }, wire.InvalidField},
	} {
		p.send(capsule(write, c.inside, with(c.change)))
		r := p.response()
		if r.Status.Code() != c.want || r.CID != 0xb001 || r.Status != wire.Success && !r.Status.DNR() {
			t.Errorf("%s: %v of command 0x%x, want %v", c.name, r.Status, r.CID, c.want)
		}
	}
}

func listenDisk(t *testing.T, params fabric.ListenParams) string {
	t.Helper()
	return listenDiskOn(t, new(tcp.Transport), params)
}

func listenDiskOn(t *testing.T, tr *tcp.Transport, params fabric.ListenParams) string {
	t.Helper()
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	params.Addr = "127.0.0.1:0"
	l, err := tr.Listen(context.Background(), params, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr()
}

// TestByteByByte sends a whole conversation in pieces of one byte.
func TestByteByByte(t *testing.T) {
	p := dialPeer(t, listenDisk(t, fabric.ListenParams{}))
	var b []byte
	b = append(b, icReq(nil)...)
	b = append(b, capsule(wire.ConnectCommand{SQSize: 3}.Command(), wire.ConnectDataSize, nil)...)
	for i := range b {
		p.send(b[i : i+1])
	}
	p.receive(wire.ICSize)
	if r := p.response(); r.Status != wire.Success {
		t.Error(r.Status)
	}
}

// TestDataAlignment asks for C2HData that begins at a multiple of 32 bytes,
// and finds the success flag only where flow control is off.
func TestDataAlignment(t *testing.T) {
	for _, c := range []struct {
		attributes uint8
		flags      uint8
		responses  int
	}{{0, wire.PDULast, 1}, {wire.ConnectNoFlow, wire.PDULast | wire.PDUSuccess, 0}} {
		p := dialPeer(t, listenDisk(t, fabric.ListenParams{}))
		p.send(icReq(func(r *wire.ICReq) { r.HPDA = 7 }))
		p.receive(wire.ICSize)
		p.send(capsule(wire.ConnectCommand{QID: 1, SQSize: 3, Attributes: c.attributes}.Command(), wire.ConnectDataSize, nil))
		if r := p.response(); (r.SQHead == wire.SQHeadNoFlow) != (c.attributes != 0) {
			t.Errorf("attributes 0x%x: SQ head 0x%x", c.attributes, r.SQHead)
		}
		read := wire.Command{Opcode: wire.OpRead, CID: 3, SGL: wire.SGL{Type: wire.SGLTransport, Length: 512}}
		p.send(capsule(read, 0, nil))
		var d wire.DataPDU
		if err := d.UnmarshalBinary(p.receive(32)); err != nil {
			t.Fatal(err)
		}
		if d.Type != wire.PDUC2HData || d.PDO != 32 || d.HLen != 24 || d.PLen != 32+512 || d.Flags != c.flags || d.Length != 512 {
			t.Errorf("attributes 0x%x: %+v", c.attributes, d)
		}
		if !bytes.Equal(p.receive(512), make([]byte, 512)) {
			t.Error("data changed")
		}
		for range c.responses {
			if r := p.response(); r.CID != 3 || r.Status != wire.Success {
				t.Errorf("%+v", r)
			}
		}
	}
}

// TestDeafHost sends commands and never reads an answer: answers must not pile
// up without end.
func TestDeafHost(t *testing.T) {
	const size, commands = 64 << 10, 2000
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	l, err := new(tcp.Transport).Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0", MaxTransfer: size}, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := dialPeer(t, l.Addr())
	p.connect()
	read := wire.Command{Opcode: wire.OpRead, SGL: wire.SGL{Type: wire.SGLTransport, Length: size}}
	read.SetBlocks(0, size/nvmetest.BlockSize)
	for range commands {
		p.send(capsule(read, 0, nil))
	}
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		if open, ended := disk.Open(); open == 0 {
			if len(ended) != 1 || ended[0] == nil || !strings.Contains(ended[0].Error(), "answers are not read") {
				t.Errorf("ended with %v", ended)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d commands of %d bytes were answered, and none of it read", commands, size)
		}
	}
}

// TestIdleConnectionsAreCheap opens connections that stop after ICReq, as
// anybody can.
func TestIdleConnectionsAreCheap(t *testing.T) {
	const connections, each = 200, 32 << 10
	addr := listenDisk(t, fabric.ListenParams{})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	for range connections {
		dialPeer(t, addr).introduce()
	}
	if after := heap(); after > before+connections*each {
		t.Errorf("%d connections take %d KiB each", connections, (after-before)/connections>>10)
	}
}
