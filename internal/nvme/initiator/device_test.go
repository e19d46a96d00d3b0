package initiator_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/wire"
)

// open opens a device of one lane on portals.
func openDevice(t *testing.T, o initiator.DeviceOptions, tr fabric.Transport, addrs ...string) (*initiator.Device, *initiator.Lane) {
	t.Helper()
	o.Options, o.NSID = options(""), 1
	o.First, o.Most = time.Millisecond, 10*time.Millisecond
	for _, a := range addrs {
		o.Portals = append(o.Portals, initiator.Portal{Addr: a, Transport: tr})
	}
	d, err := initiator.OpenDevice(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	l, err := d.Lane()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lane(); err == nil {
		t.Error("there are more lanes than queues")
	}
	return d, l
}

func do(t *testing.T, l *initiator.Lane, op uint8, lba uint64, b []byte) error {
	t.Helper()
	if err := l.Submit(0, op, lba, len(b)/512, b); err != nil {
		t.Fatal(err)
	}
	var done [1]initiator.Done
	if n, err := l.Wait(t.Context(), done[:], true); err != nil {
		return err
	} else if n != 1 || done[0].Slot != 0 {
		t.Fatalf("%d done, slot %d", n, done[0].Slot)
	}
	return done[0].Err
}

// TestDeviceSurvivesRestarts: commands that are outstanding when the target
// goes are answered by the one that comes, whatever it is that goes.
func TestDeviceSurvivesRestarts(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		addr := serve(t, tr, f)
		d, l := openDevice(t, initiator.DeviceOptions{}, tr, addr)
		out, in := bytes.Repeat([]byte{7}, 4096), make([]byte, 4096)
		if err := do(t, l, wire.OpWrite, 8, out); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			f.mu.Lock() // the answer must not overtake the break
			if err := l.Submit(0, wire.OpRead, 8, 8, in); err != nil {
				t.Fatal(err)
			}
			d.Paths()[0].Controller.Queues()[0].Break()
			f.mu.Unlock()
			var done [1]initiator.Done
			if n, err := l.Wait(t.Context(), done[:], true); err != nil || n != 1 || done[0].Err != nil {
				t.Fatalf("%d, %v, %v", n, err, done[0].Err)
			}
			if !bytes.Equal(in, out) {
				t.Fatal("data changed")
			}
			clear(in)
		}
		if s := d.Stats(); s.Lost < 3 || s.Reconnected < 3 || s.Retried < 3 {
			t.Errorf("%+v, want 3 of each", s)
		}
	})
}

// TestDeviceGivesUp: when the target refuses for good, and when nothing comes
// back in time.
func TestDeviceGivesUp(t *testing.T) {
	tr := new(nvmetest.Memory)
	f := newFake()
	var refuse atomic.Bool
	f.connect = func(wire.ConnectCommand, wire.ConnectData) (uint64, wire.Status) {
		if refuse.Load() {
			return 0, wire.ConnectInvalidHost.WithDNR()
		}
		return 7, wire.Success
	}
	d, l := openDevice(t, initiator.DeviceOptions{}, tr, serve(t, tr, f))
	refuse.Store(true)
	d.Paths()[0].Controller.Queues()[0].Break()
	if err := do(t, l, wire.OpRead, 0, make([]byte, 512)); !errors.Is(err, wire.ConnectInvalidHost) {
		t.Errorf("refused for good: %v", err)
	}

	f = newFake()
	f.connect = func(wire.ConnectCommand, wire.ConnectData) (uint64, wire.Status) {
		if refuse.Load() {
			return 0, wire.ConnectControllerBusy
		}
		return 7, wire.Success
	}
	refuse.Store(false)
	d, l = openDevice(t, initiator.DeviceOptions{Patience: 30 * time.Millisecond}, tr, serve(t, tr, f))
	refuse.Store(true)
	d.Paths()[0].Controller.Queues()[0].Break()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		err := do(t, l, wire.OpRead, 0, make([]byte, 512))
		if errors.Is(err, wire.ConnectControllerBusy) {
			break
		}
		if err == nil || time.Now().After(deadline) { // another error: not yet dialled again
			t.Fatalf("no path in time: %v", err)
		}
	}
}

// TestDevicePaths: two paths share the load; one that is lost is done without;
// a namespace that differs is refused.
func TestDevicePaths(t *testing.T) {
	for _, policy := range []initiator.Policy{initiator.RoundRobin, initiator.QueueDepth} {
		tr := new(nvmetest.Memory)
		one, two := newFake(), newFake()
		two.disk = one.disk
		d, l := openDevice(t, initiator.DeviceOptions{Policy: policy}, tr, serve(t, tr, one), serve(t, tr, two))
		buf := make([]byte, 512*16)
		var done [16]initiator.Done
		two.mu.Lock() // no answer must overtake the break
		for slot := range 16 {
			if err := l.Submit(slot, wire.OpRead, uint64(slot), 1, buf[slot*512:][:512]); err != nil {
				t.Fatal(err)
			}
		}
		d.Paths()[1].Controller.Queues()[0].Break()
		two.mu.Unlock()
		for left := 16; left > 0; {
			n, err := l.Wait(t.Context(), done[:], true)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range done[:n] {
				if c.Err != nil {
					t.Error(c.Err)
				}
			}
			left -= n
		}
		if _, err := l.Wait(t.Context(), done[:], true); !errors.Is(err, fabric.ErrIdle) {
			t.Errorf("nothing is outstanding: %v", err)
		}
		if s := d.Stats(); s.Retried == 0 {
			t.Errorf("%+v: the second path had nothing to do", s)
		}
	}
	tr := new(nvmetest.Memory)
	other := newFake()
	other.uuid[0] = 1
	d, _ := openDevice(t, initiator.DeviceOptions{}, tr, serve(t, tr, newFake()), serve(t, tr, other))
	if p := d.Paths(); p[0].Controller == nil || p[1].Controller != nil || p[1].Err == nil {
		t.Errorf("a path to another namespace: %+v", p)
	}
}

// TestDeviceInterrupted: who waits for a path need not wait for it to the end.
func TestDeviceInterrupted(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		var busy atomic.Bool
		f.connect = func(wire.ConnectCommand, wire.ConnectData) (uint64, wire.Status) {
			if busy.Load() {
				return 0, wire.ConnectControllerBusy
			}
			return 7, wire.Success
		}
		d, l := openDevice(t, initiator.DeviceOptions{}, tr, serve(t, tr, f))
		busy.Store(true)
		d.Paths()[0].Controller.Queues()[0].Break()
		if err := l.Submit(0, wire.OpRead, 0, 1, make([]byte, 512)); err != nil {
			t.Fatal(err)
		}
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(enough) })
		var done [1]initiator.Done
		if n, err := l.Wait(ctx, done[:], true); n != 0 || !errors.Is(err, enough) {
			t.Errorf("%d, %v", n, err)
		}
		// Interrupted or not, a path that is there answers.
		busy.Store(false)
		for deadline := time.Now().Add(patience); ; {
			n, err := l.Wait(ctx, done[:], true)
			if n == 1 && err == nil && done[0].Err == nil {
				break
			}
			if !errors.Is(err, enough) || time.Now().After(deadline) {
				t.Fatalf("%d, %v, %v", n, err, done[0].Err)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// TestDeviceTellsWhy: why a path does not come back is told once, and again when it
// is another reason. A namespace that has grown is the same.
func TestDeviceTellsWhy(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		var mu sync.Mutex
		var said []string
		told := func() (again []string) {
			mu.Lock()
			defer mu.Unlock()
			for _, s := range said {
				if strings.Contains(s, "connected again") {
					again = append(again, s)
				}
			}
			return again
		}
		await := func(what string, over func() bool) {
			t.Helper()
			for end := time.Now().Add(patience); !over(); time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%s: %q", what, told())
				}
			}
		}
		// attempts waits for more of them.
		attempts := func(more int) {
			t.Helper()
			f.mu.Lock()
			had := len(f.connects)
			f.mu.Unlock()
			await("attempts", func() bool {
				f.mu.Lock()
				defer f.mu.Unlock()
				return len(f.connects) >= had+more
			})
		}
		become := func(nguid byte) {
			f.mu.Lock()
			defer f.mu.Unlock()
			ns := f.spaces[1]
			ns.NGUID[0] = nguid
			ns.NSZE, ns.NCAP = ns.NSZE+8, ns.NCAP+8
			f.spaces[1] = ns
		}
		d, _ := openDevice(t, initiator.DeviceOptions{Told: func(s string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, s)
		}}, tr, serve(t, tr, f))
		become(7)
		d.Paths()[0].Controller.Queues()[0].Break()
		_ = d.Paths()[0].Controller.Close()
		attempts(8)
		if s := told(); len(s) != 1 || !strings.Contains(s[0], "namespace 1 is not what it was: NGUID 07000000000000000000000000000000, was 00000000000000000000000000000000") {
			t.Fatalf("%q", s)
		}
		become(8)
		attempts(8)
		if s := told(); len(s) != 2 || !strings.Contains(s[1], ": NGUID 08") {
			t.Fatalf("%q", s)
		}
		become(0)
		await("the path", func() bool { return len(told()) == 3 })
		if n := d.Namespace().Blocks; n != 2048+3*8 {
			t.Errorf("%d blocks", n)
		}
	})
}
