// Package discover writes the files of what already stands in a rack. It reads
// switches and servers of which nothing is declared, matches the ends of cables, infers
// planes and classes, and renders HCL that a plan proves: what would change anything is
// taken out, and told as a finding. Nothing here changes a device.
package discover

import (
	"fmt"
	"slices"
	"strings"

	"weft/modules/host"
	"weft/plan"
	"weft/switches"
)

// A Site is what was read, device by device.
type Site struct {
	Switches []*Switch
	Servers  []*Server
	VCenters []*VCenter
	Findings []Finding
	Lost     []Lost
	Recorded []Recorded // cables as an inventory has them

	said map[[3]string]bool

	strangers []stranger // whom switches hear, in order
	strange   map[stranger][]switches.Neighbour
}

// A Switch is what one switch has told.
type Switch struct {
	Host       string // as it was named
	OS         *switches.OS
	Reading    switches.Reading
	Neighbours []switches.Neighbour
	Strange    *switches.UnclearError // why whom it hears is not known as a whole; nil: it is
	Stations   []switches.Station
	Unlearned  *switches.UnclearError // why the MAC addresses that it has learned are not known as a whole; nil: they are
	Meant      switches.Meaning       // what policies of others on it mean

	followed bool // nobody named it: another switch hears it
}

// A Server is what one machine has told.
type Server struct {
	Host      string // as it was named
	Name      string // a source's name for it; "": none
	User      string // who was let in, where that is nobody who logs in everywhere; "": who does
	Password  bool   // with a password
	System    *host.OS
	Named     bool // files name its system: it is not the usual one
	MachineID string
	Facts     *host.ServerFacts
	Ledgers   []host.Remembrance
}

// ledger is that of an owner; nil: there is none.
func (s *Server) ledger(owner string) *host.Remembrance {
	for i, l := range s.Ledgers {
		if l.Owner == owner {
			return &s.Ledgers[i]
		}
	}
	return nil
}

// entries are those of a kind in the ledger of an owner.
func (s *Server) entries(owner, kind string) (list []plan.Entry) {
	if l := s.ledger(owner); l != nil {
		for _, e := range l.Entries {
			if e.Kind == kind {
				list = append(list, e)
			}
		}
	}
	return list
}

// A Finding is what stands in the rack and not, or not so, in the files.
type Finding struct {
	Severity Severity `json:"severity"`
	Device   string   `json:"device,omitempty"` // host
	Text     string   `json:"text"`
	Hint     string   `json:"hint,omitempty"`
	Lines    []string `json:"lines,omitempty"` // of a switch, that it is about
	Add      bool     `json:"add,omitempty"`   // Lines are to be added to files that stand
}

// A Severity says how bad a finding is.
type Severity string

// The severities. What is an error may not stay so.
const (
	Info  Severity = "info"
	Warn  Severity = "warn"
	Error Severity = "error"
)

// A Lost is a device that could not be read.
type Lost struct {
	Host string
	Err  error
}

// found adds a finding.
func (s *Site) found(how Severity, device, hint, format string, args ...any) {
	s.add(Finding{Severity: how, Device: device, Text: fmt.Sprintf(format, args...), Hint: hint})
}

// longestFinding bounds a finding: devices send names of any length.
const longestFinding = 1000

// clip shortens a text that a device or a file may have made of any length.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// add takes a finding in, once.
func (s *Site) add(f Finding) {
	f.Text = clip(f.Text, longestFinding)
	if s.said == nil {
		s.said = map[[3]string]bool{}
	}
	if one := [3]string{f.Device, f.Text, f.Hint}; !s.said[one] {
		s.said[one] = true
		s.Findings = append(s.Findings, f)
	}
}

// sorted puts a site in one order, whatever order devices answered in.
func (s *Site) sorted() {
	slices.SortFunc(s.Switches, func(a, b *Switch) int { return natural(a.Host, b.Host) })
	slices.SortFunc(s.Servers, func(a, b *Server) int { return natural(a.Host, b.Host) })
	slices.SortFunc(s.VCenters, func(a, b *VCenter) int { return natural(a.String(), b.String()) })
	slices.SortFunc(s.Lost, func(a, b Lost) int { return natural(a.Host, b.Host) })
}
