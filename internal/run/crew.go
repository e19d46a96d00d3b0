package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/prove"
	"weft/internal/store"
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

const (
	firstAsk       = 20 * time.Millisecond // between two looks at what came of tasks
	lastAsk        = 500 * time.Millisecond
	unmarkPatience = 2 * time.Minute // for marks to be taken away: whoever leads next tries again

	waitSaid = 10 * time.Second // between two words about who is waited for
)

// ask has sites do something, each a task of its own, and waits for all of them. What
// was begun is waited for also when the context ends, as long as a worker is at it.
func (c *crew) ask(ctx context.Context, tasks map[string]*task) (map[string]*outcome, error) {
	lead, err := c.lead()
	if err != nil {
		return nil, err
	}
	sites := make([]string, 0, len(tasks))
	for site, t := range tasks {
		t.ID, t.Run, t.Lead = rand.Text(), c.run.run.ID, lead
		sites = append(sites, site)
	}
	slices.Sort(sites)
	keep := context.WithoutCancel(ctx)
	for _, site := range sites {
		if err := putLarge(keep, c.run.rec.store, keyWork(c.run.env.Simulated, site), tasks[site]); err != nil {
			return nil, c.run.env.Records.trouble(err)
		}
	}
	return c.wait(ctx, sites, tasks)
}

// wait waits for what comes of tasks.
func (c *crew) wait(ctx context.Context, sites []string, tasks map[string]*task) (came map[string]*outcome, err error) {
	keep := context.WithoutCancel(ctx)
	came = map[string]*outcome{}
	said, asked, stop := time.Now(), time.Now(), false
	for wait := firstAsk; ; wait = min(2*wait, lastAsk) {
		for _, site := range sites {
			if came[site] == nil {
				if came[site], err = c.came(keep, site, tasks[site]); err != nil {
					return came, err
				}
			}
			stop = stop || came[site] != nil && came[site].Alarm != nil
		}
		if time.Since(asked) > heldEvery {
			stop, asked = stop || c.run.held(), time.Now()
		}
		if stop = stop || ctx.Err() != nil; stop {
			if err := c.stop(ctx, tasks, came); err != nil {
				return came, err
			}
		}
		open := slices.DeleteFunc(slices.Clone(sites), func(site string) bool { return came[site] != nil })
		if len(open) == 0 {
			return came, context.Cause(ctx)
		}
		if err := c.run.env.Records.fresh(); err != nil {
			return came, err
		}
		if time.Since(said) > waitSaid {
			said = time.Now()
			c.say(keep, open)
		}
		time.Sleep(wait)
	}
}

// lead is who leads the run.
func (c *crew) lead() (string, error) {
	r := c.run.env.Records
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.holding == nil || r.holding.lease == nil {
		return "", because(Misused, hint.Wrap(errors.New("workers share a store with whoever leads a run, and there is none here"), "--store, or a store block in the files"))
	}
	return r.holding.who, nil
}

// came reads what came of a task, and takes both away.
func (c *crew) came(ctx context.Context, site string, t *task) (*outcome, error) {
	o, err := c.run.rec.told(ctx, site, t.ID)
	if err != nil || o == nil {
		return nil, c.run.env.Records.trouble(err)
	}
	err = errors.Join(remove(ctx, c.run.rec.store, keyWork(c.run.env.Simulated, site)), remove(ctx, c.run.rec.store, keySite(c.run.run.ID, site)+"/done"))
	return o, c.run.env.Records.trouble(err)
}

// stop lets nothing more begin. A task that nobody has taken up is taken away; whoever is
// at one finishes what it has begun.
func (c *crew) stop(ctx context.Context, tasks map[string]*task, came map[string]*outcome) error {
	ended := ctx.Err() != nil
	ctx = context.WithoutCancel(ctx)
	for site, t := range tasks {
		if came[site] != nil || t.Do != jobApply && t.Do != jobMeasure && !ended {
			continue // a pause is for what is begun
		}
		at, err := c.holder(ctx, site)
		key := keyWork(c.run.env.Simulated, site)
		switch {
		case err != nil:
			return err
		case at == "":
			if err := remove(ctx, c.run.rec.store, key); err != nil {
				return c.run.env.Records.trouble(err)
			}
			came[site] = &outcome{Task: t.ID, Err: plan.Report(plan.ErrPaused)}
		case !t.Stop:
			t.Stop = true
			if err := putLarge(ctx, c.run.rec.store, key, t); err != nil {
				return c.run.env.Records.trouble(err)
			}
		}
	}
	return nil
}

// holder is the worker that is at work at a site; "": there is none.
func (c *crew) holder(ctx context.Context, site string) (string, error) {
	list, err := c.run.rec.store.Leases(ctx, keyRecord(c.run.run.ID, "site"))
	if err != nil {
		return "", c.run.env.Records.trouble(err)
	}
	i := slices.IndexFunc(list, func(l store.Holding) bool { return l.Key == leaseAt(c.run.run.ID, site) && l.Left > 0 })
	if i < 0 {
		return "", nil
	}
	return list[i].Holder, nil
}

// say tells who is waited for.
func (c *crew) say(ctx context.Context, open []string) {
	var busy, idle []string
	for _, site := range open {
		if who, err := c.holder(ctx, site); err == nil && who != "" {
			busy = append(busy, fmt.Sprintf("%s (%s)", site, who))
		} else {
			idle = append(idle, site)
		}
	}
	if idle != nil {
		c.run.env.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: fmt.Sprintf("no worker has taken up the part of %s: weft worker --site %s, with the same store", hint.Few(idle, ", "), idle[0]),
			Data: map[string]any{"sites": idle}})
	}
	if busy != nil {
		c.run.env.emit(plan.Event{Type: plan.EventHeartbeat, Message: fmt.Sprintf("waiting for the workers of %d sites: %s", len(busy), hint.Few(busy, ", ")), Data: map[string]any{"busy": len(busy)}})
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
