package run

import (
	"context"
	"fmt"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/text"
)

// idleSites are sites without a worker, with the time since when that is known.
type idleSites map[string]time.Time

func newIdle(sites []string) idleSites {
	idle := idleSites{}
	for _, site := range sites {
		idle[site] = time.Now()
	}
	return idle
}

// text says which sites have no worker, and for how long.
func (s idleSites) text(sites []string) string {
	var parts []string
	for _, site := range sites {
		parts = append(parts, fmt.Sprintf("%s (since %s)", site, s[site].Format(time.TimeOnly)))
	}
	return "no worker has taken up the part of " + text.Few(parts, ", ")
}

// An idleError is that nobody took up what sites were asked. The store is there.
type idleError struct{ text string }

func (e *idleError) Error() string { return e.text }

// limit says when waiting ends.
func (c *crew) limit() string {
	if c.run.env.WorkersWait == 0 {
		return ""
	}
	return fmt.Sprintf("; weft waits %s for one", c.run.env.WorkersWait)
}

// giveUp is why nobody waits any longer: sites had no worker for as long as may be. nil: some
// worker may still come. Tasks that a worker has taken up are waited for.
func (c *crew) giveUp(ctx context.Context, idle idleSites, open []string) (gaveUp, err error) {
	if c.run.env.WorkersWait == 0 {
		return nil, nil
	}
	var late []string
	for _, site := range open {
		if time.Since(idle[site]) < c.run.env.WorkersWait {
			continue
		}
		who, err := c.holder(ctx, site)
		switch {
		case err != nil:
			return nil, err
		case who != "":
			idle[site] = time.Now()
		default:
			late = append(late, site)
		}
	}
	if late == nil {
		return nil, nil
	}
	return because(Waits, hint.Wrap(&idleError{fmt.Sprintf("%s, and weft waits no longer than %s", idle.text(late), c.run.env.WorkersWait)},
		"start weft worker --site %s with the same store, then weft apply --workers again", strings.Join(late[:1], ""))), nil
}
