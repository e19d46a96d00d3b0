//go:build unix

package lab

import (
	"context"
	"fmt"
	"strings"

	"weft/internal/lab/guest"
)

// DeviceStatus is how one device of a running lab is.
type DeviceStatus struct {
	Device
	Running bool            `json:"running"`
	Traffic []guest.Traffic `json:"traffic,omitempty"` // of a guest, by card
}

// status looks at every device.
func (l *Lab) status() []DeviceStatus {
	var all []DeviceStatus
	for n, d := range l.devices {
		s := DeviceStatus{Device: l.state.Devices[n], Running: true}
		if d.guest != nil {
			s.Running, s.Traffic = d.guest.Running(), d.guest.Traffic()
		}
		all = append(all, s)
	}
	for _, v := range l.vcenters {
		all = append(all, DeviceStatus{Device: v.device, Running: true})
	}
	return all
}

// Status asks the lab of a directory how its devices are.
func Status(dir string) ([]DeviceStatus, error) {
	s, err := newPlace(dir).running(dir)
	if err != nil {
		return nil, err
	}
	r, err := s.ask(context.Background(), request{Op: "status"})
	return r.Status, err
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

// Stands is all that the devices of the lab of a directory hold, for tests that compare it.
func Stands(dir string) (string, error) {
	s, err := newPlace(dir).running(dir)
	if err != nil {
		return "", err
	}
	r, err := s.ask(context.Background(), request{Op: "stands"})
	return r.Stands, err
}

// Guests is how many devices are guests with real kernels.
func (s *State) Guests() (n int) {
	for _, d := range s.Devices {
		if d.Kind == "guest" {
			n++
		}
	}
	return n
}

// Describe says what a lab consists of.
func (s *State) Describe() string {
	var parts []string
	if n := s.Guests(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d guests with real kernels", n))
	}
	if n := len(s.Devices) - s.Guests(); n > 0 || parts == nil {
		parts = append(parts, fmt.Sprintf("%d SIMULATED devices", n))
	}
	return strings.Join(parts, " and ")
}
