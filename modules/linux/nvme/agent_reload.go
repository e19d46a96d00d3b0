package nvme

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/plan"
)

// runs reports whether weft-target runs with a unit and from an executable.
func (a *Agent) runs(unit, binary string) bool {
	return a.Active && a.Unit == unit && a.Binary == binary && a.RunningBinary == binary
}

// reloads reports whether weft-target can go over to a configuration while it
// serves, and, where keeps is asked for, takes nothing from hosts by that.
func (a *Agent) reloads(config string, keeps bool) bool {
	if a.RunningConfig != "" && a.RunningConfig != put.Sum(a.Config) {
		return false // what it serves is not in the file: nobody knows what would change
	}
	from, err := agent.ParseTarget([]byte(a.Config))
	if err != nil {
		return false
	}
	to, err := agent.ParseTarget([]byte(config))
	return err == nil && from.Reloads(to) && (!keeps || from.Keeps(to))
}

// Alone: hosts lose their connections to a weft-target that
// serves, and come back.
func (a *Agent) Alone(have *Agent) bool {
	return have.Active && a.wants(a.Active) &&
		slices.ContainsFunc(a.Diff(have), func(c plan.Change) bool { return c.Impact > plan.ImpactNone })
}

// Holds: the portals that it has open or, where that is not known, is to open.
func (a *Agent) Holds() (list []string) {
	if !a.service() || !a.wants(a.Active) {
		return nil
	}
	open := a.open
	if open == nil {
		if t, err := agent.ParseTarget([]byte(a.Config)); err == nil {
			open = t.Portals
		}
	}
	list = slice.Map(open, func(p agent.Portal) string { return listens(p.Transport, p.Address) })
	return list
}

// listens names an address that one engine at a time can listen on: TCP and RDMA count
// their ports apart.
func listens(transport, address string) string { return transport + " " + address }

// Undo: a process that was not told anything yet runs as it
// did, and is left alone.
func (a *Agent) Undo(want *Agent, begun []remote.Step) []remote.Step {
	steps := a.Steps(want)
	if a.Active && !slices.ContainsFunc(begun, a.tells) {
		steps = slices.DeleteFunc(steps, a.tells)
	}
	return steps
}

// tells reports whether a step starts weft-target anew, or has it read its
// configuration, or waits for what comes of that.
func (a *Agent) tells(s remote.Step) bool {
	switch {
	case len(s.Args) < 2:
		return false
	case s.Args[0] == "systemctl":
		return s.Args[1] == "restart"
	}
	return s.Args[0] == a.path() && (s.Args[1] == "reload" || s.Args[1] == "wait")
}

// Lost: portals that the process before had open, and after a
// way back hosts that were there. One that did not run had none.
func (a *Agent) Lost(now *Agent, back bool) error {
	for _, p := range now.closed {
		if slices.ContainsFunc(a.open, p.Same) {
			return fmt.Errorf("the portal %s of %s was open before and is not any more: %s", p.Address, strings.ToUpper(p.Transport), p.Error)
		}
	}
	if err := a.unopened(now); err != nil && !back {
		return err
	}
	if back && a.hosts > 0 && now.hosts == 0 {
		return fmt.Errorf("hosts had %d connections to it and have not come back", a.hosts)
	}
	return nil
}

// returning waits for the hosts that a restart disconnects. Their number is read when the step
// runs and is not part of the plan: hosts connect and time out at any moment.
func (a *Agent) returning(hosts int) remote.Step {
	wait := host.Run(a.path(), "wait", "--controllers", fmt.Sprint(hosts))
	wait.Shown = remote.Quote(a.path(), "wait") + " --controllers <connected before the restart>"
	return wait
}

// again starts weft-target anew. The old process serves until the new executable
// has taken its configuration, and ends once the commands under way are finished:
// SIGTERM drains it. Whoever restarts another target next may do so when the
// hosts of this one are back.
func (a *Agent) again(have *Agent) []remote.Step {
	restart := host.Run("systemctl", "restart", agent.Unit)
	if !have.Active {
		return []remote.Step{restart}
	}
	return []remote.Step{host.Run(a.path(), "check"), restart, a.returning(have.hosts)}
}
