package switches

import (
	"context"
	"errors"
)

// A Station is a MAC address that a switch has seen as the sender of frames on a port.
// It may be several cables away.
type Station struct {
	Port string // Ethernet1/11, HundredGigE1/0/11
	MAC  string // as PlainMAC writes it
}

// A Table is how an OS shows the MAC addresses that it has learned.
type Table struct {
	Line  string
	Parse func(text string) []Station // on ports of its own; not those of bundles
}

// Stations are the MAC addresses that the switch has learned on its ports; none where it
// does not have that display.
func (s *Session) Stations(ctx context.Context) ([]Station, error) {
	t := s.os.Table
	if t == nil {
		return nil, nil
	}
	out, err := s.Show(ctx, []string{t.Line})
	if errors.As(err, new(*RefusedError)) {
		return nil, nil
	}
	return t.Parse(out[t.Line]), err
}
