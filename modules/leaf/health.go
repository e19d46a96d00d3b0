package leaf

import (
	"context"
	"fmt"

	"weft/internal/hint"
	"weft/internal/tally"
	"weft/switches"
)

// Health is what a switch does, with all of its ports, whatever is declared.
type Health struct {
	OS         string               `json:"os"`
	Reading    switches.Reading     `json:"-"`
	Neighbours []switches.Neighbour `json:"neighbours,omitempty"`
	Heard      bool                 `json:"heard"`              // Neighbours were told, all of them
	Deaf       string               `json:"deaf,omitempty"`     // why they were not
	Watches    bool                 `json:"watches"`            // whether its ports watch for stuck queues is read
	Counters   *tally.Ports         `json:"counters,omitempty"` // nil: not told
	Conditions *switches.Conditions `json:"conditions,omitempty"`
	Without    []string             `json:"without,omitempty"` // what was not told, and why
}

// Health logs in and asks how the switch is. Ports are counted on that have a neighbour
// or do PFC.
func (d *Device) Health(ctx context.Context) (*Health, error) {
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	have, out, err := d.session.Observe(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.cfg.Name, err)
	}
	h := &Health{OS: d.cfg.OS.Name, Reading: have, Watches: d.cfg.OS.Lacks(switches.Watchdogs) == nil}
	lacks := func(err error) error {
		if why := untold(err); why != "" {
			h.Without = append(h.Without, why)
			return nil
		}
		return err
	}
	if h.Neighbours, err = d.session.Neighbours(ctx); err != nil {
		h.Deaf = untold(err)
		if err := lacks(err); err != nil {
			return nil, err
		}
	} else {
		h.Heard = true
	}
	if have.Mute != "" {
		h.Without = append(h.Without, have.Mute)
	}
	if h.Conditions, err = d.session.Conditions(ctx, out); err != nil {
		return nil, err
	}
	if d.cfg.OS.Counters == nil {
		h.Without = append(h.Without, d.cfg.OS.Lacks(switches.Counting).Error())
		return h, nil
	}
	if h.Counters, err = d.session.Counters(ctx, h.busy()); err != nil {
		return nil, lacks(err)
	}
	return h, nil
}

// Reading reads what the switch is set to and what PFC does, in one pass. It needs neither
// the marks nor the lease of weft on the switch, nor what is declared of it.
func (d *Device) Reading(ctx context.Context) (*switches.Reading, error) {
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	have, _, err := d.session.Observe(ctx)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.cfg.Name, err)
	}
	if d.cfg.Serial != "" && have.Facts.Serial != d.cfg.Serial {
		return nil, hint.Wrap(fmt.Errorf("another switch answers: serial is %q, declared %q", have.Facts.Serial, d.cfg.Serial),
			"if the switch was replaced on purpose, change serial of %s", d.cfg.Name)
	}
	return &have, nil
}

// busy are the ports worth counting on.
func (h *Health) busy() (ports []string) {
	heard := map[string]bool{}
	for _, n := range h.Neighbours {
		heard[n.Port] = true
	}
	for _, p := range h.Reading.Ports {
		if heard[p.Name] || p.PFC {
			ports = append(ports, p.Name)
		}
	}
	return ports
}
