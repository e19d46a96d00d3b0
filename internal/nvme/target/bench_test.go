package target

import (
	"path/filepath"
	"testing"
	"time"

	"weft/internal/latency"
	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/tcp"
)

// BenchmarkRead4K measures reads of 4 KiB over loopback, one at a time and 32
// at a time.
func BenchmarkRead4K(b *testing.B) {
	const size = 64 << 20
	for _, kind := range []string{"memory", "file"} {
		for _, depth := range []int{1, 32} {
			b.Run(map[int]string{1: "depth1/", 32: "depth32/"}[depth]+kind, func(b *testing.B) {
				store, err := backend.NewMemory(size, 4096)
				if kind == "file" {
					store, err = backend.OpenFile(filepath.Join(b.TempDir(), "volume"), size, 4096)
				}
				if err != nil {
					b.Fatal(err)
				}
				benchmarkRead(b, store, depth)
			})
		}
	}
}

func benchmarkRead(b *testing.B, store backend.Backend, depth int) {
	t, err := New(Config{Subsystems: []Subsystem{{
		NQN: subNQN, Serial: "BENCH", AllowHosts: []string{hostNQN}, Namespaces: []Namespace{{ID: 1, Backend: store}},
	}}})
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	carrier := &tcp.Transport{}
	l, err := carrier.Listen(b.Context(), fabric.ListenParams{Addr: "127.0.0.1:0", MaxDepth: MaxDepth, InCapsule: InCapsule, MaxTransfer: MaxTransfer}, t.Accept)
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	c, err := initiator.Connect(b.Context(), carrier, initiator.Options{Addr: l.Addr(), SubNQN: subNQN, HostNQN: hostNQN, QueueSize: depth})
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	hist := latency.New()
	b.ReportAllocs()
	b.ResetTimer()
	_, err = initiator.Load(b.Context(), c.Queues()[0], initiator.LoadOptions{
		Namespace: c.Namespaces()[0], Op: initiator.Read, Size: 4096, Depth: depth, Samples: b.N, Random: true,
	}, hist.Record)
	b.StopTimer()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(hist.Quantile(0.5))/float64(time.Microsecond), "p50-µs")
	b.ReportMetric(float64(hist.Quantile(0.99))/float64(time.Microsecond), "p99-µs")
}
