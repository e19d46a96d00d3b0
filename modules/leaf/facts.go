package leaf

import (
	"context"
	"errors"
	"fmt"

	"weft/switches"
)

// Facts are what a switch says of itself. What it does not tell is empty.
type Facts struct {
	OS         string               `json:"os"` // as in the files
	Version    string               `json:"version,omitempty"`
	Model      string               `json:"model,omitempty"`
	Serial     string               `json:"serial,omitempty"`
	Hostname   string               `json:"hostname,omitempty"`
	Neighbours []switches.Neighbour `json:"neighbours,omitempty"` // heard with LLDP
	Without    []string             `json:"without,omitempty"`    // what its system does not tell, and why
}

// Heard implements Listener. With a *switches.UnclearError come those that were understood.
func (d *Device) Heard(ctx context.Context) ([]switches.Neighbour, error) {
	if d.session == nil {
		if _, err := d.Open(ctx); err != nil {
			return nil, err
		}
	}
	return d.session.Neighbours(ctx)
}

// SwitchFacts implements SwitchTeller: what the reading told, and who is heard now.
func (d *Device) SwitchFacts(ctx context.Context) (*Facts, error) {
	if _, err := d.Open(ctx); err != nil {
		return nil, err
	}
	var without []string
	heard, err := d.session.Neighbours(ctx)
	if why := untold(err); why != "" {
		without, err = append(without, why), nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the neighbours of %s: %w", d.cfg.Name, err)
	}
	f := d.have.Facts
	return &Facts{OS: d.cfg.OS.Name, Version: f.Version, Model: f.Model, Serial: f.Serial, Hostname: f.Hostname, Neighbours: heard, Without: without}, nil
}

// untold is what a switch does not tell, or not so that it is understood; "": the error is
// another.
func untold(err error) string {
	if without := (*switches.WithoutError)(nil); errors.As(err, &without) {
		return without.Error()
	}
	if unclear := (*switches.UnclearError)(nil); errors.As(err, &unclear) {
		return unclear.Error()
	}
	return ""
}

// Record implements Recorder.
func (d *Device) Record(ctx context.Context, discreet switches.Discretion) (string, error) {
	if _, err := d.Open(ctx); err != nil {
		return "", err
	}
	text, err := d.session.Record(ctx, d.want, discreet)
	return text, err
}
