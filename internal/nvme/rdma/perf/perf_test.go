package perf_test

import (
	"context"
	"net/netip"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"weft/internal/nvme/rdma/perf"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/rdma/verbs/verbstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// measure measures everything on v, at an address.
func measure(t *testing.T, v verbs.Provider, at netip.Addr, length time.Duration) {
	a, err := v.Listen(netip.AddrPortFrom(at, 0))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- perf.Serve(ctx, a, func(err error) { t.Error(err) }) }()
	defer func() {
		cancel()
		if err := <-over; err != nil {
			t.Error(err)
		}
	}()
	for _, op := range perf.Ops() {
		for _, s := range []perf.Shape{
			{Op: op, Size: 1, Depth: 1}, {Op: op, Size: 7, Depth: 1}, {Op: op, Size: 64, Depth: 1}, {Op: op, Size: 65536, Depth: 1},
			{Op: op, Bandwidth: true, Size: 4096, Depth: 16},
		} {
			r, err := perf.Measure(t.Context(), v, verbs.Route{To: a.Addr()}, s, length/10, length)
			if err != nil {
				t.Fatalf("%s of %d: %v", s.Name(), s.Size, err)
			}
			if r.Done == 0 || r.Elapsed <= 0 || !s.Bandwidth && r.Latency.Quantile(0.5) <= 0 {
				t.Errorf("%s of %d: %d messages in %v", s.Name(), s.Size, r.Done, r.Elapsed)
			}
			t.Logf("%-12s %7d B  %8.0f/s  typical %v", s.Name(), s.Size, r.Rate(), r.Latency.Quantile(0.5))
		}
	}
}

func TestMeasure(t *testing.T) {
	for kind, limits := range map[string]verbs.Limits{
		"RoCE": {}, "iWARP": {Device: "siw", Works: 4096, Dones: 8192, Reads: 4, Issues: 4, IWARP: true},
	} {
		t.Run(kind, func(t *testing.T) {
			f := &verbstest.Fabric{Limit: limits}
			measure(t, f, netip.MustParseAddr("10.0.0.1"), 20*time.Millisecond)
			if n, k := f.Registered(), f.Links(); n != 0 || k != 0 {
				t.Errorf("%d regions of memory and %d connections are left", n, k)
			}
		})
	}
}

// TestMeasureHardware runs where WEFT_RDMA_ADDR is an address that RDMA leads
// to, in guests of the lab.
func TestMeasureHardware(t *testing.T) {
	at := os.Getenv("WEFT_RDMA_ADDR")
	if at == "" {
		t.Skip("WEFT_RDMA_ADDR names no address of an RDMA device")
	}
	v, err := verbs.Load()
	if err != nil {
		t.Fatal(err)
	}
	measure(t, v, netip.MustParseAddr(at), 300*time.Millisecond)
}

func TestShapes(t *testing.T) {
	for _, s := range []perf.Shape{
		{}, {Op: perf.Send, Size: 0, Depth: 1}, {Op: perf.Read, Size: perf.MaxSize + 1, Depth: 1}, {Op: "atomic", Size: 8, Depth: 1},
		{Op: perf.Write, Size: 8, Depth: 2}, {Op: perf.Write, Bandwidth: true, Size: 8, Depth: perf.MaxDepth + 1},
	} {
		if s.Validate() == nil {
			t.Errorf("%+v is valid", s)
		}
	}
	if got := (perf.Shape{Op: perf.Read, Bandwidth: true}).Name(); got != "ib_read_bw" {
		t.Error(got)
	}
}
