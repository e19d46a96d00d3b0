package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/internal/text"
	"weft/plan"
)

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
	idle := newIdle(sites)
	var gaveUp error
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
		if stop = stop || ctx.Err() != nil || gaveUp != nil; stop {
			if err := c.stop(ctx, tasks, came, ctx.Err() != nil || gaveUp != nil); err != nil {
				return came, err
			}
		}
		open := slices.DeleteFunc(slices.Clone(sites), func(site string) bool { return came[site] != nil })
		if len(open) == 0 {
			return came, cmp.Or(context.Cause(ctx), gaveUp)
		}
		if gaveUp == nil {
			if gaveUp, err = c.giveUp(keep, idle, open); err != nil {
				return came, err
			}
		}
		if err := c.run.env.Records.fresh(); err != nil {
			return came, err
		}
		if time.Since(said) > waitSaid {
			said = time.Now()
			c.say(keep, idle, open)
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
		return "", because(Misused, hint.Wrap(errors.New("workers and the leader of a run share a store, and none is configured here"), "--store, or a store block in the files"))
	}
	return r.holding.who, nil
}

// came reads what came of a task, and takes both away: the answer as it was read, and its
// blob only where that is the answer to this task, since a worker may name any blob.
func (c *crew) came(ctx context.Context, site string, t *task) (*outcome, error) {
	rec := c.run.rec
	o, e, err := rec.told(ctx, site, t.ID)
	if err != nil || o == nil {
		return nil, c.run.env.Records.trouble(err)
	}
	err = remove(ctx, rec.store, keyWork(c.run.env.Simulated, site))
	if gone := rec.store.Delete(ctx, e.Key, e.Revision); !raced(gone) { // else the worker has written again: the next answer takes its place
		err = errors.Join(err, gone)
	}
	if err == nil && !o.unreadable {
		err = forget(ctx, rec.store, e.Value, "")
	}
	asked := chosen(t.Steps)
	part := c.run.plan.Part(func(s plan.PlannedStep) bool { return asked(s) && c.of[s.ID.Device] == site })
	return o.answered(site, t, part, func(device string) bool { return c.of[device] == site }), c.run.env.Records.trouble(err)
}

// stop lets nothing more begin. A task that nobody has taken up is taken away; whoever is
// at one finishes what it has begun.
func (c *crew) stop(ctx context.Context, tasks map[string]*task, came map[string]*outcome, ended bool) error {
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
	if err != nil && !isCorrupt(err) { // a worker may write nonsense in its lease
		return "", c.run.env.Records.trouble(err)
	}
	i := slices.IndexFunc(list, func(l store.Holding) bool { return l.Key == leaseAt(c.run.run.ID, site) && l.Left > 0 })
	if i < 0 {
		return "", nil
	}
	return list[i].Holder, nil
}

// say tells who is waited for.
func (c *crew) say(ctx context.Context, since idleSites, open []string) {
	var busy, idle []string
	for _, site := range open {
		if who, err := c.holder(ctx, site); err == nil && who != "" {
			busy = append(busy, fmt.Sprintf("%s (%s)", site, who))
		} else {
			idle = append(idle, site)
		}
	}
	if idle != nil {
		c.run.env.emit(plan.Event{Type: plan.EventNote, Level: "warn", Message: since.text(idle) + c.limit() + ": weft worker --site " + idle[0] + ", with the same store",
			Data: map[string]any{"sites": idle, "since": since[idle[0]].UTC().Format(time.RFC3339)}})
	}
	if busy != nil {
		c.run.env.emit(plan.Event{Type: plan.EventHeartbeat, Message: fmt.Sprintf("waiting for the workers of %d sites: %s", len(busy), text.Few(busy, ", ")), Data: map[string]any{"busy": len(busy)}})
	}
}
