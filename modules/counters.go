package modules

import (
	"context"
	"fmt"

	"weft/internal/hint"
	"weft/plan"
	"weft/switches"
)

// ReadCounters asks a switch what it has counted on ports. A switch that was
// not spoken to yet is opened, which proves that it is the declared one.
func ReadCounters(ctx context.Context, dev plan.Device, ports []string) (*switches.Counted, error) {
	d, ok := dev.(*device)
	if !ok {
		return nil, fmt.Errorf("%T has no ports that count", dev)
	}
	if d.session == nil || d.have.Facts.Serial == "" {
		if _, err := d.Open(ctx); err != nil {
			return nil, err
		}
	}
	if d.serial != "" && d.have.Facts.Serial != d.serial {
		return nil, hint.Wrap(fmt.Errorf("another switch answers: serial is %q, declared %q", d.have.Facts.Serial, d.serial),
			"if the switch was replaced on purpose, change serial of %s", d.name)
	}
	out, err := d.session.Counters(ctx, ports)
	return out, told(err)
}
