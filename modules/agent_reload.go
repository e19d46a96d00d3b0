package modules

import (
	"fmt"

	"weft/internal/agent"
	"weft/internal/remote"
)

// runs reports whether weft-target runs with a unit and from an executable.
func (a *Agent) runs(unit, binary string) bool {
	return a.Active && a.Unit == unit && a.Binary == binary && a.RunningBinary == binary
}

// reloads reports whether weft-target can go over to a configuration while it
// serves, and, where keeps is asked for, takes nothing from hosts by that.
func (a *Agent) reloads(config string, keeps bool) bool {
	if a.RunningConfig != "" && a.RunningConfig != sum(a.Config) {
		return false // what it serves is not in the file: nobody knows what would change
	}
	from, err := agent.ParseTarget([]byte(a.Config))
	if err != nil {
		return false
	}
	to, err := agent.ParseTarget([]byte(config))
	return err == nil && from.Reloads(to) && (!keeps || from.Keeps(to))
}

// again starts weft-target anew. The old process serves until the new executable
// has taken its configuration, and ends once the commands under way are finished:
// SIGTERM drains it. Whoever restarts another target next may do so when the
// hosts of this one are back.
func (a *Agent) again(have *Agent) []remote.Step {
	restart := run("systemctl", "restart", agent.Unit)
	if !have.Active {
		return []remote.Step{restart}
	}
	steps := []remote.Step{run(a.path(), "check"), restart}
	if have.hosts > 0 {
		steps = append(steps, run(a.path(), "wait", "--controllers", fmt.Sprint(have.hosts)))
	}
	return steps
}
