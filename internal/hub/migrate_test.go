package hub

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"weft/internal/store/nats"
)

// former makes a directory as releases before accounts wrote it: streams that take
// rollups, a credential, and durable consumers that a worker left.
func former(t *testing.T, p *Place, durables int) *nats.Credential {
	t.Helper()
	o := p.bare()
	o.Nkeys = []*server.NkeyUser{{Nkey: p.about.Admin}}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	admin, err := p.admin()
	if err != nil {
		t.Fatal(err)
	}
	opts, err := admin.Connect()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := client.Connect("", append(opts, client.InProcessServer(s), noTLS, client.Timeout(time.Minute))...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		t.Fatal(err)
	}
	for _, owner := range []string{own, "pilot"} {
		for _, c := range []jetstream.StreamConfig{{Name: "KV_weft-" + owner, Subjects: []string{"$KV.weft-" + owner + ".>"}, DenyDelete: true, MaxMsgSize: 1 << 20},
			{Name: "KV_weft-" + owner + "-lease", Subjects: []string{"$KV.weft-" + owner + "-lease.>"}, DenyDelete: true, MaxMsgSize: 1 << 20},
			{Name: "weft-" + owner + "-blob", Subjects: []string{"WEFT." + owner + ".blob.>"}}} {
			c.Description, c.MaxMsgsPerSubject, c.Discard, c.AllowRollup = "runs of weft", 1, jetstream.DiscardNew, true
			c.Metadata = map[string]string{"weft-format": "1", "weft-epoch": "1700000000000", "weft-sync": "always"}
			if _, err := js.CreateStream(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := &nats.Credential{Name: "alice", Owner: "pilot"}
	if c.Seed, err = newSeed(); err != nil {
		t.Fatal(err)
	}
	m := alice
	if m.Key, err = public(c.Seed); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range map[string]string{"$KV.weft-_hub." + membersFolder + "." + "alice_40example_2enet": string(text), "$KV.weft-pilot.run.r1.plan": "the plan"} {
		if _, err := js.Publish(t.Context(), key, []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range durables {
		if _, err := js.CreateConsumer(t.Context(), "KV_weft-pilot", jetstream.ConsumerConfig{Durable: fmt.Sprintf("d%d", i)}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// A directory of a former release works on: its streams take no rollup any more, what
// clients left is removed, credentials and documents are as they were. It makes no
// difference whether only some of it was migrated before.
func TestMigrates(t *testing.T) {
	t.Parallel()
	for _, half := range []bool{false, true} {
		t.Run(fmt.Sprint(half), func(t *testing.T) {
			p := found(t, Founding{Plain: true})
			c := former(t, p, 40)
			if half { // it was killed once the hub's own store was migrated
				s := reach(t, p)
				if _, err := s.Members(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
			h := serve(t, p, Serving{})
			s := mustOpen(t, h.url, c)
			e, err := s.Get(t.Context(), "run/r1/plan")
			if err != nil || string(e.Value) != "the plan" {
				t.Fatalf("%q: %v", e.Value, err)
			}
			if _, err := s.Update(t.Context(), e.Key, []byte("another"), e.Revision); err != nil {
				t.Error(err)
			}
			if list, _, err := s.List(t.Context(), ""); err != nil || len(list) != 1 {
				t.Errorf("%v: %v", list, err)
			}
			if epoch, err := s.Epoch(t.Context()); err != nil || epoch != 1700000000000 {
				t.Errorf("epoch %d: %v", epoch, err)
			}
			g := &target{served: h}
			admin, err := p.admin()
			if err != nil {
				t.Fatal(err)
			}
			js, err := jetstream.New(g.dial(t, admin, nil))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			all := js.ListStreams(t.Context())
			for info := range all.Info() {
				n++
				if c := info.Config; c.AllowRollup || !c.DenyDelete || info.State.Consumers > 1 {
					t.Errorf("%s: %+v, %d consumers", c.Name, c, info.State.Consumers)
				}
			}
			if err := all.Err(); err != nil || n != 6 {
				t.Errorf("%d streams: %v", n, err)
			}
		})
	}
}

// A client refuses a stream that lets a publisher remove messages of others.
func TestRollupIsRefused(t *testing.T) {
	t.Parallel()
	p := found(t, Founding{Plain: true})
	h := serve(t, p, Serving{})
	s := reach(t, p)
	c := credential(t, s, alice)
	admin, err := p.admin()
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New((&target{served: h}).dial(t, admin, nil))
	if err != nil {
		t.Fatal(err)
	}
	stream, err := js.Stream(t.Context(), "weft-pilot-blob")
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.AllowRollup = true
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, h.url, c); err == nil || !strings.Contains(err.Error(), "allow_rollup_hdrs") {
		t.Errorf("%v", err)
	}
	again, err := s.Store(t.Context(), "pilot") // the administrator migrates it
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	mustOpen(t, h.url, c)
}
