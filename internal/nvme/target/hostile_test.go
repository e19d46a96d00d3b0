package target

import (
	"bytes"
	"math/rand/v2"
	"runtime"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// A hostile host is connected as it should be, and then sends any commands.
type hostile struct {
	*rig
	rand  *rand.Rand
	admin fabric.Queue
	io    fabric.Queue
	free  map[fabric.Queue][]uint16
}

const hostileDepth = 31 // what rig.dial opens

func (h *hostile) connect() {
	h.admin, h.io = h.both()
	h.free = map[fabric.Queue][]uint16{}
	for _, q := range []fabric.Queue{h.admin, h.io} {
		for tag := range uint16(hostileDepth) {
			h.free[q] = append(h.free[q], tag)
		}
	}
}

// pick is one of some values, or any.
func pick[T ~uint8 | ~uint16 | ~uint32](r *rand.Rand, some ...T) T {
	if r.IntN(4) == 0 {
		return T(r.Uint32())
	}
	return some[r.IntN(len(some))]
}

// command makes one that is nearly right more often than not.
func (h *hostile) command() (wire.Command, []byte) {
	r := h.rand
	c := wire.Command{
		Opcode: pick(r, wire.OpRead, uint8(wire.OpWrite), wire.OpFlush, wire.OpCompare, wire.OpWriteZeroes, wire.OpDSM,
			wire.OpIdentify, wire.OpGetLogPage, wire.OpGetFeatures, wire.OpSetFeatures, wire.OpAsyncEvent, wire.OpAbort, wire.OpKeepAlive, wire.OpFabrics),
		NSID:  pick(r, 0, uint32(1), 2, 3, wire.NSIDAll, wire.FabricsPropertyGet, wire.FabricsPropertySet, wire.FabricsAuthReceive),
		CDW10: pick(r, 0, uint32(1), 2, 3, 7, 0x0c, 0x70, 0x003f0004, 2047, 2048),
		CDW11: pick(r, 0, uint32(0), 0, 1, 4, wire.PropCC),
		CDW12: pick(r, 0, uint32(7), 255, 1<<30, 1<<25),
		CDW13: pick(r, 0, uint32(0), 1<<31),
		CDW14: pick(r, 0, uint32(0), 1<<23),
	}
	n := []int{0, 16, 512, 512, 4096, 4096, 4 << 10, 64 << 10, r.IntN(8 << 10)}[r.IntN(9)]
	return c, make([]byte, n)
}

// step sends one command more and takes what has come; false is a connection
// that the target has ended, as some commands make it.
func (h *hostile) step() bool {
	q := h.admin
	if h.rand.IntN(2) == 0 {
		q = h.io
	}
	free := h.free[q]
	cmd, data := h.command()
	if err := q.Submit(free[0], &cmd, fabric.Buffer{Bytes: data}); err != nil {
		return false
	}
	h.free[q] = free[1:]
	var done [hostileDepth]wire.Completion
	for {
		// The last few places may be taken by event requests for good.
		take := q.Poll
		if len(h.free[q]) == 0 {
			take = q.Wait
		}
		n, err := take(done[:])
		if err != nil {
			return false
		}
		for _, c := range done[:n] {
			h.free[q] = append(h.free[q], c.CID)
		}
		if len(h.free[q]) > 0 {
			return true
		}
	}
}

// TestRandomCommands: whatever one host sends, the target lives, another host
// is served as before, and memory stays within bounds.
func TestRandomCommands(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		rounds := 20_000
		if testing.Short() {
			rounds = 2000
		}
		_, id := r.admin(subNQN, hostNQN, 0)
		honest := r.io(subNQN, hostNQN, id, 1)
		h := &hostile{rig: r, rand: rand.New(rand.NewPCG(7, 123456))}
		h.connect()
		ended := 0
		got := make([]byte, 4096)
		for i := range rounds {
			if !h.step() {
				ended++
				_ = h.admin.Close()
				_ = h.io.Close()
				h.connect()
			}
			if i%100 == 0 {
				r.want(wire.Success, honest, blocks(wire.OpRead, 3, 0, 1), got)
				r.want(wire.LBAOutOfRange.WithDNR(), honest, blocks(wire.OpRead, 3, 1<<40, 1), got)
			}
		}
		if ended == rounds {
			t.Error("no command was ever answered")
		}
		_ = h.admin.Close()
		_ = h.io.Close()
		same := bytes.Repeat([]byte{0x5a}, 4096)
		r.want(wire.Success, honest, blocks(wire.OpWrite, 3, 7, 1), same)
		r.want(wire.Success, honest, blocks(wire.OpRead, 3, 7, 1), got)
		if !bytes.Equal(got, same) {
			t.Error("what the other host writes is not what it reads")
		}
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		if m.HeapAlloc > 256<<20 {
			t.Errorf("%d MiB are in use after %d connections", m.HeapAlloc>>20, ended)
		}
		t.Logf("%d commands, %d connections ended, %d MiB in use", rounds, ended, m.HeapAlloc>>20)
	})
}
