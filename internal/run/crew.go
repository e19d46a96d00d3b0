package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/plan"
)

// A crew is the workers of all sites of a run, for whoever leads it: the rollout is
// carried out as ever, and what it asks of devices is asked of the sites that have them.
type crew struct {
	run *staged
	of  map[string]string // the site of a device
}

// crewed has the workers reach the devices where the run is theirs.
func (s *staged) crewed() {
	if s.rec.Head.Sites != nil && s.env.Records.site == "" {
		s.crew = &crew{run: s, of: sitesOf(s.site.Model)}
	}
}

// apply carries a part of the plan out, at all of its sites at once. Where fewer devices
// may be out of service than there are sites, some sites come after the others.
func (c *crew) apply(ctx context.Context, part *plan.Plan, unavailable int) (*plan.Result, error) {
	steps := c.divide(part.Steps)
	sites := sorted(steps)
	at := len(sites)
	if unavailable > 0 {
		at = min(at, unavailable)
	}
	var parts []*plan.Result
	var alarm error
	spare := c.run.spec.MaxFailures
	for some := range slices.Chunk(sites, max(at, 1)) {
		tasks := map[string]*task{}
		for i, site := range some {
			tasks[site] = &task{Do: jobApply, Phase: c.run.phaseName(), Steps: steps[site], Failures: max(spare, 0) / len(some)}
			if unavailable > 0 {
				tasks[site].Unavailable = unavailable/len(some) + map[bool]int{true: 1}[i < unavailable%len(some)]
			}
		}
		came, err := c.ask(ctx, tasks)
		stop := false
		for _, site := range sorted(came) {
			res, seen := c.applied(part, site, came[site])
			if seen != nil {
				alarm = seen
			}
			parts = append(parts, res)
			stop = stop || res.Err() != nil && len(failures(res)) == 0
			spare -= len(failures(res))
		}
		if err != nil {
			res, _ := plan.JoinResults(part, parts)
			return res, errors.Join(err, alarm)
		}
		if stop || spare < 0 || alarm != nil {
			break // as where there are no sites: the rollout decides
		}
	}
	res, err := plan.JoinResults(part, parts)
	return res, errors.Join(err, alarm)
}

// applied is what a site says of its steps of a part, and its alarm.
func (c *crew) applied(part *plan.Plan, site string, o *outcome) (*plan.Result, error) {
	var alarm error
	if o != nil && o.Alarm != nil {
		alarm = o.Alarm
	}
	if o != nil && o.Result != nil {
		return o.Result, alarm
	}
	own := part.Part(func(s plan.PlannedStep) bool { return c.of[s.ID.Device] == site })
	if o == nil || errors.Is(o.err(site), plan.ErrPaused) {
		return plan.PausedResult(own), alarm
	}
	return plan.Undone(own, o.err(site)), alarm
}

// failures are the devices that were not carried out.
func failures(res *plan.Result) (list []string) {
	for _, d := range res.Devices {
		if d.Err != nil {
			list = append(list, d.Device)
		}
	}
	return list
}

// reverse takes steps of the run back, the last phase first.
func (c *crew) reverse(ctx context.Context, steps []plan.PlannedStep) (*plan.Result, error) {
	chosen := map[plan.ID]bool{}
	for _, s := range steps {
		chosen[s.ID] = true
	}
	part := c.run.plan.Part(func(s plan.PlannedStep) bool { return chosen[s.ID] })
	var parts []*plan.Result
	for _, phase := range slices.Backward(c.run.spec.Phases) {
		of := c.divide(slices.DeleteFunc(slices.Clone(steps), func(s plan.PlannedStep) bool { return s.Phase != phase.Name }))
		tasks := map[string]*task{}
		for site, ids := range of {
			tasks[site] = &task{Do: jobReverse, Phase: phase.Name, Steps: ids}
		}
		came, err := c.ask(ctx, tasks)
		for _, site := range sorted(came) {
			if o := came[site]; o != nil {
				if o.Result != nil {
					parts = append(parts, o.Result)
				}
				err = errors.Join(err, o.err(site))
			}
		}
		if err != nil {
			res, _ := plan.JoinResults(part, parts)
			return res, err
		}
	}
	return plan.JoinResults(part, parts)
}

// measure has the sites measure that have begun, and those of the phase. Each must say
// something, but for those at which there is nothing to measure.
func (c *crew) measure(ctx context.Context, validations []string) (*prove.Result, error) {
	tasks := map[string]*task{}
	phase := c.run.phaseName()
	done := c.run.run.Done()
	for _, s := range c.run.plan.Steps {
		if s.Phase == phase || done[s.ID] {
			tasks[c.of[s.ID.Device]] = &task{Do: jobMeasure, Phase: phase, Validations: validations}
		}
	}
	if len(tasks) == 0 {
		for _, site := range c.run.rec.Head.Sites {
			tasks[site] = &task{Do: jobMeasure, Phase: phase, Validations: validations}
		}
	}
	came, err := c.ask(ctx, tasks)
	if err != nil {
		return nil, err
	}
	return joinMeasured(came)
}

// joinMeasured is what several sites have measured; a reason why nothing could be is an
// error, where that is so at all of them.
func joinMeasured(came map[string]*outcome) (*prove.Result, error) {
	all, nothing := &prove.Result{}, error(nil)
	for _, site := range sorted(came) {
		switch o := came[site]; {
		case o.Nothing:
			nothing = cmp.Or(nothing, o.err(site))
		case o.Err != nil:
			return nil, o.err(site)
		default:
			all.Join(o.Seen)
		}
	}
	if all.Verdict == "" {
		return nil, nothing
	}
	return all, nil
}

// persist has what switches do stay over a restart.
func (c *crew) persist(ctx context.Context, devices []string) error {
	_, err := c.each(ctx, devices, func() *task { return &task{Do: jobKeep} })
	return err
}

// SetMarks has workers look at the cables, and mark devices for the run.
func (c *crew) SetMarks(ctx context.Context, m plan.Mark, devices []string) (left []string, err error) {
	came, err := c.each(ctx, devices, func() *task { return &task{Do: jobMark, Mark: &m} })
	if err == nil {
		return nil, nil
	}
	begun := slices.DeleteFunc(slices.Clone(devices), func(d string) bool {
		o := came[c.of[d]]
		return o != nil && o.By == "" // nobody had taken it up
	})
	return c.ClearMarks(context.WithoutCancel(ctx), m, begun), err
}

// ClearMarks has workers take marks away, and returns the devices on which they may
// still stand.
func (c *crew) ClearMarks(ctx context.Context, m plan.Mark, devices []string) (left []string) {
	ctx, cancel := context.WithTimeout(ctx, unmarkPatience)
	defer cancel()
	of := map[string][]string{}
	tasks := map[string]*task{}
	for _, d := range devices {
		if site := c.of[d]; site != "" {
			of[site] = append(of[site], d)
			tasks[site] = &task{Do: jobUnmark, Mark: &m, Devices: of[site]}
		} else {
			left = append(left, d)
		}
	}
	came, err := c.ask(ctx, tasks)
	for site, devices := range of {
		if o := came[site]; o == nil || o.Err != nil {
			left = append(left, devices...)
		} else {
			left = append(left, o.Left...)
		}
	}
	if err != nil {
		c.run.env.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: err.Error()})
	}
	return left
}

// each has the sites of devices do something with theirs.
func (c *crew) each(ctx context.Context, devices []string, do func() *task) (map[string]*outcome, error) {
	tasks := map[string]*task{}
	for _, d := range devices {
		site := c.of[d]
		if tasks[site] == nil {
			tasks[site] = do()
		}
		tasks[site].Devices = append(tasks[site].Devices, d)
	}
	came, err := c.ask(ctx, tasks)
	for _, site := range sorted(came) {
		if o := came[site]; o != nil {
			err = errors.Join(err, o.err(site))
		}
	}
	return came, err
}

// conclude says what workers do not do.
func (c *crew) conclude() error {
	if m := c.run.site.Model; len(m.Checks)+len(m.Outputs) > 0 {
		c.run.env.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: "checks and outputs are not judged by workers: weft verify does it, from where all devices can be reached"})
	}
	return nil
}

// divide sorts steps by the sites of their devices.
func (c *crew) divide(steps []plan.PlannedStep) map[string][]plan.ID {
	of := map[string][]plan.ID{}
	for _, s := range steps {
		site := c.of[s.ID.Device]
		of[site] = append(of[site], s.ID)
	}
	return of
}

// err is what a site says went wrong.
func (o *outcome) err(site string) error {
	err := o.Err.Err()
	if err == nil {
		return nil
	}
	if advice := hint.Of(err); advice != "" {
		err = hint.Wrap(fmt.Errorf("site %s: %w", site, err), "%s", advice)
	} else {
		err = fmt.Errorf("site %s: %w", site, err)
	}
	if o.Cause != Ended {
		return because(o.Cause, err)
	}
	return err
}

func sorted[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}

// refusesWorkers is what keeps workers from carrying a rollout out, in words.
func refusesWorkers(list []string) error {
	const shown = 20
	more := ""
	if n := len(list) - shown; n > 0 {
		list, more = list[:shown], fmt.Sprintf("\n  and %d more", n)
	}
	return because(Misused, fmt.Errorf("workers cannot carry this plan out; nothing was done\n  %s%s", strings.Join(list, "\n  "), more))
}

var _ marker = (*crew)(nil)
