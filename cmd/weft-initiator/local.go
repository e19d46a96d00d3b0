package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
	"weft/internal/nvme/load"
)

// readLocal measures reads of a file or device, one at a time, at random
// multiples of their size; of a device past the system's cache, as a target
// reads it. Reads that fail are counted in the result.
func (p *probe) readLocal(ctx context.Context, path string, result *agent.ProbeResult, hist *latency.Histogram) error {
	info, err := os.Stat(path)
	if err != nil {
		return err // names the path
	}
	f, err := load.OpenLocal(path, int(p.Size), false, info.Mode()&os.ModeDevice != 0)
	if err != nil {
		return err
	}
	defer f.Close()
	places := int64(f.Capacity()) / int64(p.Size)
	if places == 0 {
		return fmt.Errorf("%s has %d bytes, less than one read of %d", path, f.Capacity(), p.Size)
	}
	buf := load.Aligned(int(p.Size))
	var begin time.Time
	for i := range p.Warmup + p.Samples {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := rand.Int64N(places) * int64(p.Size)
		start := time.Now()
		if i == p.Warmup {
			begin = start
		}
		_, err := f.ReadAt(buf, at)
		took := time.Since(start)
		if err != nil {
			result.Errors++
			result.FirstErr = err.Error()
			return failed(fmt.Errorf("reading at %d: %w", at, err))
		}
		result.Bytes += uint64(p.Size)
		if i >= p.Warmup {
			hist.Record(took)
			result.Samples++
		}
	}
	result.Elapsed = int64(time.Since(begin))
	return nil
}
