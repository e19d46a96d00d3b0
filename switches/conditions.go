package switches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"time"
)

// A Trouble is something that a switch itself says is not well.
type Trouble struct {
	What string `json:"what"` // OfOptics and its sisters
	Part string `json:"part,omitempty"`
	Text string `json:"text"`
}

// What a trouble may be about.
const (
	OfOptics   = "optic"    // power and current of a transceiver, by its own limits
	OfHeat     = "heat"     // its temperature and voltage
	OfHardware = "hardware" // modules
	OfPair     = "pair"     // the other one of two that act as one
	OfPower    = "power"    // power supplies, and whether one may fail
	OfFans     = "fans"
	OfWarmth   = "warmth" // its own sensors of temperature
	OfLog      = "log"    // what it does not log
	OfSaved    = "saved"  // whether what runs is saved
	OfAges     = "ages"   // how long it remembers where machines are
	OfLinks    = "links"  // what its ports count of broken frames, and when their links came or went
)

// A PortCount is what a port tells of its link.
type PortCount struct {
	Up     bool           `json:"up"`
	Broken *uint64        `json:"broken,omitempty"` // frames that came in with a wrong checksum; nil: not told
	Steady *time.Duration `json:"steady,omitempty"` // since the link last came or went, [Always]: it never did; nil: not told
}

// Always is how long a link is steady that never went.
const Always = time.Duration(math.MaxInt64)

// A Condition is a line that shows how a switch is, and how it is read.
type Condition struct {
	Line     string
	Of       []string // what it tells
	Optional bool     // a switch that does not know the line has no such thing
	Parse    func(text string) (list []Trouble, understood bool)
	Against  string                                                     // another line, for Compare
	Compare  func(text, other string) (list []Trouble, understood bool) // in place of Parse
	Ports    func(text string) map[string]PortCount                     // in place of Parse: by the names of ports; empty: not understood
}

// Conditions are what a switch told of how it is.
type Conditions struct {
	Troubles []Trouble         `json:"troubles,omitempty"`
	Told     map[string]bool   `json:"told,omitempty"`   // by what it is about
	Gaps     map[string]string `json:"gaps,omitempty"`   // why it was not told
	Absent   map[string]bool   `json:"absent,omitempty"` // there is no such thing

	Ports map[string]PortCount `json:"ports,omitempty"` // by name; of OfLinks
}

// Conditions asks how the switch is. What it refuses to show, or shows in a layout that
// is not known, is a gap and no error. Lines that are in shown already are not typed
// again.
func (s *Session) Conditions(ctx context.Context, shown map[string]string) (*Conditions, error) {
	out := &Conditions{Told: map[string]bool{}, Gaps: map[string]string{}, Absent: map[string]bool{}}
	texts, refusals := map[string]string{}, map[string]error{}
	maps.Copy(texts, shown)
	for _, c := range s.os.Conditions {
		for _, line := range []string{c.Line, c.Against} {
			if _, known := texts[line]; !known && line != "" {
				all, err := s.show(ctx, []string{line})
				texts[line], refusals[line] = all[line], err
			}
		}
		text, err := texts[c.Line], cmp.Or(refusals[c.Line], refusals[c.Against])
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
		case c.Ports != nil:
			out.Ports = c.Ports(text)
			understood = len(out.Ports) > 0
		case c.Compare != nil:
			list, understood = c.Compare(text, texts[c.Against])
		default:
			list, understood = c.Parse(text)
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
	return out, s.confirm(ctx)
}

// Ages judges how long a switch that routes remembers MAC addresses and ARP, in seconds; 0
// is for ever.
func Ages(mac, arp int) []Trouble {
	if mac == 0 || arp != 0 && mac >= arp {
		return nil
	}
	return []Trouble{{What: OfAges, Text: fmt.Sprintf("it forgets MAC addresses after %d s and ARP after %d s: in between it floods", mac, arp)}}
}
