// Package doctor judges how servers, NICs, switches and paths are, by a catalogue of
// numbered checks. Each check is a pure function of typed facts: it says fine, wrong
// or not known of each thing that it looks at, and what is not known is never fine.
// Nothing here asks a device.
package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/modules/host"
	"weft/modules/leaf"
)

// A Severity says what a finding costs.
type Severity string

// The severities, the worst first.
const (
	Critical Severity = "critical" // data or the fabric are at risk now
	Error    Severity = "error"    // it will not work, or not without loss
	Warn     Severity = "warn"     // slower, or fragile
	Info     Severity = "info"
)

// Rank orders severities, the worst first.
func (s Severity) Rank() int { return slices.Index([]Severity{Critical, Error, Warn, Info}, s) }

// A Check is one row of the catalogue.
type Check struct {
	ID       string   `json:"id"` // WD-PCI-01
	Title    string   `json:"title"`
	Reads    string   `json:"reads"`
	Limit    string   `json:"limit"`
	Source   string   `json:"source"` // where the limit comes from
	Severity Severity `json:"severity"`
	Remedy   string   `json:"remedy"`
	Twice    bool     `json:"twice,omitempty"` // it compares two readings
	Mends    []string `json:"mends,omitempty"` // the kinds of resources that mend it, where files declare them
	Saved    bool     `json:"saved,omitempty"` // it is mended when weft saves what runs, as it does after each change of a switch

	judge    func(*Site, *ruling)
	hopsOnly bool // it reports what package lossless finds, and nothing else
}

// A Site is what was read of all devices.
type Site struct {
	Model     *inventory.Model     // nil: there are no files
	Hardware  *catalogue.Catalogue // nil: nothing is known of cards
	Hosts     []*Host
	Switches  []*Switch
	VCenters  []*VCenter
	Before    *Site // an earlier reading of the same; nil: there was one reading only
	HostsLost bool  // some host could not be read: peers are not all there

	cables []cable // these are made by match
	wires  map[*Switch][]cable
	all    []end
	of     map[*Host][]end
	ears   map[string]heard // who hears a MAC address, or names
	links  map[*inventory.RNIC]*inventory.Link
	named  map[string]*Host
	hops   []hop
}

// A Host is one server.
type Host struct {
	Name   string // HCL address, or as it was named
	Server *inventory.Server
	*host.Health
}

// A Switch is one switch.
type Switch struct {
	Name   string
	Switch *inventory.Switch
	*leaf.Health
}

// A VCenter is one vCenter, and how what weft keeps there is.
type VCenter struct {
	Name     string
	Clusters []VSAN
	Silent   string // why vSAN is not told; "": it is
	Members  []Member
	Profiles []string // what host profiles may own of what weft sets, host by host
	Blind    string   // why that is not told; "": it is
}

// A VSAN is a cluster that is to use RDMA.
type VSAN struct {
	Path  string
	Told  bool   // all hosts say what they speak
	Wrong string // why it does not; "": it does
	Range hcl.Range
}

// A Member is a host that is to be a member of a distributed switch.
type Member struct {
	Host, Switch string
	Told         bool   // vCenter says what the host has
	Wrong        string // why it is not, with its uplink; "": it is
	Range        hcl.Range
}

// A Place is what a verdict is about.
type Place struct {
	Device string    `json:"device"`
	Part   string    `json:"part,omitempty"` // NIC, port, drive
	Range  hcl.Range `json:"-"`              // in the files; zero: there are none
}

func (p Place) String() string { return strings.TrimSpace(p.Device + " " + p.Part) }

// At is the line of the files; "": none is known.
func (p Place) At() string {
	if p.Range.Filename == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.Range.Filename, p.Range.Start.Line)
}

// A Finding is a verdict that is not fine.
type Finding struct {
	Check *Check
	Place Place
	Text  string

	quotes bool // Text has what the device answered instead
}

// A Report is what all checks have said.
type Report struct {
	Findings []Finding      // the worst first
	Unknown  []Finding      // what could not be judged, and why
	Ignored  []Ignored      // findings that somebody has a reason for
	Fine     map[string]int // by check: how many things are fine
	Unasked  []string       // checks that need a second reading
	Lost     []string       // devices that could not be read

	// Untold are checks that ask for what the system of a machine does not tell, by machine.
	Untold map[string][]string
}

// An Ignored finding is one that is not to be told again.
type Ignored struct {
	Finding
	Reason string
}

// A ruling collects the verdicts of one check.
type ruling struct {
	site  *Site
	check *Check
	out   *Report
}

func (s *Site) hosts() []*Host       { return s.Hosts }
func (s *Site) switches() []*Switch  { return s.Switches }
func (s *Site) vcenters() []*VCenter { return s.VCenters }

// each judges one thing of a site after another.
func each[T any](of func(*Site) []T, judge func(T, *ruling)) func(*Site, *ruling) {
	return func(s *Site, r *ruling) {
		for _, x := range of(s) {
			judge(x, r)
		}
	}
}

func (r *ruling) fine() { r.out.Fine[r.check.ID]++ }

func (r *ruling) bad(p Place, format string, args ...any) {
	r.out.Findings = append(r.out.Findings, Finding{Check: r.check, Place: p, Text: fmt.Sprintf(format, args...)})
}

func (r *ruling) unknown(p Place, format string, args ...any) {
	quotes := slices.ContainsFunc(args, func(a any) bool { q, ok := a.(quote); return ok && q != "" })
	r.out.Unknown = append(r.out.Unknown, Finding{Check: r.check, Place: p, Text: fmt.Sprintf(format, args...), quotes: quotes})
}

// knows reports whether something is known; where it is not, why is told.
func (r *ruling) knows(known bool, p Place, why string, args ...any) bool {
	if !known {
		r.unknown(p, why, args...)
	}
	return known
}

// continued reports whether a counter went on between two readings. One that is lower than
// before was reset, so by how much it grew is unknown.
func continued[N int | uint64](r *ruling, p Place, before, now N, what string, args ...any) bool {
	return r.knows(now >= before, p, what+" was reset between two readings", args...)
}

// unless is fine unless something is wrong.
func (r *ruling) unless(wrong bool, p Place, format string, args ...any) {
	if wrong {
		r.bad(p, format, args...)
		return
	}
	r.fine()
}

// Examine has every check judge the site. What ignore names, by id, is set apart with
// its reason.
func Examine(s *Site, ignore map[string]string) *Report {
	s.match()
	s.hops = s.placed(s.judgeHops())
	out := &Report{Fine: map[string]int{}, Untold: map[string][]string{}}
	for _, c := range Catalogue() {
		if c.Twice && s.Before == nil {
			out.Unasked = append(out.Unasked, c.ID)
			continue
		}
		c.judge(s, &ruling{s, c, out})
	}
	out.Findings = slices.DeleteFunc(out.Findings, func(f Finding) bool {
		reason, ok := ignore[f.Check.ID]
		if ok {
			out.Ignored = append(out.Ignored, Ignored{f, reason})
		}
		return ok
	})
	bare := map[string]*Host{}
	for _, h := range s.Hosts {
		if h.Bare {
			bare[h.Name] = h
		}
	}
	out.Unknown = slices.DeleteFunc(out.Unknown, func(f Finding) bool {
		_, ok := ignore[f.Check.ID]
		// A machine of which little can be read at all: only what one of its NICs answers instead is worth reporting.
		if h := bare[f.Place.Device]; !ok && h != nil && !f.quotes {
			ok = true
			if list := out.Untold[f.Place.Device]; !slices.Contains(list, f.Check.ID) {
				out.Untold[f.Place.Device] = append(list, f.Check.ID)
			}
		}
		return ok
	})
	for _, list := range [][]Finding{out.Findings, out.Unknown} {
		slices.SortStableFunc(list, func(a, b Finding) int {
			return cmp.Or(a.Check.Severity.Rank()-b.Check.Severity.Rank(), cmp.Compare(a.Check.ID, b.Check.ID), cmp.Compare(a.Place.String(), b.Place.String()))
		})
	}
	return out
}

// Failed reports whether anything is an error or worse.
func (r *Report) Failed() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Check.Severity.Rank() <= Error.Rank() })
}

// Explain returns the page of a check.
func Explain(id string) (title, text string, ok bool) {
	for _, c := range Catalogue() {
		if c.ID == id {
			return c.Title, c.page(), true
		}
	}
	for _, l := range LeftOut() {
		if l.ID == id {
			return l.Title, "Not checked yet: " + l.Why + ".\n", true
		}
	}
	return "", "", false
}

func (c *Check) page() string {
	text := fmt.Sprintf("Severity: %s\nRead:     %s\nLimit:    %s\nFrom:     %s\n\n%s\n", c.Severity, c.Reads, c.Limit, c.Source, c.Remedy)
	if c.Twice {
		text += "\nThis check needs two readings: weft doctor --watch 10s.\n"
	}
	if len(c.Mends) > 0 {
		text += "\nweft doctor --fix plans the repair if the files declare it (" + strings.Join(c.Mends, ", ") + ").\n"
	}
	return text + fmt.Sprintf("\nTo ignore its findings: weft doctor --ignore %s=REASON\n", c.ID)
}
