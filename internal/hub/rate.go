package hub

import (
	"cmp"
	"fmt"
	"sync"
	"time"
)

// A rate bounds how many requests of a credential one server carries out: so many a second,
// and after a rest so many at once. Beyond that the broker refuses what it forwards. Requests
// that only read reach JetStream without the broker, which counts copies of them: a client
// that goes on is disconnected.
type rate struct {
	each, burst float64

	mu      sync.Mutex
	left    float64 // requests that may be sent now; below 0: that were too many
	at      time.Time
	refused int // since the last line of the log
	said    time.Time
}

// Requests of a credential. A leader of 1,000 devices sends fewer in a whole run than may
// come at once.
const (
	requestsASecond = 2000
	requestsAtOnce  = 10 * requestsASecond
	rateSaid        = 10 * time.Second // between two lines of the log
)

func newRate(each int) *rate {
	n := float64(cmp.Or(each, requestsASecond))
	return &rate{each: n, burst: n * requestsAtOnce / requestsASecond}
}

// A verdict is what becomes of a request.
type verdict int

const (
	accepted verdict = iota
	tooMany          // it is refused
	flood            // and the client disconnected
)

// take counts a request.
func (r *rate) take(now time.Time) verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() {
		r.left, r.at = r.burst, now
	}
	if since := now.Sub(r.at).Seconds(); since > 0 {
		r.left, r.at = min(r.left+since*r.each, r.burst), now
	}
	r.left--
	switch {
	case r.left >= 0:
		return accepted
	case r.left < -r.burst:
		r.left = 0 // whoever connects again begins at the limit
		return flood
	}
	r.refused++
	return tooMany
}

// due is how many requests were refused since it last was more than 0, at most once in rateSaid.
func (r *rate) due(now time.Time) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.refused == 0 || now.Sub(r.said) < rateSaid {
		return 0
	}
	n := r.refused
	r.refused, r.said = 0, now
	return n
}

// limit says what the limit is.
func (r *rate) limit() string {
	return fmt.Sprintf("a credential may send %.0f requests a second, and %.0f at once", r.each, r.burst)
}

// admits counts a request of a tenant, and reports whether it is carried out.
func (b *broker) admits(t *tenant) error {
	v := t.rate.take(time.Now())
	if v == accepted {
		return nil
	}
	if n := t.rate.due(time.Now()); n > 0 {
		b.note(fmt.Sprintf(refused+"%s: %d requests within %s: %s", t.who(), n, rateSaid, t.rate.limit()))
	}
	if v == flood {
		b.note(fmt.Sprintf(refused+"%s: its connections are closed: %s", t.who(), t.rate.limit()))
		go b.disconnect(t)
	}
	return &refusal{503, t.rate.limit() + ": wait and send it again"} // clients do, until their time is over
}
