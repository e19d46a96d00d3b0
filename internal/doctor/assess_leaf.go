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
		x.say("model", Unknown, "its login", "it does not say which model it is (%s %s)", sw.OS, facts.Version)
	case os != nil && !os.Takes(facts.Model):
		x.say("model", Needs, os.Models.From(), "another model: %s is none whose lines weft writes", is)
	case row == nil:
		x.say("model", Unknown, "the catalogue", "%s: the catalogue has no row of it", is)
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
			silent = cmp.Or(silent, "the switch does not show it of "+p.Name)
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
			which = ", and better not for priorities " + traffic.Ranges(os.AvoidPFC.Value)
		}
	}
	switch {
	case len(idle) > 0:
		x.say("pfc", Needs, "what PFC does on its ports", "a look at PFC: %s", strings.Join(idle, "; "))
	case len(on) > 0 && silent == "":
		x.say("pfc", Ready, "what PFC does on its ports", "it runs on %d ports", len(on))
	case len(on) > 0:
		x.say("pfc", Ready, "its configuration", "it is configured on %d ports; whether it runs is not known: %s", len(on), silent)
	case source != "" && known:
		x.say("pfc", Ready, source, "it can pause%s; nothing is configured yet", which)
	case source != "":
		x.say("pfc", Unknown, source, "%s can pause%s, and whether this model does is not known", sw.OS, which)
	default:
		x.say("pfc", Unknown, "the catalogue", "whether it can pause by priority is not known")
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
		x.say("ecn", Ready, "its configuration", "%d of its %d classes mark", marked, len(s.classes(sw)))
	case os == nil || !os.ECN.Proven():
		x.say("ecn", Unknown, "the catalogue", "whether it can mark packets is not known")
	case known:
		x.say("ecn", Ready, os.ECN.From(), "it can mark packets; nothing is configured yet")
	default:
		x.say("ecn", Unknown, os.ECN.From(), "%s can mark packets, and whether this model does is not known", sw.OS)
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
			a.Choice, a.Why = name, fmt.Sprintf("all %d ends can do it", len(f.Can))
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
			line := fmt.Sprintf("%s is known of %d of %d ends", f.Name, len(f.Can), len(ends))
			if len(f.Cannot) > 0 {
				line += ", " + text.List(f.Cannot, mostPlaces) + " cannot"
			}
			if len(f.Unknown) > 0 {
				line += ", of " + text.List(f.Unknown, mostPlaces) + " it is not known"
			}
			list = append(list, line)
		}
		a.Why = cmp.Or(strings.Join(list, "; "), "of no end it is known that it does RDMA")
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
			a.Why += "; " + f.Addr + " declares " + f.Transport + ", which not all of them can do"
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
