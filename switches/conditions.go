package switches

import (
	"context"
	"errors"
)

// A Trouble is something that a switch itself says is not well.
type Trouble struct {
	What string `json:"what"` // OfOptics, OfHeat, OfHardware, OfPair
	Part string `json:"part,omitempty"`
	Text string `json:"text"`
}

// What a trouble may be about.
const (
	OfOptics   = "optic"    // power and current of a transceiver, by its own limits
	OfHeat     = "heat"     // its temperature and voltage
	OfHardware = "hardware" // modules, power supplies, fans
	OfPair     = "pair"     // the other one of two that act as one
)

// A Condition is a line that shows how a switch is, and how it is read.
type Condition struct {
	Line     string
	Of       []string // what it tells
	Optional bool     // a switch that does not know the line has no such thing
	Parse    func(text string) (list []Trouble, understood bool)
}

// Conditions are what a switch told of how it is.
type Conditions struct {
	Troubles []Trouble         `json:"troubles,omitempty"`
	Told     map[string]bool   `json:"told,omitempty"`   // by what it is about
	Gaps     map[string]string `json:"gaps,omitempty"`   // why it was not told
	Absent   map[string]bool   `json:"absent,omitempty"` // there is no such thing
}

// Conditions asks how the switch is. What it refuses to show, or shows in a layout that
// is not known, is a gap and no error.
func (s *Session) Conditions(ctx context.Context) (*Conditions, error) {
	out := &Conditions{Told: map[string]bool{}, Gaps: map[string]string{}, Absent: map[string]bool{}}
	for _, c := range s.os.Conditions {
		text, err := s.Show(ctx, []string{c.Line})
		var list []Trouble
		understood, why := false, c.Line+" is shown in a layout that is not known"
		switch refused := (*RefusedError)(nil); {
		case errors.As(err, &refused):
			why = err.Error()
			if c.Optional && s.absent.MatchString(refused.Reply) {
				for _, what := range c.Of {
					out.Absent[what] = true
				}
				continue
			}
		case err != nil:
			return nil, err
		default:
			list, understood = c.Parse(text[c.Line])
		}
		for _, what := range c.Of {
			if understood && out.Gaps[what] == "" {
				out.Told[what] = true
			} else {
				out.Gaps[what] = why
				delete(out.Told, what)
			}
		}
		out.Troubles = append(out.Troubles, list...)
	}
	return out, nil
}
