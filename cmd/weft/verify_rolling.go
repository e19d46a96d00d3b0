package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/run"
	"weft/inventory"
	"weft/modules"
	"weft/plan"
)

// divided tells servers that are restarted at the same time from those that others' machines
// run on: they are restarted one after another.
func divided(p *run.Site, servers []string) (together, rolling []string) {
	for _, s := range servers {
		if e, ok := p.Fleet.Devices[s].(modules.Emptier); ok && e.Empties() {
			rolling = append(rolling, s)
		} else {
			together = append(together, s)
		}
	}
	return together, rolling
}

// roll restarts one host that others' machines run on, and waits until all is back. Where it
// cannot be restarted it takes them in again.
func (a *app) roll(ctx context.Context, p *run.Site, host string) error {
	e, err := plan.As[modules.Emptier](p.Fleet.Devices, host, "takes no commands")
	if err != nil {
		return err
	}
	if _, err := p.Fleet.Devices[host].Open(ctx); err != nil {
		return &codeError{exitUnreachable, fmt.Errorf("%s: %w", host, err)}
	}
	begun := time.Now()
	out, err := a.empty(ctx, p, host)
	if err != nil {
		return &codeError{exitFailed, fmt.Errorf("%s is not restarted: %w", host, err)}
	}
	a.notes(host, "is empty, and is restarted")
	asked := time.Now()
	err = a.asks(ctx, e)
	if err == nil {
		err = a.waits(ctx, host, "start again", func() error { return a.startedSince(ctx, p.Model, host, asked) })
	}
	if err != nil {
		return &codeError{exitUnreachable, hint.Wrap(fmt.Errorf("%s: %w", host, err), "it is in maintenance mode: let it leave that when it is well (through %s)", out.by)}
	}
	a.notes(host, fmt.Sprintf("has started again after %s", time.Since(begun).Round(time.Second)))
	if err := a.waits(ctx, host, "leave maintenance mode", func() error { return out.fill(ctx) }); err != nil {
		return &codeError{exitFailed, fmt.Errorf("%s: %w", host, err)}
	}
	a.notes(host, "has left maintenance mode")
	return a.comesBack(ctx, a.again(p.Model), []string{host}, begun)
}

// asks has a host restart. The connection may end before the answer comes.
func (a *app) asks(ctx context.Context, e modules.Emptier) error {
	asked, cancel := context.WithTimeout(ctx, rebootLook)
	defer cancel()
	if err := e.Restart(asked); errors.As(err, new(*remote.ExitError)) || errors.As(err, new(*plan.HeldError)) {
		return fmt.Errorf("not restarted: %w", err)
	}
	return nil
}

// waits tries until something has come about.
func (a *app) waits(ctx context.Context, host, what string, try func() error) error {
	for {
		last := try()
		if last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return hint.Wrap(fmt.Errorf("it does not %s: %w", what, errors.Join(context.Cause(ctx), last)), "look at the console of %s", host)
		case <-time.After(rebootPause):
		}
	}
}

// startedSince looks once whether a host runs for less time than has passed.
func (a *app) startedSince(ctx context.Context, m *inventory.Model, host string, since time.Time) error {
	return a.withHost(ctx, m, host, func(e modules.Emptier) error {
		up, err := e.Up(ctx)
		if err == nil && up >= time.Since(since) {
			err = errors.New("it has not gone down yet")
		}
		return err
	})
}

// withHost does something over a connection of its own.
func (a *app) withHost(ctx context.Context, m *inventory.Model, host string, do func(modules.Emptier) error) error {
	q, err := a.reach(m)
	if err != nil {
		return err
	}
	defer q.Close()
	look, cancel := context.WithTimeout(ctx, rebootLook)
	defer cancel()
	if _, err := q.Fleet.Devices[host].Open(look); err != nil {
		return err
	}
	e, err := plan.As[modules.Emptier](q.Fleet.Devices, host, "takes no commands")
	if err != nil {
		return err
	}
	return do(e)
}
