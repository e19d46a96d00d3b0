package tcp_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

const (
	deafDepth = 1023
	deafSize  = 128 << 10
	heldMost  = 12 << 20 // bytes in memory for one connection, what is used again and garbage included
)

// deep opens an I/O queue for as many commands as a target allows.
func deep(t *testing.T, tr *tcp.Transport, disk *nvmetest.Disk, timeout time.Duration) *peer {
	t.Helper()
	l, err := tr.Listen(t.Context(), fabric.ListenParams{Addr: "127.0.0.1:0", MaxDepth: 1024, MaxTransfer: deafSize, Timeout: timeout}, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	p := dialPeer(t, l.Addr())
	p.introduce()
	p.send(capsule(wire.ConnectCommand{QID: 1, SQSize: deafDepth}.Command(), wire.ConnectDataSize, nil))
	if st := p.response().Status; st != wire.Success {
		t.Fatal(st)
	}
	return p
}

func heapNow() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// moved is a command that moves deafSize bytes.
func moved(op uint8, cid int) wire.Command {
	c := wire.Command{Opcode: op, CID: uint16(cid), SGL: wire.SGL{Type: wire.SGLTransport, Length: deafSize}}
	c.SetBlocks(0, deafSize/nvmetest.BlockSize)
	return c
}

// TestDeafDeepHost asks for far more than it reads: the target holds a bounded
// part of it, and once the host reads it gets everything.
func TestDeafDeepHost(t *testing.T) { deafDeepHost(t, new(tcp.Transport)) }

func deafDeepHost(t *testing.T, tr *tcp.Transport) {
	for _, async := range []bool{false, true} {
		disk := &nvmetest.Disk{Data: make([]byte, 1<<20), Async: async}
		p := deep(t, tr, disk, patience)
		before := heapNow()
		for i := range deafDepth {
			p.send(capsule(moved(wire.OpRead, i), 0, nil))
		}
		for range 50 { // whatever it holds in the end, it has room for by now
			if held := heapNow() - before; held > heldMost {
				t.Fatalf("async %v: %d KiB are held for a host that reads nothing", async, held>>10)
			}
			time.Sleep(2 * time.Millisecond)
		}
		seen := map[uint16]bool{}
		for len(seen) < deafDepth {
			var d wire.DataPDU
			if err := d.UnmarshalBinary(p.receive(wire.DataHeaderSize)); err != nil {
				t.Fatal(err)
			}
			p.receive(int(d.Length))
			r := p.response()
			if seen[r.CID] || r.Status != wire.Success || r.CID != d.CID || d.Length != deafSize {
				t.Fatalf("%+v after %+v", r, d)
			}
			seen[r.CID] = true
		}
		_ = p.conn.Close()
		disk.Wait()
	}
}

// TestDeafDeepWriter announces far more data than a target takes at a time: it is
// asked for a bounded part of it, and in the end for everything.
func TestDeafDeepWriter(t *testing.T) { deafDeepWriter(t, new(tcp.Transport)) }

func deafDeepWriter(t *testing.T, tr *tcp.Transport) {
	const most = 33 // transfers at a time, of 4 MiB and one more
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	p := deep(t, tr, disk, patience)
	for i := range deafDepth {
		p.send(capsule(moved(wire.OpWrite, i), 0, nil))
	}
	p.send(capsule(wire.Command{Opcode: nvmetest.OpEcho, CID: deafDepth}, 0, nil)) // is answered after all that is asked for at once
	var asked []wire.R2T
	heard := false
	for done := 0; done < deafDepth; {
		var h wire.PDUHeader
		raw := p.receive(wire.PDUHeaderSize)
		if err := h.UnmarshalBinary(raw); err != nil {
			t.Fatal(err)
		}
		raw = append(raw, p.receive(int(h.PLen)-len(raw))...)
		switch h.Type {
		case wire.PDUR2T:
			var r wire.R2T
			if err := r.UnmarshalBinary(raw); err != nil {
				t.Fatal(err)
			}
			if asked = append(asked, r); len(asked) > most {
				t.Fatalf("asked for %d transfers at a time", len(asked))
			}
		case wire.PDUCapsuleResp:
			var r wire.CapsuleResp
			if err := r.UnmarshalBinary(raw); err != nil || r.Completion.Status != wire.Success {
				t.Fatal(r, err)
			}
			if heard = heard || r.Completion.CID == deafDepth; r.Completion.CID != deafDepth {
				done++
			}
		}
		if !heard {
			continue
		}
		for _, r := range asked {
			p.send(data(r, nil))
			p.send(make([]byte, deafSize-int(r.Length&0xffff)))
		}
		asked = nil
	}
}

// TestDeafHostHoldsUpNobody: what is shared comes back, though its reader never
// reads: someone may wait to write to it.
func TestDeafHostHoldsUpNobody(t *testing.T) { deafHostHoldsUpNobody(t, new(tcp.Transport)) }

func deafHostHoldsUpNobody(t *testing.T, tr *tcp.Transport) {
	for _, async := range []bool{false, true} {
		disk := &nvmetest.Disk{Async: async}
		p := deep(t, tr, disk, patience)
		for i := range deafDepth {
			lend := moved(nvmetest.OpLend, i)
			lend.CDW10, lend.CDW11 = 0, 1
			p.send(capsule(lend, 0, nil))
			if i%10 == 0 {
				time.Sleep(100 * time.Microsecond) // some come while others are being sent
			}
		}
		for end := time.Now().Add(patience / 2); disk.Lent() > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("async %v: %d buffers wait for a host that does not read", async, disk.Lent())
			}
		}
		_ = p.conn.Close()
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) { // commands that came before may still begin
			if open, _ := disk.Open(); open == 0 {
				break
			}
			if time.Now().After(end) {
				t.Fatal("a connection that its host has closed does not end")
			}
		}
		disk.Wait()
	}
}

// TestDeafHostIsLeft: who reads nothing for as long as a host may take for that is
// sent away, and the target knows why.
func TestDeafHostIsLeft(t *testing.T) {
	t.Parallel()
	deafHostIsLeft(t, new(tcp.Transport))
}

func deafHostIsLeft(t *testing.T, tr *tcp.Transport) {
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	p := deep(t, tr, disk, 3*time.Second)
	for i := range deafDepth {
		p.send(capsule(moved(wire.OpRead, i), 0, nil))
	}
	var ended []error
	for end := time.Now().Add(patience); len(ended) == 0; time.Sleep(time.Millisecond) {
		if _, ended = disk.Open(); time.Now().After(end) {
			t.Fatal("a host that reads nothing is still there")
		}
	}
	if err := ended[0]; err == nil || errors.Is(err, fabric.ErrClosed) || !strings.Contains(err.Error(), "answers was read") {
		t.Errorf("ended with %v", err)
	}
}
