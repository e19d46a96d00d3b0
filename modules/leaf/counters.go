package leaf

import (
	"context"
	"fmt"

	"weft/internal/hint"
	"weft/internal/tally"
)

// Counters implements Counter.
func (d *Device) Counters(ctx context.Context, ports []string) (*tally.Ports, error) {
	if d.session == nil || d.have.Facts.Serial == "" {
		if _, err := d.Open(ctx); err != nil {
			return nil, err
		}
	}
	if d.cfg.Serial != "" && d.have.Facts.Serial != d.cfg.Serial {
		return nil, hint.Wrap(fmt.Errorf("another switch answers: serial is %q, declared %q", d.have.Facts.Serial, d.cfg.Serial),
			"if the switch was replaced on purpose, change serial of %s", d.cfg.Name)
	}
	out, err := d.session.Counters(ctx, ports)
	return out, err
}
