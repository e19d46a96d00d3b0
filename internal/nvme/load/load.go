// Package load puts a device under a load of reads and writes and measures it:
// at random or in sequence, for a time or a count, as fast as it goes or at a
// rate, and with every block checked if wanted.
package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/latency"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/wire"
)

// A Lane carries the commands of one job. initiator.Lane and Local's are ones.
type Lane interface {
	// Depth is how many commands may be outstanding.
	Depth() int

	// Submit hands over a read, a write or a flush, by opcode, under a slot
	// that is free. The buffer belongs to the lane until Wait has returned the
	// slot.
	Submit(slot int, op uint8, lba uint64, blocks int, buf []byte) error

	// Wait fills done with commands that are over, at least one if block.
	// Another error than a command's ends the lane. When the context has ended
	// it waits no longer for a way to the device.
	Wait(ctx context.Context, done []initiator.Done, block bool) (int, error)
}

// Lossy is what lanes can say whose other end may restart.
type Lossy interface {
	Lane

	// Losses counts how often a path was lost. A completion that Wait returned
	// before it was counted may be of before the loss or after it.
	Losses() int
}

// Pattern is which operations there are and where they go, as fio names them.
type Pattern string

// The patterns.
const (
	SeqRead   Pattern = "read"
	SeqWrite  Pattern = "write"
	SeqMix    Pattern = "rw"
	RandRead  Pattern = "randread"
	RandWrite Pattern = "randwrite"
	RandMix   Pattern = "randrw"

	// Database is none of fio's: the first job writes in sequence, one at a time, and
	// flushes after each write, as a log; the others mix reads and writes of pages.
	Database Pattern = "database"
)

// Patterns are all of them.
func Patterns() []string {
	return []string{string(SeqRead), string(SeqWrite), string(SeqMix), string(RandRead), string(RandWrite), string(RandMix), string(Database)}
}

// Writes reports whether the pattern overwrites what is there.
func (p Pattern) Writes() bool { return p != SeqRead && p != RandRead }

// mixes reports whether the pattern reads and writes.
func (p Pattern) mixes() bool { return p == SeqMix || p == RandMix || p == Database }

func (p Pattern) random() bool { return strings.HasPrefix(string(p), "rand") }

// Options describe a load.
type Options struct {
	Pattern   Pattern
	ReadShare int           // percent of reads in a mixed pattern
	Size      int           // bytes of one command, a multiple of BlockSize
	Depth     int           // commands outstanding in each job
	Time      time.Duration // how long to measure; 0: as long as Count takes
	Count     int64         // commands to measure over all jobs; 0: as long as Time
	Warmup    time.Duration // before measuring
	Rate      float64       // commands per second over all jobs; 0: as many as go
	FlushEach int           // a flush after so many writes of a job; 0: none
	Span      uint64        // bytes from the beginning that are used; 0: all
	Seed      uint64

	BlockSize int    // of the device, bytes
	Capacity  uint64 // of the device, bytes

	Verify bool // every block is checked; see verify.go

	// Careful refuses to begin where anything that is to be overwritten, or the end of
	// the device, is neither blank nor of blocks that a verified load has written.
	Careful bool

	// PowerLoss has Verify allow for a device that loses what was not flushed
	// whenever a path is lost. Lanes must then say when (see Lossy).
	PowerLoss bool

	// Shared has the buffers of a job's commands overlap, so that all fit into the
	// processor's cache: they are filled and sent as fast as the device goes, not as fast
	// as this machine's memory. What is read nobody looks at then; what is written differs
	// from command to command even so.
	Shared bool

	Spin bool // each job has a thread of its own and never sleeps
	CPUs []int
}

func (o Options) withDefaults() Options {
	if o.Span == 0 || o.Span > o.Capacity {
		o.Span = o.Capacity
	}
	return o
}

// Validate reports what no load can be, for so many jobs.
func (o Options) Validate(jobs int) error {
	o = o.withDefaults()
	switch {
	case !contains(Patterns(), string(o.Pattern)):
		return fmt.Errorf("pattern %q is none of %s", o.Pattern, strings.Join(Patterns(), ", "))
	case o.ReadShare < 0 || o.ReadShare > 100:
		return fmt.Errorf("%d percent of reads", o.ReadShare)
	case o.BlockSize < 512 || o.Size < 1 || o.Size%o.BlockSize != 0 || o.Size/o.BlockSize > 1<<16:
		return fmt.Errorf("commands of %d bytes on blocks of %d, want a multiple", o.Size, o.BlockSize)
	case o.Depth < 1 || jobs < 1:
		return fmt.Errorf("%d jobs of depth %d", jobs, o.Depth)
	case o.Time <= 0 && o.Count <= 0:
		return errors.New("neither a time nor a count ends the load")
	case o.Time < 0 || o.Count < 0 || o.Warmup < 0 || o.Rate < 0 || o.FlushEach < 0:
		return errors.New("a negative time, count, rate or flush interval")
	case o.Pattern == Database && (jobs < 2 || o.FlushEach != 0):
		return fmt.Errorf("a database of %d jobs that flushes every %d writes, want a log, which flushes each, and pages", jobs, o.FlushEach)
	case o.Careful && !o.Verify:
		return errors.New("what is careful writes blocks that can be told, so it is verified")
	case o.Shared && (o.Verify || o.Pattern.mixes()):
		return errors.New("commands share memory where all read or all write, and nothing is verified")
	case o.PowerLoss && (!o.Verify || o.FlushEach == 0):
		return errors.New("only a load that is verified and has flushes can survive the loss of what was not flushed")
	case o.Span/uint64(o.Size) < uint64(jobs*o.Depth):
		return fmt.Errorf("%d bytes have room for %d commands of %d bytes, want %d: one for each that is outstanding", o.Span, o.Span/uint64(o.Size), o.Size, jobs*o.Depth)
	}
	return nil
}

func contains(all []string, s string) bool {
	return slices.Contains(all, s)
}

// OpResult is what one kind of operation has come to.
type OpResult struct {
	Done    int64
	Bytes   int64
	Failed  int64
	Latency *latency.Histogram
}

// Result is what a load has come to, without the warm-up.
type Result struct {
	Read, Write, Flush OpResult

	Elapsed      time.Duration
	User, System time.Duration // processor time of this process meanwhile
	First        error         // the first command that failed
	Check        Check         // with Verify
}

// All is how many commands succeeded, flushes apart, and how many bytes they
// moved.
func (r *Result) All() (done, bytes int64) {
	return r.Read.Done + r.Write.Done, r.Read.Bytes + r.Write.Bytes
}

// GbitCost is the processor time of this process for a gigabit moved.
func (r *Result) GbitCost() time.Duration {
	_, bytes := r.All()
	if bytes == 0 {
		return 0
	}
	return time.Duration(float64(r.User+r.System) / (float64(bytes) * 8 / 1e9))
}

func newResult() Result {
	return Result{Read: newOp(), Write: newOp(), Flush: newOp()}
}

func newOp() OpResult { return OpResult{Latency: latency.New()} }

func (r *OpResult) add(from *OpResult) {
	r.Done += from.Done
	r.Bytes += from.Bytes
	r.Failed += from.Failed
	r.Latency.Merge(from.Latency)
}

func (r *Result) add(from *Result) {
	r.Read.add(&from.Read)
	r.Write.add(&from.Write)
	r.Flush.add(&from.Flush)
	r.Elapsed = max(r.Elapsed, from.Elapsed)
	if r.First == nil {
		r.First = from.First
	}
	r.Check.add(&from.Check)
}

// of is the part of an opcode.
func (r *Result) of(op uint8) *OpResult {
	switch op {
	case wire.OpRead:
		return &r.Read
	case wire.OpWrite:
		return &r.Write
	}
	return &r.Flush
}
