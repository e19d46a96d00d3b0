// Package lossless judges what each hop of a declared path does to the classes of its
// fabric, from what devices read: classification, PFC as configured and as it runs, ECN,
// ETS, MTU and watchdog. It asks no device.
package lossless

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/internal/topology"
	"weft/inventory"
	"weft/modules/host"
	"weft/switches"
)

// An Aspect is what a hop does to a class.
type Aspect string

// The aspects.
const (
	Presence       Aspect = "presence"
	Classification Aspect = "classification"
	PFC            Aspect = "pfc"
	Operation      Aspect = "pfc_running"
	Queueing       Aspect = "queueing"
	ECN            Aspect = "ecn"
	ETS            Aspect = "ets"
	MTU            Aspect = "mtu"
	Watchdog       Aspect = "pfc_watchdog"
	Pause          Aspect = "pause"
	Beside         Aspect = "unmanaged_line"
	Reading        Aspect = "reading"
)

// Aspects are all of them.
func Aspects() []Aspect {
	return []Aspect{Presence, Classification, PFC, Operation, Queueing, ECN, ETS, MTU, Watchdog, Pause, Beside, Reading}
}

// A Finding is one aspect of a hop that contradicts the files or its peers, or that is not known.
type Finding struct {
	Aspect Aspect
	Class  string // "": all of them
	Is     string
	Want   string // as declared
	Most   string // as most ports or NICs are, where no files declare it
	Why    string // it is not known, and why; "": it contradicts the files
}

func (f Finding) String() string {
	of := ""
	if f.Class != "" {
		of = "class " + f.Class + ": "
	}
	switch {
	case f.Why != "" && (f.Aspect == Reading || f.Aspect == Beside):
		return f.Why
	case f.Why != "":
		return of + string(f.Aspect) + " is not known: " + f.Why
	case f.Most != "":
		return fmt.Sprintf("%s%s is %s, on most others %s", of, f.Aspect, f.Is, f.Most)
	case f.Want == "":
		return of + f.Is
	}
	return fmt.Sprintf("%s%s is %s, declared %s", of, f.Aspect, f.Is, f.Want)
}

// A Result is what a place does, or all ports of a switch where Place names none.
type Result struct {
	Device   string // HCL address
	System   string // as in the files
	Part     string // NIC or port; "": the switch as a whole
	NIC      bool   // of a server
	Paths    int    // declared paths over it
	Findings []Finding
}

func (r Result) String() string { return strings.TrimSpace(r.Device + " " + r.Part) }

// Broken reports whether something contradicts the files.
func (r Result) Broken() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Why == "" })
}

// Unknown reports whether something is not known.
func (r Result) Unknown() bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Why != "" })
}

// Text lists what contradicts the files, else what is not known.
func (r Result) Text() string {
	return strings.Join(slice.Map(r.said(), Finding.String), "; ")
}

// said are the findings that contradict the files, else those that are not known.
func (r Result) said() []Finding {
	return slice.Filter(r.Findings, func(f Finding) bool { return (f.Why == "") == r.Broken() })
}

// Readings are what devices are set to, by HCL address. A device is in Unread where it was
// not read, with the reason.
type Readings struct {
	Switches map[string]*switches.Reading
	Servers  map[string]*host.Reading
	Unread   map[string]string
}

// Judge judges the places of lossless fabrics. Results are in the order of places, those of
// a switch as a whole before its ports.
func Judge(owner string, places []topology.Place, read *Readings) (out []Result) {
	for i := 0; i < len(places); i++ {
		p := places[i]
		switch {
		case !p.Fabric.Lossless():
		case p.RNIC != nil:
			out = append(out, nic(p, read))
		default:
			j := i
			for j < len(places) && places[j].RNIC == nil && places[j].Port.Switch == p.Port.Switch {
				j++
			}
			out = append(out, ofSwitch(owner, p.Port.Switch, places[i:j], read)...)
			i = j - 1
		}
	}
	return out
}

// unread is a result about a device that was not read.
func unread(p topology.Place, system, why string) Result {
	return Result{Device: p.Device(), System: system, Part: p.Part(), NIC: p.RNIC != nil, Paths: p.Paths, Findings: []Finding{{Aspect: Reading, Why: why}}}
}

// nic judges a NIC.
func nic(p topology.Place, read *Readings) Result {
	s := p.RNIC.Server
	r := read.Servers[s.Addr]
	if r == nil {
		why := read.Unread[s.Addr]
		if why == "" {
			why = "the server was not asked"
		}
		return unread(p, s.OS, why)
	}
	out := Result{Device: p.Device(), System: s.OS, Part: p.Part(), NIC: true, Paths: p.Paths}
	if p.RNIC.Place() == "" {
		return unread(p, s.OS, "the files do not say which port it is")
	}
	i := slices.IndexFunc(r.NICs, func(n host.NICReading) bool { return n.Name == p.RNIC.Name })
	if i < 0 || r.NICs[i].Absent {
		out.Findings = []Finding{{Aspect: Presence, Is: "the server has no such NIC"}}
		return out
	}
	out.Findings = judgeNIC(p.Fabric, r.NICs[i])
	return out
}

// ofSwitch judges the ports of a switch that paths pass.
func ofSwitch(owner string, sw *inventory.Switch, places []topology.Place, read *Readings) (out []Result) {
	r := read.Switches[sw.Addr]
	if r == nil {
		why := read.Unread[sw.Addr]
		switch {
		case sw.Unmanaged:
			why = "the switch is unmanaged: weft does not read it"
		case why == "":
			why = "the switch was not asked"
		}
		paths := 0
		for _, p := range places {
			paths = max(paths, p.Paths)
		}
		return []Result{{Device: sw.Addr, System: sw.OS, Paths: paths, Findings: []Finding{{Aspect: Reading, Why: why}}}}
	}
	for _, f := range fabricsOf(places) {
		own := slices.DeleteFunc(slices.Clone(places), func(p topology.Place) bool { return p.Fabric != f })
		if f.Lossless() {
			out = append(out, judgeSwitch(owner, sw, f, own, *r)...)
		}
	}
	return out
}

func fabricsOf(places []topology.Place) (out []*inventory.Fabric) {
	for _, p := range places {
		if !slices.Contains(out, p.Fabric) {
			out = append(out, p.Fabric)
		}
	}
	return out
}
