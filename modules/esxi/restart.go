package esxi

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
)

func restarter() *host.Restarter {
	return &host.Restarter{Stands: stands, Note: note, Entered: entered, Empty: empty, Fill: fill, Up: up,
		Restart: []string{"esxcli", "system", "shutdown", "reboot", "-r", "weft"}}
}

func runningLook() remote.Look     { return ask("vm", "process", "list") }
func maintenanceLook() remote.Look { return ask("system", "maintenanceMode", "get") }
func uptimeLook() remote.Look      { return ask("system", "stats", "uptime", "get") }

// empty enters maintenance mode. Without vCenter nobody moves what runs on a host.
func empty(ctx context.Context, t host.Transport) error {
	seen, err := t.Read(ctx, []remote.Look{runningLook()})
	if err != nil {
		return err
	}
	names := slice.Map(table(seen, runningLook(), &err), func(r row) string { return r.text("DisplayName") })
	if err == nil && len(names) > 0 {
		err = hint.Wrap(fmt.Errorf("%s runs there and cannot be moved: no vCenter in the files has this host", strings.Join(names, ", ")), "move or shut down what runs there")
	}
	if err == nil {
		_, err = t.Run(ctx, script(enterScript, "itself", enteredFile, vobLog, noteFile))
	}
	return err
}

// fill leaves maintenance mode, where the host is in it still.
func fill(ctx context.Context, t host.Transport) error {
	seen, err := t.Read(ctx, []remote.Look{maintenanceLook()})
	if err != nil {
		return err
	}
	mode, err := answer(seen, maintenanceLook())
	if err != nil {
		return err
	}
	if fold(mode.text) != "disabled" {
		if _, err := t.Run(ctx, remote.Cmd{Args: []string{"esxcli", "system", "maintenanceMode", "set", "-e", "false"}}); err != nil {
			return err
		}
	}
	return forget(ctx, t)
}

// up: the host tells microseconds.
func up(ctx context.Context, t host.Transport) (time.Duration, error) {
	seen, err := t.Read(ctx, []remote.Look{uptimeLook()})
	if err != nil {
		return 0, err
	}
	v, err := answer(seen, uptimeLook())
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(v.text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no number", command(uptimeLook()), v.text)
	}
	return time.Duration(n) * time.Microsecond, nil
}
