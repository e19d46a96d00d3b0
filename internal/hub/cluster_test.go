package hub

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	client "github.com/nats-io/nats.go"

	"weft/internal/require"
	"weft/internal/store"
	"weft/internal/store/nats"
)

// ports finds free ones of addresses; others may take them before they are used.
func ports(t *testing.T, of []string) (list []string) {
	t.Helper()
	for _, addr := range of {
		l, err := net.Listen("tcp", addr+":0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		list = append(list, l.Addr().String())
	}
	return list
}

// three serves a hub of three servers, which are prepared before, and whose ways to each
// other are wires.
func three(t *testing.T, wires *wires, prepare func([]*Place)) (places []*Place, hows []Serving, hubs []*served) {
	first := filepath.Join(t.TempDir(), "hub1")
	var at []string // one starts again at the port that it had
	for i := range 3 {
		at = append(at, apart())
		f := Founding{Dir: filepath.Join(t.TempDir(), "hub"), Name: fmt.Sprintf("hub%d", i+1), Like: first, Hosts: []string{"127.0.0.1", at[i]}}
		if i == 0 {
			f.Dir, f.Like = first, ""
		}
		places = append(places, found(t, f))
	}
	if prepare != nil {
		prepare(places)
	}
	for try := 1; ; try++ {
		among := ports(t, at)
		hows, hubs = nil, nil
		var ready []chan string
		for i, p := range places {
			peers := slices.Delete(slices.Clone(among), i, i+1)
			if wires != nil {
				peers = wires.from(t, i, among)
			}
			hows = append(hows, Serving{Listen: "127.0.0.1:0", Cluster: among[i], Peers: peers})
			s, up := begin(t, p, hows[i])
			hubs, ready = append(hubs, s), append(ready, up)
		}
		taken := false
		for i, up := range ready {
			select {
			case hubs[i].url = <-up:
			case <-time.After(5 * time.Minute):
				t.Fatal("a server is not ready")
			}
			taken = taken || hubs[i].url == ""
		}
		if !taken {
			return places, hows, hubs
		}
		for _, h := range hubs {
			if err := h.stop(); err != nil && (!strings.Contains(err.Error(), "in use") || try == 3) {
				t.Fatal(err)
			}
		}
	}
}

// everywhere lists and watches through each server, wherever the stream's leader and the
// consumers are, and has each refuse what it should.
func everywhere(t *testing.T, hubs []*served, c *nats.Credential, at store.Revision) {
	for _, h := range hubs {
		s := mustOpen(t, h.url, c)
		for range 4 { // a consumer is on any of the servers
			list, _, err := s.List(t.Context(), "")
			if err != nil || len(list) != 1 {
				t.Errorf("through %s: %v: %v", h.p.Name(), list, err)
			}
			for e, err := range s.Watch(t.Context(), "", at-1) {
				if err != nil || e.Key != "run/r1" {
					t.Errorf("through %s: %v: %v", h.p.Name(), e, err)
				}
				break
			}
		}
		conn := (&target{served: h}).dial(t, c, nil)
		msg := client.NewMsg("$KV.weft-pilot.run.r1")
		msg.Header.Set("Nats-Rollup", "all")
		if m, err := conn.RequestMsg(msg, time.Minute); err != nil || !strings.Contains(string(m.Data), "the hub refuses this") {
			t.Errorf("through %s: %v: %v", h.p.Name(), m, err)
		}
	}
}

// Two of three servers go on without the third, which has all when it is back. One of
// three alone changes nothing.
func TestThree(t *testing.T) {
	t.Parallel()
	require.Long(t, "10 s")
	places, hows, hubs := three(t, nil, nil)
	admin := reach(t, places[0])
	c := credential(t, admin, alice) // each server lets her in
	s := mustOpen(t, hubs[0].url+","+hubs[1].url+","+hubs[2].url, c)
	at, err := s.Create(t.Context(), "run/r1", []byte("0"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := s.Lease(t.Context(), "device/fdo1", "alice", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	everywhere(t, hubs, c, at)
	if err := hubs[0].stop(); err != nil { // to which she was connected
		t.Fatal(err)
	}
	for i := 1; i <= 20; i++ {
		if at, err = s.Update(t.Context(), "run/r1", []byte(fmt.Sprint(i)), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := s.Lease(t.Context(), "device/fdo1", "bob", time.Hour); !errors.As(err, new(*store.HeldError)) {
		t.Errorf("a second holder: %v", err)
	}
	// It is told what it missed, and only then is all of the hub well.
	if _, err := places[0].Reach(); err == nil || !strings.Contains(err.Error(), "does not run") {
		t.Errorf("one of three is run alone: %v", err)
	}
	if err := places[0].Serve(t.Context(), Serving{Listen: "127.0.0.1:0"}); err == nil || !strings.Contains(err.Error(), "is to run as alone") {
		t.Errorf("one of three is served alone: %v", err)
	}
	hubs[0] = serve(t, places[0], hows[0])
	for {
		status, err := places[1].Status(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(status.Servers) != 3 || status.Owners[0].Streams[0].Replicas != 3 {
			t.Fatalf("%+v", status)
		}
		if status.Whole() {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	again := mustOpen(t, hubs[0].url, c)
	if e, err := again.Get(t.Context(), "run/r1"); err != nil || string(e.Value) != "20" {
		t.Errorf("%v: %v", e, err)
	}
	// The hub is cut down to one server, which must not act on its own.
	for _, h := range hubs[1:] {
		if err := h.stop(); err != nil {
			t.Fatal(err)
		}
	}
	for _, do := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := again.Update(ctx, "run/r1", nil, at); return err },
		func(ctx context.Context) error { _, err := again.Get(ctx, "run/r1"); return err },
		func(ctx context.Context) error { _, err := again.Lease(ctx, "device/fdo2", "x", time.Hour); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := do(ctx)
		cancel()
		if !errors.As(err, new(*store.UnavailableError)) {
			t.Errorf("one of three: %v", err)
		}
	}
}
