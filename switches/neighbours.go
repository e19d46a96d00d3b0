package switches

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
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
	// Total is how many an answer says that there are, at its end; -1: it does not. Nil: no
	// answer of this OS does.
	Total func(text string) int
}

// An UnclearError says that an answer about neighbours, or about MAC addresses, is refused, not
// understood or not whole: who is at ports that it does not tell of is not known. It is no silence.
type UnclearError struct {
	Line string // what was sent
	Why  string
	What string // what is not known for that; "": whom it hears
}

func (e *UnclearError) Error() string {
	return "its answer to " + e.Line + " is not understood (" + e.Why + "): " + cmp.Or(e.What, "whom it hears") + " is not known"
}

// Neighbours are those that the switch hears now. A switch that does not speak LLDP hears
// none. With an *UnclearError come those that were understood.
func (s *Session) Neighbours(ctx context.Context) ([]Neighbour, error) {
	if err := s.os.Lacks(Hearing); err != nil {
		return nil, err
	}
	line := s.os.Neighbours.Line
	out, err := s.Show(ctx, []string{line})
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		if s.absent.MatchString(refused.Reply) || nobody.MatchString(refused.Reply) {
			return nil, nil // the feature is off
		}
		return nil, &UnclearError{Line: line, Why: briefRefusal(refused)}
	}
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(out[line]) == "" {
		if off, err := s.lldpOff(ctx); off || err != nil {
			return nil, err
		}
	}
	list, why := s.os.Neighbours.Heard(out[line]), s.os.Neighbours.unclear(out[line])
	if why != "" {
		return list, &UnclearError{Line: line, Why: why}
	}
	return list, nil
}

// lldpOff reports whether the configuration of the switch leaves LLDP off. An empty answer
// does not tell that from one that was lost.
func (s *Session) lldpOff(ctx context.Context) (bool, error) {
	out, err := s.Show(ctx, []string{s.dialect.Running})
	if err != nil || strings.TrimSpace(out[s.dialect.Running]) == "" {
		return false, err
	}
	c, err := s.os.Parse(out)
	return err == nil && !c.LLDP, err
}

// nobody is what switches say that hear nobody, or that do not listen.
var nobody = regexp.MustCompile(`(?i)\bno (lldp )?neighbou?rs?\b|lldp is (not|disabled)\b`)

// unclear says why an answer is not understood as a whole; "": it is. One in which nobody is
// found may say that there is nobody, or be of a layout that is not known.
func (o *Neighbours) unclear(text string) string {
	all := o.Parse(text)
	if cutShort.MatchString(lastLine(text)) && !nobody.MatchString(lastLine(text)) {
		return fmt.Sprintf("it ends in %q", quoteLast(text))
	}
	if slices.ContainsFunc(all, func(n Neighbour) bool { return n.Port == "" }) {
		return "of a neighbour it does not tell the port"
	}
	said := -1
	if o.Total != nil {
		said = o.Total(text)
	}
	switch {
	case said > len(all):
		return fmt.Sprintf("it lists %d neighbours, but reports a total of %d", len(all), said)
	case len(all) > 0 && said < 0 && o.Total != nil:
		return "its end is missing"
	case len(all) > 0 || said == 0 || nobody.MatchString(text):
		return ""
	case strings.TrimSpace(text) == "":
		return "it is empty"
	}
	return "it contains no neighbour, and does not state that there is none"
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
	Head  string                      // regular expression: what stands above a table, also an empty one
	Parse func(text string) []Station // on ports of its own; not those of bundles
}

// Stations are the MAC addresses that the switch has learned on its ports. Where it refuses
// to show them, or what it shows is not understood as a whole, an *UnclearError says why, with
// those that were understood; a system without such a display has learned none that is known.
func (s *Session) Stations(ctx context.Context) ([]Station, error) {
	t := s.os.Table
	if t == nil {
		return nil, nil
	}
	unclear := &UnclearError{Line: t.Line, What: "which MAC addresses it has learned"}
	out, err := s.Show(ctx, []string{t.Line})
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		unclear.Why = briefRefusal(refused)
		return nil, unclear
	}
	if err != nil {
		return nil, err
	}
	list := t.Parse(out[t.Line])
	if unclear.Why, err = t.unclear(out[t.Line], len(list)); err == nil && unclear.Why != "" {
		return list, unclear
	}
	return list, err
}

// unclear says why an answer in which so many are found is not understood as a whole; "": it is.
func (t *Table) unclear(text string, found int) (string, error) {
	if last := lastLine(text); cutShort.MatchString(last) {
		return fmt.Sprintf("it ends in %q", quoteLast(text)), nil
	}
	known, err := regexp.MatchString(t.Head, text)
	switch {
	case known || found > 0 || err != nil:
		return "", err
	case strings.TrimSpace(text) == "":
		return "it is empty", nil
	}
	return fmt.Sprintf("it is of a layout that is not known, and ends in %q", quoteLast(text)), nil
}

// briefRefusal is the reply of the switch, in one line.
func briefRefusal(e *RefusedError) string { return fmt.Sprintf("it refuses it: %q", lastLine(e.Reply)) }
