package see

import (
	"fmt"

	"weft/internal/hint"
	"weft/internal/remote"
)

// systemdLook succeeds where systemd runs the services; see sd_booted(3).
// Containers often have systemctl, which answers some questions without it.
func SystemdLook() remote.Look {
	return remote.Look{Args: []string{"test", "-d", "/run/systemd/system"}}
}

// systemd is an error that says so where systemd does not run.
func Systemd(s remote.Seen) error {
	if s.Of(SystemdLook()).Err == nil {
		return nil
	}
	return hint.Wrap(fmt.Errorf("systemd does not run on the server, as in most containers: there is no /run/systemd/system"),
		"other service managers are described, not yet managed")
}

// statusOf is the command that tells people about a unit.
func StatusOf(unit string) []string {
	return []string{"systemctl", "status", "--no-pager", "--full", "--lines=10", unit}
}
