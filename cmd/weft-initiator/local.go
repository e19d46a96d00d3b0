package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"weft/internal/agent"
	"weft/internal/latency"
)

// readLocal measures reads of a file or device, one at a time, at random
// multiples of their size. Reads that fail are counted in the result.
func (p *probe) readLocal(ctx context.Context, path string, result *agent.ProbeResult, hist *latency.Histogram) error {
	f, err := os.Open(path)
	if err != nil {
		return err // names the path
	}
	defer f.Close()
	end, err := f.Seek(0, io.SeekEnd) // says the size of devices too
	if err != nil {
		return fmt.Errorf("finding the size: %w", err)
	}
	places := end / int64(p.size)
	if places == 0 {
		return fmt.Errorf("%s has %d bytes, less than one read of %d", path, end, p.size)
	}
	buf := make([]byte, p.size)
	var begin time.Time
	for i := range p.warmup + p.samples {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		at := rand.Int64N(places) * int64(p.size)
		start := time.Now()
		if i == p.warmup {
			begin = start
		}
		_, err := f.ReadAt(buf, at)
		took := time.Since(start)
		if err != nil {
			result.Errors++
			result.FirstErr = err.Error()
			return failed(fmt.Errorf("reading at %d: %w", at, err))
		}
		result.Bytes += uint64(p.size)
		if i >= p.warmup {
			hist.Record(took)
			result.Samples++
		}
	}
	result.Elapsed = int64(time.Since(begin))
	return nil
}
