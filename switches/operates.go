package switches

import (
	"context"
	"errors"
)

// An Operation is how an OS shows on which ports PFC runs.
type Operation struct {
	Line string
	// Idle says of which ports PFC does not run for just the lossless priorities.
	Idle func(text string, ports []string, lossless []int) []string
}

// Operates says of which ports, of those that want wishes lossless classes on,
// PFC is configured and does not run for just the priorities that are lossless
// on the switch now: what is configured does not tell that alone.
func (s *Session) Operates(ctx context.Context, have Reading, want Intent) ([]string, error) {
	lossless := Lossless(have.Classes)
	if s.os.Operates == nil || len(lossless) == 0 {
		return nil, nil
	}
	var ports []string
	for _, w := range want.Ports {
		if p, ok := have.Port(w.Name); ok && p.PFC && w.PFC {
			ports = append(ports, w.Name)
		}
	}
	if len(ports) == 0 {
		return nil, nil
	}
	out, err := s.Show(ctx, []string{s.os.Operates.Line})
	if errors.As(err, new(*RefusedError)) {
		return []string{"whether PFC runs was not checked: " + err.Error()}, nil // not for this user
	}
	if err != nil {
		return nil, err
	}
	return s.os.Operates.Idle(out[s.os.Operates.Line], ports, lossless), nil
}
