//go:build unix

package lab

import (
	"fmt"
	"strings"

	"weft/internal/lab/guest"
	"weft/internal/labctl"
	"weft/internal/slice"
)

// status looks at every device.
func (l *Lab) status() []labctl.DeviceStatus {
	var all []labctl.DeviceStatus
	for n, d := range l.devices {
		s := labctl.DeviceStatus{Device: l.state.Devices[n], Running: true}
		if d.guest != nil {
			s.Running = d.guest.Running()
			s.Traffic = slice.Map(d.guest.Traffic(), func(t guest.Traffic) labctl.Traffic {
				return labctl.Traffic{Plane: t.Plane, Counts: labctl.Counts(t.Counts)}
			})
		}
		all = append(all, s)
	}
	for _, v := range l.vcenters {
		all = append(all, labctl.DeviceStatus{Device: v.device, Running: true})
	}
	return all
}

// stands is all that devices hold that are simulated, but for the files that lie below the
// directory of the lab.
func (l *Lab) stands() string {
	var out strings.Builder
	for _, d := range l.devices {
		var holder interface{ Stands() string }
		switch {
		case d.esxi != nil:
			holder = d.esxi
		case d.win != nil:
			holder = d.win
		case d.sw != nil:
			holder = d.sw
		default:
			continue
		}
		fmt.Fprintf(&out, "= %s\n%s", d.name, holder.Stands())
	}
	return out.String()
}
