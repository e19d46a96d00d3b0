package run

import (
	"context"

	"weft/plan"
)

// A StandingMark is a mark of another's run on a device.
type StandingMark struct {
	plan.Mark
	Device string
}

// Standing asks all devices whose runs they belong to, and returns what is not
// one's own, in the order of the roster.
func (s *Site) Standing(ctx context.Context) []StandingMark {
	var devices []string
	for _, d := range s.Fleet.Roster {
		if s.Input.Devices[d.Device] != nil { // else it is described, and not yet managed
			devices = append(devices, d.Device)
		}
	}
	found := make([][]plan.Mark, len(devices))
	s.Each(ctx, devices, "looking for marks of runs", func(ctx context.Context, i int, device string) {
		if d, err := plan.As[plan.Marker](s.Input.Devices, device, "carries no marks of runs"); err == nil {
			found[i], _ = d.ReadMarks(ctx) // whoever asks for more hears that it is away
		}
	})
	var list []StandingMark
	for i, marks := range found {
		for _, m := range marks {
			if s.Input.Mine == nil || !s.Input.Mine(m) {
				list = append(list, StandingMark{m, devices[i]})
			}
		}
	}
	return list
}
