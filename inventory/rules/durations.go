package rules

import (
	"time"

	"weft/inventory"
	"weft/inventory/problem"
)

// What makes sense at most.
const (
	maxSoak    = 30 * 24 * time.Hour
	maxRestart = 24 * time.Hour
	minRuntime = 100 * time.Millisecond
	maxRuntime = time.Hour
)

// durations refuses what a device does not take or what can never be kept.
func (c *checker) durations() {
	for _, x := range c.Connections {
		c.positive(&x.Block, "connect_timeout", x.ConnectTimeout)
		c.positive(&x.Block, "command_timeout", x.CommandTimeout)
	}
	for _, s := range c.Switches {
		c.confirm(s)
	}
	for _, f := range c.Fabrics {
		if w := f.PFCWatchdog; w != nil {
			c.positive(&w.Block, "detect", w.Detect)
			c.positive(&w.Block, "restore", w.Restore)
		}
	}
	for _, i := range c.Initiators {
		for _, connect := range i.Connects {
			c.connection(connect)
		}
	}
	for _, v := range c.Validations {
		if (len(v.Compare) > 0 || v.Load != nil) && !v.Incomplete && (v.Runtime < minRuntime || v.Runtime > maxRuntime) {
			c.refuse(problem.Duration, &v.Block, "runtime", "out of range", "runtime is %s, but must be between %s and %s, because kernels count processor time in ticks of 10 ms.", v.Runtime, minRuntime, maxRuntime)
		}
		for _, m := range v.Metrics {
			if m.Duration && m.Max == 0 && !m.Incomplete {
				c.refuse(problem.Duration, &m.Block, "max", "impossible limit", "A latency cannot be 0.")
			}
		}
	}
	for _, r := range c.Rollouts {
		for _, p := range r.Phases {
			if p.Soak > maxSoak {
				c.refuse(problem.Duration, &p.Block, "soak", "out of range", "soak is %s; the maximum is 30 days.", p.Soak)
			}
			if p.Restart != "" && !p.Incomplete && (p.RestartTimeout < time.Second || p.RestartTimeout > maxRestart) {
				c.refuse(problem.Duration, &p.Block, "restart_timeout", "out of range", "restart_timeout is %s, but must be between one second and 24 hours.", p.RestartTimeout)
			}
		}
	}
}

// connection checks the timers of connections, which the kernel takes in
// whole seconds.
func (c *checker) connection(x *inventory.Connect) {
	if x.Incomplete {
		return
	}
	for _, timer := range []struct {
		attr string
		d    time.Duration
	}{{"keep_alive_tmo", x.KeepAliveTMO}, {"reconnect_delay", x.ReconnectDelay}} {
		if timer.d < time.Second || timer.d%time.Second != 0 {
			c.refuse(problem.Duration, &x.Block, timer.attr, "out of range", "%s is %s, but the kernel accepts only whole seconds, at least 1 (Linux, nvme-fabrics).", timer.attr, timer.d)
		}
	}
	if x.CtrlLossTMO >= 0 && time.Duration(x.CtrlLossTMO)*time.Second < x.ReconnectDelay {
		c.refuse(problem.Duration, &x.Block, "ctrl_loss_tmo", "never reconnects", "ctrl_loss_tmo gives up after %d seconds, before the first reconnect attempt after %s (reconnect_delay, %s).",
			x.CtrlLossTMO, x.ReconnectDelay, problem.Where(x.At("reconnect_delay")))
	}
}

// positive refuses a duration of 0 that is written.
func (c *checker) positive(b *inventory.Block, attr string, d time.Duration) {
	if written := b.Writes(attr); written && d <= 0 && !b.Incomplete {
		c.refuse(problem.Duration, b, attr, "out of range", "%s must be more than 0.", attr)
	}
}

// confirm refuses a timed revert that the system of a switch does not take.
func (c *checker) confirm(s *inventory.Switch) {
	takes, confirm := switchOS(s.OS).ConfirmSeconds, s.Safety.Confirm
	if confirm == 0 || len(takes.Value) != 2 {
		return
	}
	if least, most := takes.Value[0], takes.Value[1]; confirm < time.Duration(least)*time.Second || confirm > time.Duration(most)*time.Second {
		c.refuse(problem.Duration, &s.Block, "safety.commit_confirm", "out of range", "commit_confirm is %s, but %s accepts %d to %d seconds (%s).",
			confirm, s.OS, least, most, sourceOf(takes))
	}
}
