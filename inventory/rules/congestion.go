package rules

import (
	"slices"

	"weft/inventory"
	"weft/inventory/problem"
)

// congestion checks what weft doctor checks on the devices of a lossless RoCE fabric: that its
// classes mark, that answers to marks do not wait behind them, and that its switches end a
// pause without end.
func (c *checker) congestion(f *inventory.Fabric) {
	if f.Incomplete || f.Transport != "rocev2" || f.Mode != "lossless" || slices.ContainsFunc(f.Classes, func(t *inventory.TrafficClass) bool { return t.Incomplete }) {
		return
	}
	managed := slices.ContainsFunc(c.Switches, func(s *inventory.Switch) bool { return s.Fabric == f && !s.Unmanaged && !s.Incomplete })
	i := slices.IndexFunc(f.Classes, func(t *inventory.TrafficClass) bool { return t.PFC })
	if !managed || i < 0 {
		return // nothing marks or pauses there by weft's word
	}
	var marks *inventory.TrafficClass
	for _, t := range f.Classes {
		switch {
		case t.PFC && t.ECN == nil:
			c.warn(problem.NoECN, &t.Block, "pfc", "a lossless class has no ECN", "Senders do not slow down before they are paused: add an ecn block.")
		case t.ECN != nil && marks == nil:
			marks = t
		}
	}
	if marks != nil {
		c.notifications(f, marks)
	}
	if f.PFCWatchdog == nil {
		c.warn(problem.NoWatchdog, &f.Block, "mode", "no PFC watchdog", "A faulty receiver that sends pauses permanently can stop the whole fabric: add pfc_watchdog { action = \"drop\" }.")
	}
}

// notificationDSCP is what NICs mark congestion notifications with, unless told otherwise.
const notificationDSCP = 48

// notifications checks the class of congestion notifications.
func (c *checker) notifications(f *inventory.Fabric, marks *inventory.TrafficClass) {
	i := slices.IndexFunc(f.Classes, func(t *inventory.TrafficClass) bool { return slices.Contains(t.DSCP, notificationDSCP) })
	const title = "congestion notifications are in a wrong class"
	switch {
	case i < 0:
		c.warn(problem.NoCNP, &marks.Block, "ecn", title, "It uses ECN, but no class has DSCP %d: congestion notifications use the default class.", notificationDSCP)
	case f.Classes[i].PFC:
		c.warn(problem.NoCNP, &f.Classes[i].Block, "dscp", title, "DSCP %d, which NICs use for them, is in a lossless class.", notificationDSCP)
	}
}
