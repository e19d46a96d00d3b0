package tcp_test

import (
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// TestDrop: a command that is dropped is not answered, and its place is free.
func TestDrop(t *testing.T) {
	p := dialPeer(t, listenDisk(t, fabric.ListenParams{}))
	p.connect()
	const more = 20 // than the queue has places
	for i := range uint16(more) {
		p.send(capsule(wire.Command{Opcode: nvmetest.OpDrop, CID: 1000 + i}, 0, nil))
		p.send(capsule(wire.Command{Opcode: nvmetest.OpEcho, CID: i, CDW10: 7}, 0, nil))
		// The head of the queue goes on with what was taken from it: two each time.
		if c := p.response(); c.CID != i || c.Result != 7 || c.SQHead != (1+2*(i+1))%3 {
			t.Fatalf("%d: %+v", i, c)
		}
	}
}

// TestWindows replays how the initiator of Windows Server 2025 sends what its Connect
// of an I/O queue brings: when it is asked, by R2T, in an H2CData that says that it
// ends with its header. The source is notes of a team that has connected it.
func TestWindows(t *testing.T) { windowsHost(t, &tcp.Transport{}) }

func windowsHost(t *testing.T, tr *tcp.Transport) {
	p := dialPeer(t, listenDiskOn(t, tr, fabric.ListenParams{}))
	p.introduce()
	cmd := wire.ConnectCommand{QID: 1, SQSize: 2}.Command()
	cmd.CID, cmd.SGL = 9, wire.SGL{Type: wire.SGLTransport, Length: wire.ConnectDataSize}
	p.send(capsule(cmd, 0, nil))
	var ask wire.R2T
	if err := ask.UnmarshalBinary(p.receive(wire.R2TSize)); err != nil || ask.Type != wire.PDUR2T || ask.CID != 9 || ask.Length != wire.ConnectDataSize {
		t.Fatalf("%+v, %v", ask, err)
	}
	unsized := func(d *wire.DataPDU) { d.PLen = uint32(d.HLen) }
	p.send(data(ask, unsized))
	if c := p.response(); c.Status != wire.Success || c.CID != 9 {
		t.Fatalf("%+v", c)
	}
	// A write may do the same, and what follows is understood.
	p.send(data(p.r2t(), unsized))
	if c := p.response(); c.Status != wire.Success || c.CID != 0xa005 {
		t.Fatalf("%+v", c)
	}
	p.send(capsule(wire.Command{Opcode: nvmetest.OpEcho, CID: 3, CDW10: 8}, 0, nil))
	if c := p.response(); c.CID != 3 || c.Result != 8 {
		t.Fatalf("%+v", c)
	}
}
