package run

import (
	"context"
	"slices"

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
			marks, _ := d.ReadMarks(ctx) // whoever asks for more hears that it is away
			found[i] = slices.DeleteFunc(marks, func(m plan.Mark) bool { return s.Input.Mine != nil && s.Input.Mine(m) })
		}
	})
	var list []StandingMark
	for i, marks := range found {
		for _, m := range marks {
			list = append(list, StandingMark{m, devices[i]})
		}
	}
	return list
}
