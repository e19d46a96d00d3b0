package modules

import (
	"context"
	"fmt"

	"weft/internal/hint"
	"weft/switches"
)

// Counters implements Counter.
func (d *device) Counters(ctx context.Context, ports []string) (*switches.Counted, error) {
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
