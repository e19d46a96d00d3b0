package switches

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"weft/internal/text"
	"weft/internal/traffic"
)

// An Operation is how an OS shows on which ports PFC runs.
type Operation struct {
	Line string
	// States reads what PFC does on ports, by the names that ports have in the configuration.
	// A port that the text does not list in a known layout is missing.
	States func(text string, ports []string) map[string]Running
}

// A Running is what PFC does on a port.
type Running struct {
	On         bool  `json:"on"`
	Priorities []int `json:"priorities,omitempty"` // ascending; nil: not shown
}

// Observe reads what is configured and what PFC does: one pass over the switch, without an
// intent. Unlike Read it fits nothing.
func (s *Session) Observe(ctx context.Context) (Reading, map[string]string, error) {
	out, err := s.ShowAll(ctx)
	if err != nil {
		return Reading{}, nil, err
	}
	c, err := s.os.Parse(out)
	if err != nil {
		return c, out, err
	}
	err = s.Operating(ctx, &c)
	return c, out, err
}

// Operating adds to a reading what PFC does on its ports, or why that is not known.
func (s *Session) Operating(ctx context.Context, c *Reading) error {
	if s.os.Operates == nil {
		c.Mute = s.os.Lacks(Operating).Error()
		return nil
	}
	shown, err := s.Show(ctx, []string{s.os.Operates.Line})
	switch {
	case errors.As(err, new(*RefusedError)):
		c.Mute = "whether PFC runs was not checked: " + err.Error() // not for this user
		return nil
	case err != nil:
		return err
	}
	c.Running = s.os.Operates.States(shown[s.os.Operates.Line], c.PortNames())
	return nil
}

// LosslessOn are the priorities for which a port is to pause, ascending.
func (c Reading) LosslessOn(p Port) []int {
	if p.Classes != nil { // where queueing is per port
		return Lossless(p.Classes)
	}
	return Lossless(c.Classes)
}

// Operates says of which ports, of those that want wishes lossless classes on,
// PFC is configured and does not run for just the priorities that are lossless
// on the switch now: what is configured does not tell that alone.
func (s *Session) Operates(ctx context.Context, have Reading, want Intent) ([]string, error) {
	if s.os.Operates == nil {
		return nil, nil
	}
	var ports []string
	for _, w := range want.Ports {
		if p, ok := have.Port(w.Name); ok && p.PFC && w.PFC && len(have.LosslessOn(p)) > 0 {
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
	have.Running = s.os.Operates.States(out[s.os.Operates.Line], ports)
	return have.idle(ports, s.os.Operates.Line), nil
}

// Idle says why PFC does not run on a port for just its lossless priorities; "": it does.
// known is false where the switch does not show it.
func (c Reading) Idle(p Port) (why string, known bool) {
	running, ok := c.Running[p.Name]
	lossless := c.LosslessOn(p)
	switch {
	case !ok:
		return "", false
	case !running.On:
		return "PFC is on and does not run", true
	case running.Priorities != nil && !slices.Equal(running.Priorities, lossless):
		return fmt.Sprintf("PFC runs for priorities %s and not for %s", traffic.Ranges(running.Priorities), traffic.Ranges(lossless)), true
	}
	return "", true
}

// idle folds what is not as configured by what it is.
func (c Reading) idle(ports []string, line string) (out []string) {
	by := map[string][]string{}
	for _, name := range ports {
		p, _ := c.Port(name)
		why, known := c.Idle(p)
		switch {
		case !known:
			why = "PFC is on and " + line + " does not list the port, so whether it runs is not known: "
		case why == "":
			continue
		case !c.Running[name].On:
			why += " (" + line + "); on a port without a link that may be all there is to it: "
		default:
			why += " (" + line + "): "
		}
		by[why] = append(by[why], name)
	}
	for why, names := range by {
		out = append(out, why+text.List(names, MostNamed))
	}
	slices.Sort(out)
	return out
}
