package initiator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

func TestLoad(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		c, err := initiator.Connect(context.Background(), tr, options(serve(t, tr, newFake())))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		q, ns := c.Queues()[0], c.Namespaces()[0]
		for _, o := range []initiator.LoadOptions{
			{Op: initiator.Read, Size: 4096, Depth: 1, Samples: 100, Warmup: 10, Random: true},
			{Op: initiator.Read, Size: 4096, Depth: 32, Samples: 500, Random: true, Seed: 3},
			{Op: initiator.Read, Size: 512, Depth: 8, Samples: 3, Span: 512},
			{Op: initiator.Write, Size: 64 << 10, Depth: 4, Samples: 50, Warmup: 7},
			{Op: initiator.Flush, Depth: 2, Samples: 10, Warmup: 1},
			{Op: initiator.Read, Size: 512, Depth: 2},
		} {
			o.Namespace = ns
			recorded := 0
			r, err := initiator.Load(context.Background(), q, o, func(d time.Duration) {
				if d <= 0 {
					t.Errorf("a command took %v", d)
				}
				recorded++
			})
			if err != nil || r.Done != o.Samples || recorded != o.Samples || r.Failed != 0 || r.Bytes != uint64(o.Samples*o.Size) {
				t.Errorf("%v of %d bytes at depth %d: %+v, %d recorded, %v", o.Op, o.Size, o.Depth, r, recorded, err)
			}
			if o.Samples > 0 && r.Elapsed <= 0 {
				t.Errorf("elapsed %v", r.Elapsed)
			}
		}
	})
}

func TestLoadCountsRefusals(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		f := newFake()
		ns := f.spaces[1]
		ns.NSZE, ns.NCAP = 4096, 4096 // twice what there is
		f.spaces[1] = ns
		c, err := initiator.Connect(context.Background(), tr, options(serve(t, tr, f)))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		o := initiator.LoadOptions{Namespace: c.Namespaces()[0], Op: initiator.Read, Size: 4096, Depth: 4, Samples: 512}
		recorded := 0
		r, err := initiator.Load(context.Background(), c.Queues()[0], o, func(time.Duration) { recorded++ })
		if err != nil || r.Done != 256 || r.Failed != 256 || recorded != 256 || !errors.Is(r.First, wire.LBAOutOfRange) {
			t.Errorf("%+v, %d recorded, %v", r, recorded, err)
		}
	})
}

func TestLoadEnds(t *testing.T) {
	both(t, func(t *testing.T, tr fabric.Transport) {
		c, err := initiator.Connect(context.Background(), tr, options(serve(t, tr, newFake())))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		q := c.Queues()[0]
		o := initiator.LoadOptions{Namespace: c.Namespaces()[0], Op: initiator.Read, Size: 4096, Depth: 4, Samples: 1 << 30}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		n := 0
		r, err := initiator.Load(ctx, q, o, func(time.Duration) {
			if n++; n == 100 {
				cancel()
			}
		})
		if !errors.Is(err, context.Canceled) || r.Done < 100 {
			t.Errorf("%+v, %v", r, err)
		}
		if err := q.Flush(o.Namespace); err != nil {
			t.Errorf("the queue is not free: %v", err)
		}
		n = 0
		_, err = initiator.Load(context.Background(), q, o, func(time.Duration) {
			if n++; n == 100 {
				go c.Close()
			}
		})
		if !errors.Is(err, fabric.ErrClosed) {
			t.Errorf("a controller that is closed meanwhile: %v", err)
		}
		<-c.Done()
	})
}

func TestLoadRefused(t *testing.T) {
	tr := new(tcp.Transport)
	c, err := initiator.Connect(context.Background(), tr, options(serve(t, tr, newFake())))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for what, change := range map[string]func(*initiator.LoadOptions){
		"depth 0":       func(o *initiator.LoadOptions) { o.Depth = 0 },
		"depth 64":      func(o *initiator.LoadOptions) { o.Depth = 64 },
		"part block":    func(o *initiator.LoadOptions) { o.Size = 100 },
		"no size":       func(o *initiator.LoadOptions) { o.Size = 0 },
		"too large":     func(o *initiator.LoadOptions) { o.Size = 256 << 10 },
		"span too long": func(o *initiator.LoadOptions) { o.Span = 2 << 20 },
		"span of less":  func(o *initiator.LoadOptions) { o.Span = 1024 },
		"operation":     func(o *initiator.LoadOptions) { o.Op = wire.OpCompare },
		"samples":       func(o *initiator.LoadOptions) { o.Samples = -1 },
	} {
		o := initiator.LoadOptions{Namespace: c.Namespaces()[0], Op: initiator.Read, Size: 4096, Depth: 1, Samples: 1}
		change(&o)
		if _, err := initiator.Load(context.Background(), c.Queues()[0], o, func(time.Duration) {}); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	tr := new(tcp.Transport)
	f := newFake()
	l, err := tr.Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0"}, f.accept)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	c, err := initiator.Connect(context.Background(), tr, options(l.Addr()))
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	o := initiator.LoadOptions{Namespace: c.Namespaces()[0], Op: initiator.Read, Size: 4096, Depth: 32, Samples: b.N, Random: true}
	b.ReportAllocs()
	b.ResetTimer()
	if r, err := initiator.Load(context.Background(), c.Queues()[0], o, func(time.Duration) {}); err != nil || r.Done != b.N {
		b.Fatal(r, err)
	}
}
