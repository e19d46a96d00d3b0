package modules

import "weft/internal/agent"

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
