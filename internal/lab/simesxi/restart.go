//go:build unix

package simesxi

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

// An upkeep is what a host is at, besides what it keeps.
type upkeep struct {
	empty    bool     // it is in maintenance mode
	going    bool     // it is to restart when its command has ended
	machines []string // that run on it
	since    time.Time
	hangs    func() // what the next restart that is asked for ends in; nil: it goes well
}

// Hangs has the next restart that is asked for end in something else than a host that runs.
func (h *Host) Hangs(in func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.upkeep.hangs = in
}

func (h *Host) hang() {
	h.mu.Lock()
	in := h.upkeep.hangs
	h.upkeep.hangs = nil
	h.mu.Unlock()
	if in != nil {
		in()
	}
}

// Maintain puts the host in maintenance mode, or takes it out, as vCenter does.
func (h *Host) Maintain(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.maintain(on)
}

// vobLog is where a host writes when it enters and leaves maintenance mode, each for two
// readers.
const vobLog = "var/run/log/vobd.log"

func (h *Host) maintain(on bool) {
	h.upkeep.empty = on
	words := []string{"exited"}
	if on {
		words = []string{"entering", "entered"}
	}
	text := ""
	for _, w := range words {
		for _, reader := range []string{"GenericCorrelator", "UserLevelCorrelator"} {
			now := time.Now()
			text += fmt.Sprintf("%s: [%s] %dus: [vob.user.maintenancemode.%s] maintenance mode %s (SIMULATED)\n", now.UTC().Format("2006-01-02T15:04:05.000Z"), reader, now.Sub(h.upkeep.since).Microseconds(), w, w)
		}
	}
	f, err := h.root.OpenFile(vobLog, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil { // a host whose log is full has no such line, either
		return
	}
}

// Runs has a machine run on the host; "": none does.
func (h *Host) Runs(name string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.upkeep.machines = nil; name != "" {
		h.upkeep.machines = []string{name}
	}
}

// aboutRestart are the commands about a restart and what comes before it.
func aboutRestart() []command {
	return []command{
		{words: "system maintenanceMode get", source: reference, run: func(h *Host, _ map[string]string) (string, error) {
			return "   <string>" + map[bool]string{true: "Enabled", false: "Disabled"}[h.upkeep.empty] + "</string>\n", nil
		}},
		{words: "system maintenanceMode set", options: map[string]string{"e": "enable"}, needed: "e", changes: true, source: reference + "; public guides to updates", run: maintenanceSet},
		{words: "system shutdown reboot", options: map[string]string{"r": "reason"}, needed: "r", changes: true, source: reference + ", which wants maintenance mode", run: func(h *Host, _ map[string]string) (string, error) {
			if !h.upkeep.empty {
				return "", says("The host is not in maintenance mode")
			}
			h.upkeep.going = true
			return "", nil
		}},
		{words: "system stats uptime get", source: reference + ", in microseconds", run: func(h *Host, _ map[string]string) (string, error) {
			return "   <integer>" + strconv.FormatInt(time.Since(h.upkeep.since).Microseconds(), 10) + "</integer>\n", nil
		}},
		{words: "vm process list", source: reference + "; VMware, govmomi, simulator of esxcli", run: func(h *Host, _ map[string]string) (string, error) {
			var rows []string
			for _, name := range h.upkeep.machines {
				rows = append(rows, structure("VirtualMachine", "ConfigFile", "/vmfs/volumes/SIMULATED/"+name+".vmx", "DisplayName", name, "ProcessID", 0, "WorldID", 70000))
			}
			return list(rows...), nil
		}},
	}
}

// maintenanceSet: without vCenter, what runs keeps a host from it.
func maintenanceSet(h *Host, o map[string]string) (string, error) {
	on, err := boolean(o["e"])
	switch {
	case err != nil:
		return "", err
	case on == h.upkeep.empty:
		return "", says("Maintenance mode is already %s.", map[bool]string{true: "enabled", false: "disabled"}[on])
	case on && len(h.upkeep.machines) > 0:
		return "", says("The operation cannot be done while virtual machines run.")
	}
	h.maintain(on)
	return "", nil
}
