package switches

import (
	"context"
	"errors"
	"slices"
	"strings"

	"weft/internal/slice"
)

// A Neighbour is what a switch hears with LLDP on one of its ports.
type Neighbour struct {
	Port    string `json:"port"`              // of the switch: Ethernet1/11, HundredGigE1/0/11
	System  string `json:"system,omitempty"`  // name of who is heard; "": it sends none
	PortID  string `json:"port_id,omitempty"` // of its port: often a MAC address, or a name
	Chassis string `json:"chassis,omitempty"` // its id: often a MAC address
	// Describes is what it says of that port: servers say the name of the interface.
	Describes string `json:"port_description,omitempty"`
	// Management is the address at which it wants to be managed; "": it says none.
	Management string `json:"management,omitempty"`
	Bridge     bool   `json:"bridge,omitempty"` // it forwards frames: a switch, or a server with a bridge
	// Interface is what the machine that has the port calls it, where that machine was
	// asked, too.
	Interface string `json:"interface,omitempty"`
	// PFC are the priorities that it says with DCBX are lossless: "3", "1,2",
	// "none"; "": it does not say, or the OS does not show it.
	PFC string `json:"dcbx_pfc,omitempty"`
}

// Neighbours are how an OS shows whom it hears.
type Neighbours struct {
	Line  string // at full length: short lists cut and wrap names
	Parse func(text string) []Neighbour
}

// Neighbours are those that the switch hears now. A switch that does not speak
// LLDP hears none.
func (s *Session) Neighbours(ctx context.Context) ([]Neighbour, error) {
	list, _, err := s.Hears(ctx)
	return list, err
}

// Hears tells the same, and whether its answer was understood: one in which nobody is found
// may say that there is nobody, or may be of a layout that is not known.
func (s *Session) Hears(ctx context.Context) (list []Neighbour, understood bool, err error) {
	if err := s.os.Lacks(Hearing); err != nil {
		return nil, true, err
	}
	line := s.os.Neighbours.Line
	out, err := s.Show(ctx, []string{line})
	if errors.As(err, new(*RefusedError)) {
		return nil, true, nil // the feature is off
	}
	list = s.os.Neighbours.Heard(out[line])
	return list, list != nil || saysNobody(out[line]), err
}

// saysNobody reports whether a text in which nobody was found is one that tells of LLDP, and
// of no chassis.
func saysNobody(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	known := func(word string) bool { return strings.Contains(text, word) }
	return text == "" || !known("chassis id") && slices.ContainsFunc([]string{"lldp", "neighb", "entries displayed", "capability codes"}, known)
}

// Heard are the neighbours of a text, without what does not say on which port it
// was heard.
func (o *Neighbours) Heard(text string) []Neighbour {
	return slice.Filter(o.Parse(text), func(n Neighbour) bool { return n.Port != "" })
}

// PlainMAC writes 0002.c9aa.bb00, 0002-c9aa-bb00 and 00:02:c9:aa:bb:00 alike; "" is
// none.
func PlainMAC(text string) string {
	mac := strings.ToLower(strings.NewReplacer(":", "", "-", "", ".", "").Replace(strings.TrimSpace(text)))
	if len(mac) != 12 || strings.Trim(mac, "0123456789abcdef") != "" || mac == "000000000000" || mac == "ffffffffffff" {
		return ""
	}
	return mac
}

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
