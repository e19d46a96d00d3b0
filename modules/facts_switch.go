package modules

import (
	"context"
	"errors"
	"fmt"

	"weft/plan"
	"weft/switches"
)

// SwitchFacts are what a switch says of itself. What it does not tell is empty.
type SwitchFacts struct {
	OS         string               `json:"os"` // as in the files
	Version    string               `json:"version,omitempty"`
	Model      string               `json:"model,omitempty"`
	Serial     string               `json:"serial,omitempty"`
	Hostname   string               `json:"hostname,omitempty"`
	Neighbours []switches.Neighbour `json:"neighbours,omitempty"` // heard with LLDP
	Without    []string             `json:"without,omitempty"`    // what its system does not tell, and why
}

// Heard asks a switch whom it hears with LLDP now.
func Heard(ctx context.Context, dev plan.Device) ([]switches.Neighbour, error) {
	d, ok := dev.(*device)
	if !ok {
		return nil, fmt.Errorf("%T is no switch", dev)
	}
	if d.session == nil {
		if _, err := d.Open(ctx); err != nil {
			return nil, err
		}
	}
	return d.session.Neighbours(ctx)
}

// facts are those of the last reading, and who is heard now.
func (d *device) facts(ctx context.Context) (*SwitchFacts, error) {
	var without []string
	heard, err := d.session.Neighbours(ctx)
	if errors.As(err, new(*switches.WithoutError)) {
		without, err = append(without, err.Error()), nil
	}
	if err != nil {
		return nil, err
	}
	f := d.have.Facts
	return &SwitchFacts{OS: d.os.Name, Version: f.Version, Model: f.Model, Serial: f.Serial, Hostname: f.Hostname, Neighbours: heard, Without: without}, nil
}

// Record asks a switch everything that weft reads of it and writes that as a
// test case that tells no more than it should.
func Record(ctx context.Context, dev plan.Device, discreet switches.Discretion) (string, error) {
	d, ok := dev.(*device)
	if !ok {
		return "", fmt.Errorf("%T is no switch", dev)
	}
	if _, err := d.Open(ctx); err != nil {
		return "", err
	}
	text, err := d.session.Record(ctx, d.want, discreet)
	return text, told(err)
}
