package guest

import "time"

// cycleRate is how many thousands of cycles this processor counts a second; 0: it
// is not known. Emulated guests count the same cycles. One that is asked to find
// their rate out itself, by comparing with a timer, is wrong by a factor of ten now
// and then on a busy machine; then its clock runs ten times too fast, and
// everything in it times out.
func cycleRate() int {
	const long = 200 * time.Millisecond
	from, begun := cyclesNow()
	time.Sleep(long)
	to, ended := cyclesNow()
	return int((to - from) * uint64(time.Millisecond) / uint64(ended.Sub(begun)))
}

// cyclesNow is the counter at a time: of several looks the one in which the
// least came in between.
func cyclesNow() (n uint64, at time.Time) {
	least := ^uint64(0)
	for range 50 {
		before := cycles()
		now := time.Now()
		after := cycles()
		if took := after - before; took < least {
			least, n, at = took, before+took/2, now
		}
	}
	return n, at
}
