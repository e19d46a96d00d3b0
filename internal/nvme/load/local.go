package load

import (
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"unsafe"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/wire"
)

const page = 4096

// Aligned is memory that direct I/O takes.
func Aligned(n int) []byte {
	b := make([]byte, n+page)
	skip := (page - int(uintptr(unsafe.Pointer(&b[0]))%page)) % page
	return b[skip:][:n:n]
}

// A Local is a file or block device of this machine.
type Local struct {
	f      *os.File
	direct bool
	size   uint64
	block  int
}

// OpenLocal opens a file or device; direct goes past the system's cache.
func OpenLocal(path string, block int, write, direct bool) (*Local, error) {
	flag := os.O_RDONLY
	if write {
		flag = os.O_RDWR
	}
	if direct {
		if directFlag == 0 {
			return nil, fmt.Errorf("open %s: this system has no direct I/O; leave it out", path)
		}
		flag |= directFlag
	}
	f, err := os.OpenFile(path, flag, 0)
	if err != nil {
		return nil, err // names the path
	}
	end, err := f.Seek(0, io.SeekEnd) // says the size of devices too
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("find the size of %s: %w", path, err)
	}
	return &Local{f: f, direct: direct, block: block, size: uint64(end) / uint64(block) * uint64(block)}, nil
}

// ReadAt reads from a place in the file; where that goes past the system's
// cache, into memory of Aligned.
func (l *Local) ReadAt(p []byte, at int64) (int, error) { return l.f.ReadAt(p, at) }

// Capacity is the size in bytes, in whole blocks.
func (l *Local) Capacity() uint64 { return l.size }

// Close closes the file. Its lanes must be closed.
func (l *Local) Close() error { return l.f.Close() }

// Lane starts as many threads as commands may be outstanding.
func (l *Local) Lane(depth int) *LocalLane {
	a := &LocalLane{
		l: l, busy: make([]bool, depth),
		work: make(chan localCommand, depth), over: make(chan initiator.Done, depth),
	}
	for range depth {
		a.wg.Go(a.serve)
	}
	return a
}

// A LocalLane is a Lane of a Local.
type LocalLane struct {
	l     *Local
	busy  []bool
	under int
	work  chan localCommand
	over  chan initiator.Done
	wg    sync.WaitGroup
}

type localCommand struct {
	slot int
	op   uint8
	at   int64
	buf  []byte
}

func (a *LocalLane) serve() {
	for c := range a.work {
		var err error
		switch c.op {
		case wire.OpRead:
			_, err = a.l.f.ReadAt(c.buf, c.at)
		case wire.OpWrite:
			_, err = a.l.f.WriteAt(c.buf, c.at)
		default:
			err = a.l.f.Sync()
		}
		a.over <- initiator.Done{Slot: c.slot, Err: err}
	}
}

// Depth is how many commands may be outstanding.
func (a *LocalLane) Depth() int { return len(a.busy) }

// Submit hands a command to a thread.
func (a *LocalLane) Submit(slot int, op uint8, lba uint64, blocks int, buf []byte) error {
	if slot < 0 || slot >= len(a.busy) || a.busy[slot] {
		return fabric.ErrTag
	}
	a.busy[slot] = true
	a.under++
	a.work <- localCommand{slot, op, int64(lba) * int64(a.l.block), buf}
	return nil
}

// Wait takes what the threads have done. They do not wait for anything that a
// context could end.
func (a *LocalLane) Wait(_ context.Context, done []initiator.Done, block bool) (int, error) {
	n := 0
	for n < len(done) {
		if block && n == 0 {
			if a.under == 0 {
				return 0, fabric.ErrIdle
			}
			done[n] = <-a.over
		} else {
			select {
			case done[n] = <-a.over:
			default:
				return n, nil
			}
		}
		a.busy[done[n].Slot] = false
		a.under--
		n++
	}
	return n, nil
}

// Close ends the threads; nothing may be outstanding.
func (a *LocalLane) Close() {
	close(a.work)
	a.wg.Wait()
}
