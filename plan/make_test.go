package plan

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/hint"
)

func TestMake(t *testing.T) {
	w := newWorld()
	w.want("a/v.late", "1", "b/v.same") // through what is converged
	w.want("b/v.same", "1", "b/v.new")
	w.want("b/v.new", "1").impact = ImpactLinkFlap
	w.want("b/v.gone", "")
	w.want("c/v.x", "1")
	w.want("a/v.never", "1").refuse = hint.Wrap(errors.New("takes at most 4096"), "use less")
	w.device("b").values = map[string]string{"v.same": "1", "v.gone": "0"}
	w.device("idle")
	w.fault = func(call string, _ int) error {
		if call == "open c" {
			return hint.Wrap(errors.New("no route"), "plug it in")
		}
		return nil
	}
	in := w.input()
	in.Notes = []Note{{Block: "rollout.x", Text: "described, not yet managed"}}
	in.Sources = map[string]string{"f": "text"}
	in.Inputs = map[string]json.RawMessage{"n": json.RawMessage("1")}
	in.Now = func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	p := mustMake(t, within(t), in)

	var steps []string
	for _, s := range p.Steps {
		steps = append(steps, s.ID.String())
	}
	if want := []string{"b/v.new", "a/v.late", "b/v.gone"}; !slices.Equal(steps, want) {
		t.Errorf("steps %v, want %v", steps, want)
	}
	late := p.Steps[1]
	if len(late.Needs) != 1 || late.Needs[0].String() != "b/v.new" {
		t.Errorf("a/v.late needs %v", late.Needs)
	}
	if want := []Change{{"value", "", "1", ImpactNone, ""}}; !reflect.DeepEqual(late.Changes, want) ||
		late.Send[0] != "set v.late 1" || late.Undo[0] != "set v.late " || late.Range.Start.Line != 1 {
		t.Errorf("step %+v", late)
	}
	if gone := p.Unreachable(); len(gone) != 1 || gone[0].Address != "c" || gone[0].Error != "no route" || gone[0].Hint != "plug it in" {
		t.Errorf("unreachable %+v", gone)
	}
	if r := p.Refusals; len(r) != 1 || r[0].Text != "takes at most 4096" || r[0].Hint != "use less" || r[0].Range.Start.Line != 6 {
		t.Errorf("refusals %+v", r)
	}
	want := Counts{Resources: 6, Changed: 3, Converged: 1, Refused: 1, Unread: 1,
		ByImpact: map[Impact]int{ImpactNone: 2, ImpactLinkFlap: 1}}
	if got := p.Counts(); !reflect.DeepEqual(got, want) {
		t.Errorf("counts %+v, want %+v", got, want)
	}
	if p.Empty() || p.Owner != "test" || p.Version != "v0" || !p.Created.Equal(in.Now()) {
		t.Errorf("plan %+v", p)
	}
	if len(p.Devices) != 3 || w.called("open idle") != 0 || w.called("open a") != 1 {
		t.Errorf("devices %+v, calls %v", p.Devices, w.calls)
	}
	if w.called("begin")+w.called("apply") != 0 {
		t.Errorf("make changed something: %v", w.calls)
	}
	events := map[EventType]int{EventConnect: 3, EventRead: 2, EventNote: 1, EventDiagnostic: 1, EventPlanned: 3, EventChangeSummary: 1}
	if got := w.eventTypes(); !reflect.DeepEqual(got, events) {
		t.Errorf("events %v, want %v", got, events)
	}
	for _, e := range w.events {
		if text, err := json.Marshal(e); err != nil || !json.Valid(text) {
			t.Errorf("event %+v: %v", e, err)
		}
	}
	throughFile(t, p)
}

func TestMakeBadInput(t *testing.T) {
	t.Run("a device is missing", func(t *testing.T) {
		w := newWorld()
		w.want("a/v.x", "1")
		in := w.input()
		in.Devices = nil
		if _, err := Make(within(t), in); err == nil || !strings.Contains(err.Error(), "no such device") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("a cycle", func(t *testing.T) {
		w := newWorld()
		w.want("a/v.x", "1", "a/v.y")
		w.want("a/v.y", "1", "a/v.x")
		if _, err := Make(within(t), w.input()); err == nil || !strings.Contains(err.Error(), "needs itself") {
			t.Errorf("error %v", err)
		}
		if w.called("open") != 0 {
			t.Error("a device was opened")
		}
	})
	t.Run("a device answers for fewer resources", func(t *testing.T) {
		w := newWorld()
		w.want("a/v.x", "1")
		in := w.input()
		in.Devices = map[string]Device{"a": shortReader{w.device("a")}}
		p := mustMake(t, within(t), in)
		if gone := p.Unreachable(); len(gone) != 1 || gone[0].Error != "asked for 1 resources, read 0" {
			t.Errorf("unreachable %+v", gone)
		}
	})
}

type shortReader struct{ Device }

func (shortReader) Read(context.Context, []Resource) ([]State, error) { return nil, nil }

// A run that is stopped proves nothing about devices that did not answer.
func TestMakeInterrupted(t *testing.T) {
	w := newWorld()
	for _, d := range []string{"a", "b", "c", "d", "e"} {
		w.want(d+"/v.x", "1")
	}
	ctx, cancel := context.WithCancel(within(t))
	w.fault = func(call string, _ int) error {
		cancel()
		return context.Canceled
	}
	p, err := Make(ctx, w.input())
	if p != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("plan %v, error %v", p, err)
	}
}

// While a device takes its time there are signs of life that name it.
func TestHeartbeat(t *testing.T) {
	w := newWorld()
	w.want("slow/v.x", "1")
	beat := make(chan Event)
	w.fault = func(call string, _ int) error {
		if call == "open slow" || call == "apply slow/v.x" {
			<-beat // only a heartbeat lets it go on
		}
		return nil
	}
	in := w.input()
	in.heartbeat = time.Millisecond
	var seen []string
	in.Emit = func(e Event) {
		if e.Type != EventHeartbeat {
			return
		}
		select {
		case beat <- e:
			seen = append(seen, e.Message)
		default:
		}
	}
	p := mustMake(t, within(t), in)
	if _, err := Apply(within(t), p, in); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 3 || !strings.HasPrefix(seen[0], "still busy with 1: slow connecting (") ||
		!strings.HasPrefix(seen[2], "still busy with 1: slow changing v.x (") {
		t.Errorf("heartbeats %q", seen)
	}
}

// A restful device counts how often it is told that it may rest.
type restful struct {
	Device
	rests *atomic.Int32
}

func (r restful) Rest() error { r.rests.Add(1); return nil }

// Connections to a large fleet are not all held at once; those to a small one
// are kept for what comes next.
func TestLargeFleetsRest(t *testing.T) {
	for n, want := range map[int]int32{crowd - 1: 0, crowd: crowd} {
		in, rests := benchInput(n, n, true), new(atomic.Int32)
		for address, d := range in.Devices {
			in.Devices[address] = restful{d, rests}
		}
		if p, err := Make(within(t), in); err != nil || !p.Empty() {
			t.Fatal(err)
		}
		if got := rests.Load(); got != want {
			t.Errorf("%d devices: %d were told to rest, want %d", n, got, want)
		}
	}
}
