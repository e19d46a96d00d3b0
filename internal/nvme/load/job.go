package load

import (
	"fmt"
	"math/rand/v2"
	"time"

	"weft/internal/nvme/initiator"
	"weft/internal/nvme/wire"
)

// A job is one lane's share of the load: a part of the span that is its own.
type job struct {
	r    *run
	lane Lane

	pattern   Pattern
	flushEach int

	first  uint64 // place
	places uint64
	blocks int // of a place

	rng    *rand.PCG
	next   uint64 // place, in sequence
	slots  []slot
	free   []int
	done   []initiator.Done
	checks *checks // with Verify

	left     int64 // of Count
	under    int
	writes   int       // since the last flush
	flushing bool      // a flush is due
	due      time.Time // of the next command, with a rate
	begin    time.Time // of what is measured
	result   Result
	err      error
}

// slot is an outstanding command.
type slot struct {
	op      uint8
	place   uint64 // within the job
	buf     []byte
	since   time.Time
	counted bool
}

func newJob(r *run, lane Lane, index, jobs int) *job {
	all := r.o.Span / uint64(r.o.Size)
	first, end := all*uint64(index)/uint64(jobs), all*uint64(index+1)/uint64(jobs)
	depth, pattern, flushEach := r.o.Depth, r.o.Pattern, r.o.FlushEach
	if pattern == Database {
		if pattern = RandMix; index == 0 {
			depth, pattern, flushEach = 1, SeqWrite, 1
		}
	}
	j := &job{
		pattern: pattern, flushEach: flushEach,
		r: r, lane: lane, first: first, places: end - first, blocks: r.o.Size / r.o.BlockSize,
		rng: rand.NewPCG(r.o.Seed, uint64(index)), slots: make([]slot, depth), done: make([]initiator.Done, depth),
		result: newResult(),
		left:   r.o.Count*int64(index+1)/int64(jobs) - r.o.Count*int64(index)/int64(jobs),
	}
	apart := r.o.Size
	if r.o.Shared {
		apart = min(apart, page)
	}
	slab := Aligned((depth-1)*apart + r.o.Size)
	for i := range j.slots {
		j.slots[i].buf = slab[i*apart:][:r.o.Size:r.o.Size]
		j.free = append(j.free, i)
	}
	if r.o.Verify {
		j.checks = newChecks(j)
	} else if r.o.Pattern.Writes() {
		for i := 0; i+8 <= len(slab); i += 8 {
			wire64(slab[i:], j.rng.Uint64())
		}
	}
	return j
}

// load keeps the lane busy until the time or the count is over.
func (j *job) load() error {
	j.due = time.Now()
	for now := j.due; ; {
		for len(j.free) > 0 && j.more(now) && !j.early(now) {
			if err := j.submit(now); err != nil {
				return err
			}
		}
		if j.under == 0 {
			if !j.more(now) {
				return nil
			}
			time.Sleep(min(time.Until(j.due), time.Millisecond)) // the rate says so
			now = time.Now()
			continue
		}
		block := len(j.free) == 0 || j.r.o.Rate == 0 || !j.more(now)
		n, err := j.wait(block)
		if err != nil {
			return err
		}
		if n > 0 || !block {
			now = time.Now()
		}
		if n == 0 && !block && !j.r.o.Spin {
			time.Sleep(min(max(j.due.Sub(now), 0), 50*time.Microsecond))
		}
		for i := range j.done[:n] {
			if err := j.completed(j.done[i], now); err != nil {
				return err
			}
		}
		j.settle()
	}
}

// wait waits for commands that are over. What is known of the device is then as
// of before them; settle brings it up to date when they have been looked at.
func (j *job) wait(block bool) (int, error) {
	n, err := j.lane.Wait(j.r.ctx, j.done, block)
	if j.checks != nil {
		j.checks.lookForLoss()
	}
	return n, err
}

func (j *job) settle() {
	if j.checks != nil {
		j.checks.settle()
	}
}

// more reports whether another command is wanted.
func (j *job) more(now time.Time) bool {
	r := j.r
	if r.stop.Load() {
		return false
	}
	if !r.end.IsZero() && !now.Before(r.end) {
		return j.flushing // what was written is flushed, also where a flush takes as long as the load
	}
	return r.o.Count == 0 || now.Before(r.measure) || j.left > 0
}

// early reports whether the rate forbids a command now.
func (j *job) early(now time.Time) bool { return j.r.o.Rate > 0 && now.Before(j.due) }

// submit begins one command.
func (j *job) submit(now time.Time) error {
	i := j.free[len(j.free)-1]
	j.free = j.free[:len(j.free)-1]
	s := &j.slots[i]
	s.op = j.choose()
	s.since, s.counted = now, !now.Before(j.r.measure)
	if s.counted {
		if j.left--; j.begin.IsZero() {
			j.begin = now
		}
	}
	if j.r.o.Rate > 0 {
		step := time.Duration(float64(time.Second) * float64(j.r.jobs) / j.r.o.Rate)
		// A load that could not keep up does not make up for more than a moment.
		j.due = maxTime(j.due.Add(step), now.Add(-10*time.Millisecond))
	}
	j.under++
	if s.op == wire.OpFlush {
		if j.checks != nil {
			j.checks.flushed.begin(j.checks, i)
		}
		return j.lane.Submit(i, s.op, 0, 0, nil)
	}
	s.place = j.place()
	if j.checks != nil {
		j.checks.begin(j, s)
	}
	return j.lane.Submit(i, s.op, (j.first+s.place)*uint64(j.blocks), j.blocks, s.buf)
}

// choose is the operation that is next.
func (j *job) choose() uint8 {
	o := &j.r.o
	if j.flushing {
		j.flushing = false
		return wire.OpFlush
	}
	op := wire.OpRead
	switch j.pattern {
	case SeqWrite, RandWrite:
		op = wire.OpWrite
	case SeqMix, RandMix:
		if int(j.rng.Uint64()>>32%100) >= o.ReadShare {
			op = wire.OpWrite
		}
	}
	if op == wire.OpWrite && j.flushEach > 0 {
		if j.writes++; j.writes >= j.flushEach {
			j.writes, j.flushing = 0, true
		}
	}
	return uint8(op)
}

// place chooses where a command goes. Where blocks are verified no two
// commands are at one place.
func (j *job) place() uint64 {
	for {
		p := j.next
		if j.pattern.random() {
			p = j.random()
		} else {
			j.next = (j.next + 1) % j.places
		}
		if j.checks == nil || !j.checks.busy[p] {
			return p
		}
	}
}

// random is a place at random, all equally likely.
func (j *job) random() uint64 {
	for least := -j.places % j.places; ; {
		if v := j.rng.Uint64(); v >= least {
			return v % j.places
		}
	}
}

func (j *job) completed(d initiator.Done, now time.Time) error {
	if d.Slot < 0 || d.Slot >= len(j.slots) {
		return fmt.Errorf("completion of command %d, which was not sent", d.Slot)
	}
	s := &j.slots[d.Slot]
	j.under--
	j.free = append(j.free, d.Slot)
	switch {
	case j.checks == nil:
	case s.op == wire.OpFlush:
		j.checks.flushed.end(d.Slot, d.Err)
	default:
		j.checks.end(j, s, d.Err)
	}
	if !s.counted {
		if d.Err != nil && j.result.First == nil {
			j.result.First = d.Err
		}
		return nil
	}
	j.result.Elapsed = now.Sub(j.begin)
	r := j.result.of(s.op)
	if d.Err != nil {
		r.Failed++
		if j.result.First == nil {
			j.result.First = d.Err
		}
		return nil
	}
	r.Done++
	if s.op != wire.OpFlush {
		r.Bytes += int64(len(s.buf))
	}
	r.Latency.Record(now.Sub(s.since))
	return nil
}

func maxTime(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
