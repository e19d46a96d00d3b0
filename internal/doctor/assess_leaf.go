package doctor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"weft/internal/slice"
	"weft/internal/text"
	"weft/internal/traffic"
)

// leaf judges one switch: its model, and whether it can pause and mark.
func (s *Site) leaf(sw *Switch) Subject {
	x := Subject{Device: sw.Name, Kind: "switch", At: sw.place("").At(), place: sw.place("")}
	facts := sw.Reading.Facts
	os, row := s.Hardware.SwitchOS(sw.OS), s.Hardware.Switch(sw.OS, facts.Model)
	is := strings.TrimSpace(fmt.Sprintf("%s, %s %s", facts.Model, sw.OS, facts.Version))
	switch {
	case facts.Model == "":
		x.say("model", Unknown, "its login", "it does not report its model (%s %s)", sw.OS, facts.Version)
	case os != nil && !os.Takes(facts.Model):
		x.say("model", Needs, os.Models.From(), "another model: weft does not support %s", is)
	case row == nil:
		x.say("model", Unknown, "the catalogue", "%s: not in the catalogue", is)
	default:
		x.say("model", Ready, cmp.Or(row.Ports.Source, row.Releases.Source, row.Queues.Source, row.WREDUnit.Source, "the catalogue"), "%s is %s%s", is, row.ID, made(row.Releases.Value))
	}
	known := row != nil
	s.pauses(&x, sw, known)
	s.marking(&x, sw, known)
	return x
}

func made(releases string) string {
	if releases == "" {
		return ""
	}
	return ", with releases " + releases
}

// pauses says whether a switch can do PFC: it does, or its system does on models that
// the catalogue has.
func (s *Site) pauses(x *Subject, sw *Switch, known bool) {
	var on, idle []string
	silent := sw.Reading.Mute
	for _, p := range sw.Reading.Ports {
		if !p.PFC {
			continue
		}
		on = append(on, p.Name)
		switch why, known := sw.Reading.Idle(p); {
		case !known:
			silent = cmp.Or(silent, "the switch does not show it for "+p.Name)
		case why != "":
			idle = append(idle, p.Name+": "+why)
		}
	}
	os := s.Hardware.SwitchOS(sw.OS)
	var source, which string
	if os != nil {
		source = cmp.Or(os.PFCPriorities.Source, os.AvoidPFC.Source)
		if os.PFCPriorities.Proven() {
			which = " for priorities " + traffic.Ranges(os.PFCPriorities.Value)
		} else if os.AvoidPFC.Proven() {
			which = ", but not recommended for priorities " + traffic.Ranges(os.AvoidPFC.Value)
		}
	}
	switch {
	case len(idle) > 0:
		x.say("pfc", Needs, "the PFC state of its ports", "working PFC: %s", strings.Join(idle, "; "))
	case len(on) > 0 && silent == "":
		x.say("pfc", Ready, "the PFC state of its ports", "it is operational on %d ports", len(on))
	case len(on) > 0:
		x.say("pfc", Ready, "its configuration", "it is configured on %d ports; its operational state is unknown: %s", len(on), silent)
	case source != "" && known:
		x.say("pfc", Ready, source, "it supports PFC%s; nothing is configured yet", which)
	case source != "":
		x.say("pfc", Unknown, source, "%s supports PFC%s; support of this model is unknown", sw.OS, which)
	default:
		x.say("pfc", Unknown, "the catalogue", "support for PFC is unknown")
	}
}

// marking says whether a switch can mark packets.
func (s *Site) marking(x *Subject, sw *Switch, known bool) {
	os := s.Hardware.SwitchOS(sw.OS)
	lossless, marked := 0, 0
	for _, c := range s.classes(sw) {
		if c.PFC {
			lossless++
		}
		if c.ECN != nil {
			marked++
		}
	}
	switch {
	case lossless > 0 && marked > 0:
		x.say("ecn", Ready, "its configuration", "%d of its %d classes have ECN", marked, len(s.classes(sw)))
	case os == nil || !os.ECN.Proven():
		x.say("ecn", Unknown, "the catalogue", "support for ECN is unknown")
	case known:
		x.say("ecn", Ready, os.ECN.From(), "it supports ECN; nothing is configured yet")
	default:
		x.say("ecn", Unknown, os.ECN.From(), "%s supports ECN; support of this model is unknown", sw.OS)
	}
}

// choose finds the flavour that all ends can do.
func (a *Assessment) choose(s *Site) {
	a.Flavours = []Flavour{}
	ends := slice.Filter(a.Subjects, func(x Subject) bool { return x.Kind != "switch" })
	for _, name := range flavours() {
		f := Flavour{Name: name}
		for _, x := range ends {
			switch {
			case slices.Contains(x.Flavours, name):
				f.Can = append(f.Can, x.Device)
			case x.Unsure:
				f.Unknown = append(f.Unknown, x.Device)
			default:
				f.Cannot = append(f.Cannot, x.Device)
			}
		}
		a.Flavours = append(a.Flavours, f)
		if a.Choice == "" && f.Shared() {
			a.Choice, a.Why = name, fmt.Sprintf("all %d ends support it", len(f.Can))
		}
	}
	if len(ends) == 0 {
		a.Why = "no server and no array was assessed"
	} else if a.Choice == "" {
		var list []string
		for _, f := range a.Flavours {
			if len(f.Can) == 0 {
				continue
			}
			line := fmt.Sprintf("%d of %d ends support %s", len(f.Can), len(ends), f.Name)
			if len(f.Cannot) > 0 {
				line += " (not " + text.List(f.Cannot, mostPlaces) + ")"
			}
			if len(f.Unknown) > 0 {
				line += ", unknown: " + text.List(f.Unknown, mostPlaces)
			}
			list = append(list, line)
		}
		a.Why = cmp.Or(strings.Join(list, "; "), "no end is known to support RDMA")
	}
	if s.Model == nil || a.Choice == "" {
		return
	}
	for _, f := range s.Model.Fabrics {
		if f.Transport == "tcp" || f.Transport == a.Choice {
			continue
		}
		if i := slices.IndexFunc(a.Flavours, func(x Flavour) bool { return x.Name == f.Transport }); i >= 0 && a.Flavours[i].Shared() {
			a.Choice, a.Why = f.Transport, a.Why+", and "+f.Addr+" declares it"
		} else {
			a.Why += "; " + f.Addr + " declares " + f.Transport + ", which not all of them support"
		}
	}
}

// Fit is the worst of all subjects.
func (a *Assessment) Fit() Fitness {
	worst := Ready
	for _, x := range a.Subjects {
		if x.State == Needs || x.State == Unknown && worst == Ready {
			worst = x.State
		}
	}
	return worst
}
