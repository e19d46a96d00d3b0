package hub

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store"
	"weft/internal/store/nats"
)

// A target is a hub with two owners, and its administrator's view of every byte.
type target struct {
	*served
	js    jetstream.JetStream
	creds map[string]*nats.Credential
	blob  string // subject of the blobs of pilot, without the part

	mu    sync.Mutex
	notes []string
}

func newTarget(t *testing.T) *target { return newTargetWith(t, Serving{}) }

func newTargetWith(t *testing.T, how Serving) *target {
	p := found(t, Founding{Plain: true})
	g := &target{creds: map[string]*nats.Credential{}}
	how.Note = func(text string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		g.notes = append(g.notes, text)
	}
	g.served = serve(t, p, how)
	s := reach(t, p)
	for _, m := range []Member{alice, ci, dc1, bob, far} {
		c := credential(t, s, m)
		g.creds[m.Name] = c
		if m.Kind != Person {
			continue
		}
		o := mustOpen(t, g.url, c)
		for _, key := range []string{"run/r1/plan", "run/r1/approval", "site/dc1/x", "site/dc2/x"} {
			if _, err := o.Create(t.Context(), key, []byte(key+" of "+m.Owner)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := o.Lease(t.Context(), "device/fdo1", m.Name, time.Hour); err != nil {
			t.Fatal(err)
		}
		d, err := o.PutBlob(t.Context(), strings.NewReader("the plan of "+m.Owner))
		if err != nil {
			t.Fatal(err)
		}
		if m.Owner == "pilot" {
			g.blob = "WEFT.pilot.blob." + strings.TrimPrefix(string(d), "sha256-")
		}
	}
	c, err := p.admin()
	if err != nil {
		t.Fatal(err)
	}
	if g.js, err = jetstream.New(g.dial(t, c, nil)); err != nil {
		t.Fatal(err)
	}
	return g
}

// dial connects as any client of NATS may.
func (g *target) dial(t *testing.T, c *nats.Credential, failed func(error)) *client.Conn {
	t.Helper()
	opts, err := c.Connect()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := client.Connect(g.url, append(opts, client.Timeout(time.Minute), client.ErrorHandler(func(_ *client.Conn, _ *client.Subscription, err error) {
		if failed != nil {
			failed(err)
		}
	}))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

// state is the sum of each message that the hub keeps, by its stream and subject, and of
// each stream's configuration. Messages without a meaning (fences) are left out.
func (g *target) state(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	names := g.js.StreamNames(t.Context())
	for name := range names.Name() {
		stream, err := g.js.Stream(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		// All that was sent to the stream before is in it now.
		if fence, ok := strings.CutPrefix(name, "KV_"); ok {
			if _, err := g.js.Publish(t.Context(), "$KV."+fence+".FENCE", nil); err != nil {
				t.Fatal(err)
			}
		}
		info, err := stream.Info(t.Context(), jetstream.WithSubjectFilter(">"))
		if err != nil {
			t.Fatal(err)
		}
		config, err := json.Marshal(info.Config)
		if err != nil {
			t.Fatal(err)
		}
		out[name] = string(config)
		for subject := range info.State.Subjects {
			if strings.HasSuffix(subject, ".FENCE") || strings.Contains(subject, "._hub.") {
				continue
			}
			m, err := stream.GetLastMsgForSubject(t.Context(), subject)
			if err != nil {
				t.Fatal(err)
			}
			out[subject] = fmt.Sprintf("%d: %.60q %x", m.Sequence, m.Data, sha256.Sum256(m.Data))
		}
	}
	if err := names.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

func (g *target) said() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.notes)
}

// writes reports whether a subject is in the space that a member may change.
func (m Member) writes(subject string) bool {
	rest, ok := strings.CutPrefix(subject, "$KV.weft-"+m.Owner)
	if !ok {
		return strings.HasPrefix(subject, "WEFT."+m.Owner+".blob.")
	}
	rest = strings.TrimPrefix(rest, "-lease")
	return m.Kind != Worker || strings.HasPrefix(rest, ".site."+m.Site+".")
}

// targets are subjects that a worker of pilot, and nobody of it, may write.
func (g *target) targets() []string {
	return []string{"$KV.weft-pilot.run.r1.approval", "$KV.weft-other.run.r1.plan", "$KV.weft-other-lease.device.fdo1",
		"$KV.weft-pilot-lease.device.fdo1", "$KV.weft-_hub.credential.bob", g.blob + ".00000000", g.blob + ".end",
		"$JS.API.STREAM.DELETE.KV_weft-other", "$JS.API.STREAM.PURGE.KV_weft-other", "$JS.API.STREAM.PURGE.KV_weft-pilot",
		"$JS.API.STREAM.UPDATE.KV_weft-other", "$JS.API.STREAM.PURGE.weft-pilot-blob"}
}

// reported is how long a line of the hub's log is waited for.
const reported = 20 * time.Second

// No raw client changes a byte outside its space, whatever its credential and whatever
// it sends, and the hub reports each attempt with the credential's name.
func TestAttacks(t *testing.T) {
	t.Parallel()
	g := newTarget(t)
	for _, a := range attacks() {
		t.Run(a.name, func(t *testing.T) {
			for _, m := range a.by {
				if a.name == "another's consumer" && m.Name == bob.Name {
					continue
				}
				conn := g.dial(t, g.creds[m.Name], nil)
				request(t, conn, m.mine(false), "mine")
				before, notes := g.state(t), len(g.said())
				a.do(t, g, m, conn)
				if err := conn.FlushTimeout(time.Minute); err != nil {
					t.Fatal(err)
				}
				request(t, conn, m.mine(false), "mine")
				request(t, conn, m.mine(true), `{"holder":"me","id":"x","ttl":1}`)
				g.state(t) // answers that were sent to other subjects have arrived
				g.same(t, m, before, g.state(t))
				for end := time.Now().Add(reported); !a.quiet && !g.named(m, notes); time.Sleep(10 * time.Millisecond) {
					if time.Now().After(end) {
						t.Errorf("%s: nothing was reported", m.Name)
						break
					}
				}
			}
		})
	}
	// The attacked owners still read their documents and leases.
	for _, m := range all {
		s := mustOpen(t, g.url, g.creds[m.Name])
		list, _, err := s.List(t.Context(), "")
		if err != nil || len(list) < 4 {
			t.Errorf("%s: %d documents: %v", m.Name, len(list), err)
		}
		// A person may write nonsense in place of a lease of the owner.
		if _, err := s.Leases(t.Context(), ""); err != nil && !errors.As(err, new(*store.CorruptError)) {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

func (g *target) named(m Member, from int) bool {
	return slices.ContainsFunc(g.said()[from:], func(line string) bool { return strings.Contains(line, m.Name) })
}

// same reports what changed outside a member's space.
func (g *target) same(t *testing.T, m Member, before, after map[string]string) {
	t.Helper()
	keys := map[string]bool{}
	for k := range before {
		keys[k] = true
	}
	for k := range after {
		keys[k] = true
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if before[k] == after[k] || m.writes(k) && (before[k] == "" || m.Kind != Worker || !strings.HasPrefix(k, "WEFT.")) && after[k] != "" {
			continue
		}
		t.Errorf("%s changed %s\n  from %s\n  to   %s", m.Name, k, before[k], after[k])
	}
}

// A worker that opens thousands of connections, or consumers, keeps nobody else out.
func TestConsumerFlood(t *testing.T) {
	t.Parallel()
	g := newTarget(t)
	conn := g.dial(t, g.creds[dc1.Name], nil)
	refused := 0
	for i := range 400 {
		text := request(t, conn, "$JS.API.CONSUMER.CREATE.KV_weft-pilot.x"+fmt.Sprint(i),
			`{"stream_name":"KV_weft-pilot","config":{"name":"x`+fmt.Sprint(i)+`","deliver_policy":"all","ack_policy":"none"}}`)
		if strings.Contains(text, `"error"`) {
			refused++
		}
	}
	info, err := g.js.Stream(t.Context(), "KV_weft-pilot")
	if err != nil {
		t.Fatal(err)
	}
	if n := info.CachedInfo().State.Consumers; n > 300 || refused == 0 {
		t.Errorf("one credential has %d consumers; %d were refused", n, refused)
	}
	a := mustOpen(t, g.url, g.creds[alice.Name])
	if list, _, err := a.List(t.Context(), ""); err != nil || len(list) == 0 {
		t.Errorf("%d documents: %v", len(list), err)
	}
}
