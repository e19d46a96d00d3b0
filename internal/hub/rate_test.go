package hub

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"weft/internal/store"
)

// A rate lets a burst through, refuses what exceeds the limit, and ends a flood.
func TestRate(t *testing.T) {
	r, now := newRate(0), time.Unix(1700000000, 0)
	for i := range requestsAtOnce {
		if v := r.take(now); v != accepted {
			t.Fatalf("request %d: %v", i, v)
		}
	}
	if v := r.take(now); v != tooMany || r.due(now) != 1 || r.due(now) != 0 {
		t.Errorf("one too many: %v", v)
	}
	now = now.Add(time.Second)
	for i := range requestsASecond - 1 {
		if v := r.take(now); v != accepted {
			t.Fatalf("request %d a second later: %v", i, v)
		}
	}
	floods := 0
	for range 3 * requestsAtOnce {
		if r.take(now) == flood {
			floods++
		}
	}
	if floods != 2 {
		t.Errorf("a flood was ended %d times", floods)
	}
	if n := r.due(now); n != 0 {
		t.Errorf("%d are reported twice in an interval", n)
	}
	if n := r.due(now.Add(rateSaid)); n < requestsAtOnce {
		t.Errorf("%d are reported", n)
	}
}

// A credential that floods the hub is refused with the limit, disconnected and named once in
// the log; another credential goes on. A client of weft waits and goes on, too.
func TestFlood(t *testing.T) {
	t.Parallel()
	g := newTargetWith(t, Serving{Requests: 5})
	conn := g.dial(t, g.creds[dc1.Name], nil)
	before := len(g.said())
	var answer string
	for i := 0; i < 1000 && answer == ""; i++ {
		if text := request(t, conn, dc1.mine(false), "x"); strings.Contains(text, `"error"`) {
			answer = text
		}
	}
	if !strings.Contains(answer, "5 requests a second, and 50 at once") {
		t.Errorf("the answer is %s", answer)
	}
	a := mustOpen(t, g.url, g.creds[alice.Name])
	if _, err := a.Get(t.Context(), "run/r1/plan"); err != nil {
		t.Error(err)
	}
	w := mustOpen(t, g.url, g.creds[dc1.Name]) // over the limit
	if _, err := w.Create(t.Context(), "site/dc1/later", []byte("x")); err != nil {
		t.Errorf("a client does not wait: %v", err)
	}
	was := conn.Stats().Reconnects
	for range 50 { // reads, too, until it is disconnected
		for range 500 {
			if err := conn.PublishRequest("$JS.API.STREAM.INFO.KV_weft-pilot", dc1.reply(conn), nil); err != nil {
				break
			}
		}
		_ = conn.FlushTimeout(time.Minute)
		if conn.Stats().Reconnects > was {
			break
		}
	}
	for end := time.Now().Add(reported); conn.Stats().Reconnects == was; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it is not disconnected")
		}
	}
	n := 0
	for _, line := range g.said()[before:] {
		if strings.Contains(line, dc1.Name) && strings.Contains(line, "requests within") {
			n++
		}
	}
	if n == 0 || n > 12 {
		t.Errorf("the log has %d lines of it", n)
	}
	if _, err := a.Update(t.Context(), "run/r1/plan", []byte("y"), mustGet(t, a, "run/r1/plan").Revision); err != nil {
		t.Error(err)
	}
}

func mustGet(t *testing.T, s store.Store, key string) store.Entry {
	t.Helper()
	e, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Limits of owners that an administrator gives count for stores that exist, and stay.
func TestOwnerLimits(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	h := serve(t, p, Serving{})
	s := reach(t, p)
	c := credential(t, s, alice)
	mustOpen(t, h.url, c)
	limits := func() (documents, blobs int64) {
		status, err := p.Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range status.Owners {
			for _, one := range o.Streams {
				switch {
				case o.Name == own || strings.HasSuffix(one.Name, "-lease"):
				case strings.HasSuffix(one.Name, "-blob"):
					blobs = one.MaxBytes
				default:
					documents = one.MaxBytes
				}
			}
		}
		return documents, blobs
	}
	_, was := limits()
	for _, how := range []Serving{{Documents: 5 << 20}, {}, {Documents: 6 << 20, Blobs: 17 << 20}} {
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
		h = serve(t, p, how)
		documents, blobs := limits()
		want := fmt.Sprint(max(how.Documents, 5<<20), max(how.Blobs, map[bool]int64{true: was}[how.Blobs == 0]))
		if got := fmt.Sprint(documents, blobs); got != want {
			t.Errorf("%+v: limits %s, wanted %s", how, got, want)
		}
	}
	if err := h.stop(); err != nil {
		t.Fatal(err)
	}
	for _, how := range []Serving{{Documents: 1}, {Blobs: 1}, {Requests: -1}} {
		if err := p.Serve(t.Context(), how); err == nil {
			t.Errorf("%+v is served", how)
		}
	}
}

// A document that a raw client writes in place of a lease is named, hides no lease, and is
// removed by its key.
func TestNoLease(t *testing.T) {
	t.Parallel()
	g := newTarget(t)
	conn := g.dial(t, g.creds[dc1.Name], nil)
	for i, text := range []string{"x", "{}", `{"holder":"me","id":"x","ttl":-1}`, "[1]"} {
		request(t, conn, fmt.Sprintf("$KV.weft-pilot-lease.site.dc1.n%d", i), text)
	}
	a := mustOpen(t, g.url, g.creds[alice.Name])
	list, err := a.Leases(t.Context(), "")
	if len(list) != 1 || list[0].Key != "device/fdo1" {
		t.Errorf("%v", list)
	}
	for i := range 4 {
		key := fmt.Sprintf("site/dc1/n%d", i)
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not named: %v", key, err)
		}
		if err := a.Break(t.Context(), store.Holding{Key: key}); err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	if list, err := a.Leases(t.Context(), ""); err != nil || len(list) != 1 {
		t.Errorf("%v: %v", list, err)
	}
	if err := a.Break(t.Context(), store.Holding{Key: "device/fdo1"}); err == nil {
		t.Error("a lease is broken without its holder")
	}
	status, err := g.p.Status(t.Context())
	if err != nil || !status.Whole() {
		t.Errorf("%+v: %v", status, err)
	}
}
