package load

import (
	"encoding/binary"
	"fmt"

	"weft/internal/nvme/crc32c"
	"weft/internal/nvme/wire"
)

// Every block that is verified says which run wrote it, where it belongs and
// which write of its place it is, at its beginning and at its end, and has a
// checksum. All numbers are little endian:
//
//	0  magic   8  run   16  address in blocks   24  generation
//	32 checksum (CRC32C of the block with this field zero)
//	36 filler, which depends on all of the above
//	n-16 generation again   n-8 magic again
const (
	blockMagic = 0x316b636f6c627766 // "fwblock1"
	sumAt      = 32
	fillerAt   = 36
	tailSize   = 16
)

// Check is what the verification of blocks has found.
type Check struct {
	Blocks    int64  // that were read and compared
	Lost      int64  // an acknowledged write is not there
	Stale     int64  // an older generation came back after a newer one had been read
	Torn      int64  // a part is of one write and a part of another
	Misplaced int64  // a block that belongs elsewhere
	Corrupt   int64  // none of these, and not what was written
	First     string // the first bad block
}

// Bad is how many blocks were not what they must be.
func (c *Check) Bad() int64 { return c.Lost + c.Stale + c.Torn + c.Misplaced + c.Corrupt }

func (c *Check) add(from *Check) {
	c.Blocks += from.Blocks
	c.Lost += from.Lost
	c.Stale += from.Stale
	c.Torn += from.Torn
	c.Misplaced += from.Misplaced
	c.Corrupt += from.Corrupt
	if c.First == "" {
		c.First = from.First
	}
}

func wire64(b []byte, v uint64) { binary.LittleEndian.PutUint64(b, v) }

// stamp writes one block.
func stamp(b []byte, run, lba, generation uint64) {
	wire64(b[0:], blockMagic)
	wire64(b[8:], run)
	wire64(b[16:], lba)
	wire64(b[24:], generation)
	binary.LittleEndian.PutUint32(b[sumAt:], 0)
	x := run ^ lba*0x9e3779b97f4a7c15 ^ generation*0xbf58476d1ce4e5b9 | 1
	body := b[fillerAt : len(b)-tailSize]
	for ; len(body) >= 8; body = body[8:] {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		wire64(body, x)
	}
	for i := range body {
		body[i] = byte(x >> (8 * i))
	}
	wire64(b[len(b)-16:], generation)
	wire64(b[len(b)-8:], blockMagic)
	binary.LittleEndian.PutUint32(b[sumAt:], crc32c.Checksum(b))
}

// sound reports whether the checksum of a block holds. It changes the block.
func sound(b []byte) bool {
	said := binary.LittleEndian.Uint32(b[sumAt:])
	binary.LittleEndian.PutUint32(b[sumAt:], 0)
	return crc32c.Checksum(b) == said
}

// expected is what a block must be: of this run, of this address, and of a
// generation from acked, which was acknowledged, to last, which was sent. seen
// says that acked has been read before.
type expected struct {
	run, lba    uint64
	acked, last uint64
	seen        bool
}

// judge says into which count of c a block goes; nil is none.
func (e expected) judge(c *Check, b []byte) (*int64, string) {
	head, tail := binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[len(b)-8:])
	run, lba := binary.LittleEndian.Uint64(b[8:]), binary.LittleEndian.Uint64(b[16:])
	generation, end := binary.LittleEndian.Uint64(b[24:]), binary.LittleEndian.Uint64(b[len(b)-16:])
	switch {
	case !sound(b) || head != blockMagic:
		if e.acked == 0 && head != blockMagic && tail != blockMagic {
			return nil, "" // nothing was acknowledged here, and this is what was there before
		}
		if (head == blockMagic) != (tail == blockMagic) || head == blockMagic && generation != end {
			return &c.Torn, fmt.Sprintf("begins with write %d and ends with write %d", generation, end)
		}
		if head != blockMagic && zero(b) {
			return &c.Lost, "is empty"
		}
		return &c.Corrupt, "does not match its checksum"
	case run != e.run:
		if e.acked == 0 {
			return nil, ""
		}
		return &c.Lost, "is of an earlier run"
	case lba != e.lba:
		return &c.Misplaced, fmt.Sprintf("belongs to address %d", lba)
	case generation >= e.acked && generation <= e.last:
		return nil, ""
	case generation < e.acked && e.seen:
		return &c.Stale, fmt.Sprintf("is write %d again", generation)
	case generation < e.acked:
		return &c.Lost, fmt.Sprintf("is still write %d", generation)
	}
	return &c.Corrupt, fmt.Sprintf("is write %d, which was not sent", generation)
}

func zero(b []byte) bool {
	for _, v := range b {
		if v != 0 {
			return false
		}
	}
	return true
}

// checks is what a job knows of its places.
type checks struct {
	run   uint64
	busy  []bool
	acked []uint32 // generation
	last  []uint32 // sent
	seen  []bool   // acked was read

	looking bool   // at what is there before anything is written
	foreign string // the first that is neither blank nor of a load

	flushed flushed
}

func newChecks(j *job) *checks {
	k := &checks{
		run:  j.r.o.Seed,
		busy: make([]bool, j.places), acked: make([]uint32, j.places), last: make([]uint32, j.places), seen: make([]bool, j.places),
	}
	if j.r.o.PowerLoss {
		k.flushed = newFlushed(j.lane.(Lossy), j.places)
	}
	return k
}

// begin prepares a command that is about to be sent.
func (k *checks) begin(j *job, s *slot) {
	k.busy[s.place] = true
	if s.op != wire.OpWrite {
		return
	}
	k.last[s.place]++
	lba := (j.first + s.place) * uint64(j.blocks)
	for i := range j.blocks {
		stamp(s.buf[i*j.r.o.BlockSize:][:j.r.o.BlockSize], k.run, lba+uint64(i), uint64(k.last[s.place]))
	}
}

// end judges a command that is over. Nobody knows whether a write that failed
// has happened.
func (k *checks) end(j *job, s *slot, failed error) {
	p := s.place
	k.busy[p] = false
	switch {
	case failed != nil:
	case k.looking:
		k.lookAt(j, s)
	case s.op == wire.OpWrite:
		k.acked[p], k.seen[p] = k.last[p], false
	default:
		k.compare(j, s)
	}
}

func (k *checks) compare(j *job, s *slot) {
	p, c, size := s.place, &j.result.Check, j.r.o.BlockSize
	good := true
	for i := range j.blocks {
		e := expected{
			run: k.run, lba: (j.first+p)*uint64(j.blocks) + uint64(i),
			acked: uint64(k.acked[p]), last: uint64(k.last[p]), seen: k.seen[p],
		}
		c.Blocks++
		if count, what := e.judge(c, s.buf[i*size:][:size]); count != nil {
			*count++
			good = false
			if c.First == "" {
				c.First = fmt.Sprintf("block %d %s; its last acknowledged write is %d", e.lba, what, e.acked)
			}
		}
	}
	k.seen[p] = k.seen[p] || good && k.acked[p] == k.last[p]
}

// fill writes every place once.
func (j *job) fill() error { return j.sweep(wire.OpWrite) }

// readBack reads every place.
func (j *job) readBack() error { return j.sweep(wire.OpRead) }

// sweep does one thing at every place in turn. It is not measured.
func (j *job) sweep(op uint8) error {
	for next := uint64(0); next < j.places || j.under > 0; {
		for len(j.free) > 0 && next < j.places && !j.r.stop.Load() {
			i := j.free[len(j.free)-1]
			j.free = j.free[:len(j.free)-1]
			s := &j.slots[i]
			s.op, s.place, s.counted = op, next, false
			next++
			j.under++
			j.checks.begin(j, s)
			if err := j.lane.Submit(i, op, (j.first+s.place)*uint64(j.blocks), j.blocks, s.buf); err != nil {
				return err
			}
		}
		if j.under == 0 {
			return nil // stopped
		}
		n, err := j.wait(true)
		if err != nil {
			return err
		}
		for i := range j.done[:n] {
			d := j.done[i]
			if err := j.completed(d, j.begin); err != nil {
				return err
			}
			if d.Err != nil {
				j.result.of(op).Failed++
			}
		}
		j.settle()
	}
	return nil
}
