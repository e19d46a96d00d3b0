package tcp

import (
	"slices"
	"time"

	"weft/internal/nvme/rawsock"
)

// The kernel takes as much to be sent as its window of congestion asks for, up to some
// MiB. Over a short way that is more than the way holds: what is sent waits in memory
// until no cache has it any more, and both ends wait for memory. Over a long way, or where
// acknowledgements come late, to take less leaves the way idle. Neither is known
// beforehand, so a connection that sends much tries, now and then: a send buffer of
// what is on its way by bandwidth and delay, in turn with the kernel's own. It keeps the
// one with which more was sent, and the kernel's own where that cannot be told. A way may
// become longer, and what it is kept from filling does not show: so what was kept is
// tried anew before long.
const (
	fitLeast  = 96 << 10               // bytes of a send buffer: twice that is three segments of loopback; with less acknowledgements are delayed
	fitMost   = 1 << 20                // the same: more of it is in no cache anyway, so that there is nothing to try
	fitFirst  = 32 << 20               // bytes sent before the first trial
	fitAgain  = 4 << 30                // bytes sent from one trial to the next
	fitKeep   = 10 * time.Second       // from a trial to the next at most, if its size was kept
	fitHalf   = 16 << 20               // bytes of half a window with one size; the first half shows what the size before has left
	fitLook   = 1 << 20                // bytes sent from one look at the clock to the next, in a trial and while a size is kept
	fitPairs  = 7                      // pairs of windows in a trial, the kernel's own first
	fitBetter = 1.04                   // times the kernel's own rate, by the median of the pairs: what is better
	fitStall  = 200 * time.Millisecond // beyond three times its time half a window has stalled
)

// A fitting finds the size of a connection's send buffer. The zero fitting is
// ready. It is for one goroutine at a time.
type fitting struct {
	off   bool // the system cannot do it
	sent  uint64
	next  uint64 // of sent, when there is something to do
	tries int    // bytes of the buffer that is tried; 0: there is no trial
	half  int    // halves of windows of the trial so far
	keep  uint64 // of sent, to which what the last trial found is kept; 0: that is the kernel's own

	from  uint64    // of sent, when this half began
	since time.Time // the same; while a size is kept, when its trial ended
	own   float64   // bytes a second in the last window of the kernel's own
	times [fitPairs]float64
}

// wrote takes note of bytes sent, and reports whether a step is due.
func (f *fitting) wrote(n int) bool {
	f.sent += uint64(n)
	if f.next == 0 {
		f.next = fitFirst
	}
	return f.sent >= f.next && !f.off
}

// begin begins a trial of a size, if that may pay off. The kernel's own is the first.
func (f *fitting) begin(bytes int, now time.Time) {
	f.keep = 0
	if bytes > fitMost {
		f.end()
		return
	}
	f.tries, f.half = bytes, 0
	f.from, f.since, f.next = f.sent, now, f.sent+fitLook
}

// end ends a trial, and leaves the kernel its own.
func (f *fitting) end() {
	f.tries, f.next = 0, f.sent+fitAgain
}

// kept reports whether the size that was found is still to be kept.
func (f *fitting) kept(now time.Time) bool {
	if f.sent >= f.keep || now.Sub(f.since) >= fitKeep {
		return false
	}
	f.next = f.sent + fitLook
	return true
}

// step goes on with a trial. Where change is true, the send buffer is to be of that
// size from now on; 0 is the kernel's own.
func (f *fitting) step(now time.Time) (bytes int, change bool) {
	f.next = f.sent + fitLook
	moved, took := float64(f.sent-f.from), now.Sub(f.since).Seconds()
	if f.half%4 >= 2 && took > 3*fitHalf/f.own+fitStall.Seconds() {
		f.end()
		return 0, true
	}
	if moved < fitHalf {
		return 0, false
	}
	f.half++
	f.from, f.since = f.sent, now
	rate := moved / max(took, 1e-9)
	switch pair := f.half/4 - 1; {
	case f.half%2 == 1:
		return 0, false
	case f.half%4 == 2:
		f.own = rate
		return f.tries, true
	case pair < fitPairs-1:
		f.times[pair] = rate / f.own
		return 0, true
	default:
		f.times[pair] = rate / f.own
		slices.Sort(f.times[:])
		better := f.times[fitPairs/2] >= fitBetter
		f.end()
		if better {
			f.keep, f.next = f.next, f.sent+fitLook
		}
		return 0, !better
	}
}

// fits is the send buffer for a path: half as much again as is on its way. The kernel
// takes twice its size, and counts what it needs for its own.
func fits(p rawsock.Path) int {
	return max(fitLeast, int(1.5*float64(p.Rate)*p.RTT.Seconds()))
}

// fit takes note of bytes sent over a socket, and sets its send buffer where that
// pays off. What the system refuses is asked for no more: the kernel's own is as good as
// it was.
func (o *outbox) fit(fd uintptr, n int) {
	f := &o.fitting
	if !f.wrote(n) {
		return
	}
	bytes, change, now := 0, true, time.Now()
	switch {
	case f.tries > 0:
		bytes, change = f.step(now)
	case f.kept(now):
		return
	default:
		path, err := rawsock.ReadPath(fd)
		if f.off = err != nil; f.off {
			return
		}
		f.begin(fits(path), now)
	}
	if change && rawsock.SendBuffer(fd, bytes) != nil {
		f.off = true
		_ = rawsock.SendBuffer(fd, 0)
	}
}
