package rdma_test

import (
	"testing"

	"go.uber.org/goleak"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/rdma"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/require"
)

func TestMain(m *testing.M) {
	require.Patience(8)
	goleak.VerifyTestMain(m)
}

// memory is a transport in memory. At the end of the test nothing may be left
// of it.
func memory(t *testing.T, f *verbstest.Fabric) *rdma.Transport {
	t.Helper()
	t.Cleanup(func() {
		if n, k, h := f.Registered(), f.Links(), f.Hubs(); n != 0 || k != 0 || h != 0 {
			t.Errorf("%d regions of memory, %d connections and %d hubs are left", n, k, h)
		}
	})
	return &rdma.Transport{Verbs: f}
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]func(*rdma.Transport, *verbstest.Fabric){
		"event driven": func(*rdma.Transport, *verbstest.Fabric) {},
		"polled":       func(tr *rdma.Transport, _ *verbstest.Fabric) { tr.Poll = true },
		"iWARP": func(_ *rdma.Transport, f *verbstest.Fabric) {
			f.Limit = verbs.Limits{Device: "siw", Works: 4096, Dones: 8192, Reads: 1, Issues: 1, IWARP: true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			nvmetest.Conformance(t, func(t *testing.T) fabric.Transport {
				v := new(verbstest.Fabric)
				tr := memory(t, v)
				f(tr, v)
				return tr
			}, "10.0.0.1:0")
		})
	}
}
