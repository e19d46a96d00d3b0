package load

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"weft/internal/nvme/rawsock"
)

// Run runs one job on each lane and returns when all have ended and nothing is
// outstanding. There is a result if the load began, also with an error: of a
// lane, or the context's. Commands that were refused are counted, they are no
// error.
func Run(ctx context.Context, lanes []Lane, o Options) (*Result, error) {
	o = o.withDefaults()
	if err := o.Validate(len(lanes)); err != nil {
		return nil, err
	}
	for _, l := range lanes {
		if l.Depth() < o.Depth {
			return nil, fmt.Errorf("depth %d, the device takes %d", o.Depth, l.Depth())
		}
		if _, ok := l.(Lossy); o.PowerLoss && !ok {
			return nil, errors.New("the device does not say when it may have lost what was not flushed")
		}
	}
	r := &run{ctx: ctx, o: o, jobs: len(lanes)}
	stop := context.AfterFunc(ctx, func() { r.stop.Store(true) })
	defer stop()
	jobs := make([]*job, len(lanes))
	for i, l := range lanes {
		jobs[i] = newJob(r, l, i, len(lanes))
	}
	total := newResult()
	errs := []error{r.phases(jobs)}
	for _, j := range jobs {
		total.add(&j.result)
		errs = append(errs, j.err)
	}
	total.User, total.System = r.user, r.system
	err := errors.Join(errs...)
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = errors.Join(err, cause)
	}
	return &total, err
}

// run is what the jobs share.
type run struct {
	ctx  context.Context
	o    Options
	jobs int
	stop atomic.Bool

	start        time.Time // of the load proper
	measure      time.Time // from when on
	end          time.Time // zero: when Count is done
	user, system time.Duration
}

// phases fills the device where blocks are verified, runs the load, and reads
// everything back.
func (r *run) phases(jobs []*job) error {
	if r.o.Careful {
		r.each(jobs, (*job).look)
		if slices.ContainsFunc(jobs, func(j *job) bool { return j.err != nil }) || r.stop.Load() {
			return nil // said by the job, or by the context
		}
	}
	if r.o.Verify {
		r.each(jobs, (*job).fill)
	}
	r.start = time.Now()
	r.measure = r.start.Add(r.o.Warmup)
	if r.o.Time > 0 {
		r.end = r.measure.Add(r.o.Time)
	}
	var before, after [2]time.Duration
	var err error
	timed := make(chan struct{})
	warm := time.AfterFunc(r.o.Warmup, func() {
		before[0], before[1], err = processTime()
		close(timed)
	})
	r.each(jobs, (*job).load)
	if !warm.Stop() {
		<-timed
	}
	if err == nil {
		after[0], after[1], err = processTime()
		r.user, r.system = after[0]-before[0], after[1]-before[1]
	}
	if r.o.Verify {
		r.each(jobs, (*job).readBack)
	}
	return err
}

// each runs a phase of all jobs.
func (r *run) each(jobs []*job, phase func(*job) error) {
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() {
			if j.err != nil {
				return
			}
			if r.o.Spin {
				cpu := -1
				if len(r.o.CPUs) > 0 {
					cpu = r.o.CPUs[i%len(r.o.CPUs)]
				}
				if j.err = rawsock.Own(cpu); j.err != nil {
					return
				}
			}
			j.err = phase(j)
		})
	}
	wg.Wait()
}
