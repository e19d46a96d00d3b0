//go:build !race

package tcp_test

import (
	"testing"

	"weft/internal/nvme/wire"
)

// TestSteadyStateDoesNotAllocate counts both ends, which share this process.
func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, c := range []struct {
		op    uint8
		size  int
		depth int
	}{{wire.OpRead, 4 << 10, 1}, {wire.OpRead, 4 << 10, 32}, {wire.OpWrite, 4 << 10, 32}, {wire.OpRead, 64 << 10, 8}} {
		q := nullQueue(t, c.depth)
		const n = 2000
		run(t, q, c.op, c.size, c.depth, n)
		// Some are run's own, and the collector empties pools now and then.
		if got := testing.AllocsPerRun(3, func() { run(t, q, c.op, c.size, c.depth, n) }); got > n/20 {
			t.Errorf("opcode %d, %d bytes, depth %d: %v allocations for %d commands", c.op, c.size, c.depth, got, n)
		}
	}
}
