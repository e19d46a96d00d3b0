package prove

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/remote"
	"weft/inventory"
	"weft/plan"
)

// A weft-target that crashed and was started again by its unit is reported,
// although every read went well, whether it happened while something was
// measured or between two looks.
func TestAgentStartedAgain(t *testing.T) {
	m := model(1, 2, time.Second)
	var targets []string // their servers, in the order of the model
	for _, x := range m.Targets {
		targets = append(targets, x.Server.Name)
	}
	first, second := time.Date(2026, 11, 1, 8, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	look := func(t *testing.T, f *farm, since *Snapshot) *Result {
		t.Helper()
		f.busy, f.served = map[string]int{}, map[string]uint64{}
		res, err := Run(t.Context(), Input{Model: m, Since: since, Volume: func(*inventory.Volume, *inventory.Server) string { return "/volume" },
			Host: func(_ context.Context, s *inventory.Server) (remote.Host, error) {
				return &farmHost{farm: f, name: s.Name}, nil
			}})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	restarts := func(res *Result) (servers []string) {
		for _, j := range res.Judgements {
			if j.Metric == "restarts" {
				servers = append(servers, j.Pair)
				if j.Verdict != Inconclusive || !strings.Contains(j.Why, "restarted at 2026-11-01T09:00:00Z") {
					t.Errorf("%+v", j)
				}
			}
		}
		return servers
	}
	quiet := &farm{p99: time.Microsecond, started: map[string]time.Time{targets[0]: first, targets[1]: first}}
	if got := restarts(look(t, quiet, nil)); got != nil {
		t.Errorf("nothing crashed: %v", got)
	}
	during := &farm{p99: time.Microsecond, started: map[string]time.Time{targets[0]: first, targets[1]: first}}
	during.fails = func(string) bool { // asked before each read over the fabric
		during.mu.Lock()
		defer during.mu.Unlock()
		during.started[targets[1]] = second
		return false
	}
	if res := look(t, during, nil); len(restarts(res)) != 1 || res.Verdict != Inconclusive {
		t.Errorf("one crashed: %s %v", res.Verdict, restarts(res))
	}
	between := &farm{p99: time.Microsecond, started: map[string]time.Time{targets[0]: second, targets[1]: first}}
	since := &Snapshot{Agents: map[string]time.Time{m.Targets[0].Server.Addr: first, m.Targets[1].Server.Addr: first}}
	if got := restarts(look(t, between, since)); len(got) != 1 || got[0] != m.Targets[0].Server.Addr {
		t.Errorf("the first crashed between two looks: %v", got)
	}
}

// What could not be read at one look is counted on from the look before it.
func TestSinceTheLookBefore(t *testing.T) {
	at := func(port string, value uint64) Sample {
		return Sample{Counter: Counter{Device: "switch.a", Port: port, Name: "drops"}, Value: value}
	}
	before := &Snapshot{Samples: []Sample{at("1", 5), at("2", 7)}, Agents: map[string]time.Time{"server.a": time.Unix(1, 0), "server.b": time.Unix(2, 0)}}
	now := &Snapshot{Samples: []Sample{at("1", 6)}, Missing: []Missing{{Device: "switch.a", Port: "2", Why: "away"}}, Agents: map[string]time.Time{"server.a": time.Unix(3, 0)}}
	next := now.Since(before)
	for port, want := range map[string]uint64{"1": 6, "2": 7} {
		if s, ok, why := next.find(at(port, 0).Counter); !ok || s.Value != want {
			t.Errorf("port %s stands at %d, %t %s", port, s.Value, ok, why)
		}
	}
	if !next.Agents["server.a"].Equal(time.Unix(3, 0)) || !next.Agents["server.b"].Equal(time.Unix(2, 0)) || len(now.Samples) != 1 {
		t.Errorf("%+v, %+v", next, now)
	}
	if (*Snapshot)(nil).Since(before) != nil || now.Since(nil) != now {
		t.Error("nothing is made of nothing")
	}
}

// Whoever waits for a long measurement sees that it lives, and how far it is.
func TestSignsOfLife(t *testing.T) {
	heard := make(chan plan.Event, 1)
	f := &farm{p99: time.Microsecond, busy: map[string]int{}, served: map[string]uint64{}}
	f.fails = func(string) bool { <-heard; return false } // no read ends before a sign is heard
	var probes atomic.Int32
	_, err := Run(t.Context(), Input{Model: model(1, 1, time.Second), beat: time.Millisecond,
		Volume: func(*inventory.Volume, *inventory.Server) string { return "/volume" },
		Host: func(_ context.Context, s *inventory.Server) (remote.Host, error) {
			return &farmHost{farm: f, name: s.Name}, nil
		},
		Emit: func(e plan.Event) {
			switch e.Type {
			case plan.EventProbe:
				probes.Add(1)
			case plan.EventHeartbeat:
				if !strings.Contains(e.Message, "flows are done") {
					t.Errorf("%+v", e)
				}
				select {
				case heard <- e:
				default:
				}
			}
		}})
	if err != nil || probes.Load() == 0 {
		t.Errorf("%d probes, %v", probes.Load(), err)
	}
}
