package modules

import (
	"context"

	"weft/switches"
)

// SwitchFacts are what a switch says of itself. What it does not tell is empty.
type SwitchFacts struct {
	OS         string               `json:"os"` // nxos or comware
	Version    string               `json:"version,omitempty"`
	Model      string               `json:"model,omitempty"`
	Serial     string               `json:"serial,omitempty"`
	Hostname   string               `json:"hostname,omitempty"`
	Neighbours []switches.Neighbour `json:"neighbours,omitempty"` // heard with LLDP
}

// facts are those of the last reading, and who is heard now.
func (d *device) facts(ctx context.Context) (*SwitchFacts, error) {
	heard, err := d.session.Neighbours(ctx)
	if err != nil {
		return nil, err
	}
	f := d.have.Facts
	return &SwitchFacts{OS: d.driver.Dialect().OS, Version: f.Version, Model: f.Model, Serial: f.Serial, Hostname: f.Hostname, Neighbours: heard}, nil
}
