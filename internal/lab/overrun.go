//go:build unix

package lab

import (
	"fmt"
	"strings"
	"time"
)

// overrun makes more come in at a port of a switch than can leave: what its
// configuration makes lossless is paused, all else is dropped.
func (d *device) overrun(value string) error {
	var port string
	var dscp int
	var packets uint64
	parts := strings.Split(value, ":")
	if len(parts) < 3 {
		return fmt.Errorf("overrun: %q is not PORT:DSCP:PACKETS", value)
	}
	n := len(parts)
	port = strings.Join(parts[:n-2], ":") // ports of a breakout cable have one themselves
	if _, err := fmt.Sscanf(parts[n-2]+" "+parts[n-1], "%d %d", &dscp, &packets); err != nil || dscp < 0 || dscp > 63 {
		return fmt.Errorf("overrun: %q is not PORT:DSCP:PACKETS", value)
	}
	priority, paused, err := d.sw.Overrun(port, dscp, packets)
	if err == nil && paused {
		d.pause(port, priority, packets)
	}
	return err
}

// pauseTime is how long one pause lasts at most: 65535 times what 512 bits take
// at 100 Gbit/s.
const pauseTime = 335 * time.Microsecond

// pause lets the card that is plugged into a port of a switch be paused.
func (l *Lab) pause(t *twin, at plug, priority int, frames uint64) {
	for end, p := range t.plugs {
		if p != at {
			continue
		}
		for _, d := range l.devices {
			if d.server != nil && d.server.Name() == end.Server {
				d.server.Paused(end.PCI, priority, frames, pauseTime)
			}
		}
	}
}
