package lossless

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/topology"
	"weft/internal/traffic"
	"weft/inventory"
	"weft/modules/leaf"
	"weft/switches"
)

// judgeSwitch compares what a switch is set to with a fabric: first what concerns all of its
// ports, then each port.
func judgeSwitch(owner string, sw *inventory.Switch, f *inventory.Fabric, places []topology.Place, read switches.Reading) (out []Result) {
	want := leaf.Desired(read.Text().OS, owner, f, desiredPorts(places))
	have := read.For(want)
	whole := Result{Device: sw.Addr, System: sw.OS}
	whole.Findings = classes(have, want)
	var names []string
	for _, p := range places {
		names = append(names, p.Port.Name)
		whole.Paths = max(whole.Paths, p.Paths)
	}
	perPort := map[string][]Finding{}
	for _, l := range read.UnmanagedLines() {
		on := l.On(names)
		finding := Finding{Aspect: Beside, Is: l.Text + ": " + l.Says}
		if l.Says == "" {
			finding = Finding{Aspect: Beside, Why: "this line is not understood: " + l.Text}
		}
		switch {
		case !l.Breaks && (l.Says != "" || !l.Subject):
		case len(l.Ports) == 0:
			whole.Findings = append(whole.Findings, finding)
		default:
			for _, port := range on {
				perPort[port] = append(perPort[port], finding)
			}
		}
	}
	if len(whole.Findings) > 0 {
		out = append(out, whole)
	}
	for _, p := range places {
		r := Result{Device: sw.Addr, System: sw.OS, Part: p.Port.Name, Paths: p.Paths}
		r.Findings = append(ofPort(have, want, p.Port.Name, whole.Findings), perPort[p.Port.Name]...)
		out = append(out, r)
	}
	return out
}

// desiredPorts are the ports of places, each with the VLAN whose tags its NIC sends.
func desiredPorts(places []topology.Place) (out []leaf.DesiredPort) {
	for _, p := range places {
		out = append(out, leaf.DesiredPort{Name: p.Port.Name, VLAN: p.VLAN})
	}
	return out
}

// classes compares what holds for all ports.
func classes(have switches.Reading, want switches.Intent) (out []Finding) {
	perPort := have.Text().OS.Lines.PerPort
	if !perPort && have.Name != want.Name {
		if len(have.Foreign) > 0 {
			return []Finding{{Aspect: Classification, Why: "weft does not judge policies of others: " + strings.Join(have.Foreign, ", ")}}
		}
		return []Finding{{Aspect: Classification, Is: "no policy of the fabric is attached", Want: ""}}
	}
	for _, w := range want.Classes {
		i := slices.IndexFunc(have.Classes, func(k switches.Class) bool { return k.Priority == w.Priority })
		if i < 0 {
			out = append(out, Finding{Aspect: Classification, Class: w.Name, Is: "missing", Want: "DSCP " + traffic.Ranges(w.DSCP) + " in queue " + strconv.Itoa(w.Priority)})
			continue
		}
		h := have.Classes[i]
		if w.Name != switches.AllOther && !slices.Equal(h.DSCP, w.DSCP) {
			out = append(out, Finding{Aspect: Classification, Class: w.Name, Is: dscps(h.DSCP) + " in queue " + strconv.Itoa(h.Priority), Want: dscps(w.DSCP)})
		}
		if perPort {
			continue
		}
		if h.PFC != w.PFC {
			out = append(out, Finding{Aspect: PFC, Class: w.Name, Is: onOff(h.PFC), Want: onOff(w.PFC)})
		}
		out = append(out, queue(h, w, have.Facts)...)
	}
	if want.Watchdog != "" && have.Watchdog != want.Watchdog {
		is := have.Watchdog
		if is == "" {
			is = "off"
		}
		out = append(out, Finding{Aspect: Watchdog, Is: is, Want: want.Watchdog})
	}
	return out
}

// queue compares share and marks of a class.
func queue(h, w switches.Class, f switches.Facts) (out []Finding) {
	if h.Bandwidth != w.Bandwidth || h.Strict != w.Strict {
		out = append(out, Finding{Aspect: ETS, Class: w.Name, Is: scheduled(h), Want: scheduled(w)})
	}
	if !switches.SameECN(h.ECN, w.ECN, f) {
		out = append(out, Finding{Aspect: ECN, Class: w.Name, Is: curve(h.ECN), Want: curve(w.ECN)})
	}
	return out
}

// ofPort compares one port. Settings of all ports are judged already.
func ofPort(have switches.Reading, want switches.Intent, name string, whole []Finding) (out []Finding) {
	p, _ := have.Port(name)
	w, _ := want.Port(name)
	if !p.Exists {
		return []Finding{{Aspect: Presence, Is: "the switch has no such port"}}
	}
	if p.Bundle != "" {
		return []Finding{{Aspect: Presence, Why: "it is a member of " + p.Bundle + ": weft does not judge bundles"}}
	}
	if w.MTU > p.MTU {
		is := strconv.Itoa(p.MTU)
		if p.MTU == 0 {
			is = "the default"
		}
		out = append(out, Finding{Aspect: MTU, Is: is, Want: strconv.Itoa(w.MTU)})
	}
	perPort := have.Text().OS.Lines.PerPort
	if perPort {
		for _, k := range want.Classes {
			i := slices.IndexFunc(p.Classes, func(h switches.Class) bool { return h.Priority == k.Priority })
			if i >= 0 {
				out = append(out, queue(p.Classes[i], k, have.Facts)...)
			}
		}
	}
	attached := perPort || have.Name == want.Name
	if attached && (p.Classify != w.Classify || p.ByTag != w.ByTag) {
		out = append(out, Finding{Aspect: Classification, Is: classifies(p), Want: classifies(w)})
	}
	if attached && !perPort && w.Queue && !p.Queue && !slices.ContainsFunc(whole, func(f Finding) bool { return f.Aspect == ETS }) {
		out = append(out, Finding{Aspect: Queueing, Is: "by another policy", Want: "by that of the fabric"})
	}
	if w.Watchdog && !p.Watchdog {
		out = append(out, Finding{Aspect: Watchdog, Is: "off", Want: "on"})
	}
	return append(out, pauses(have, p, w)...)
}

// pauses compares PFC of a port, as configured and as it runs.
func pauses(have switches.Reading, p, w switches.Port) []Finding {
	if p.PFC != w.PFC {
		return []Finding{{Aspect: PFC, Is: onOff(p.PFC), Want: onOff(w.PFC)}}
	}
	if !p.PFC {
		return nil
	}
	why, known := have.Idle(p)
	switch {
	case have.Mute != "":
		return []Finding{{Aspect: Operation, Why: have.Mute}}
	case !known:
		return []Finding{{Aspect: Operation, Why: "the switch does not show the port in a known layout"}}
	case why != "":
		return []Finding{{Aspect: Operation, Is: why}}
	}
	return nil
}

func classifies(p switches.Port) string {
	switch {
	case !p.Classify:
		return "off"
	case p.ByTag:
		return "by VLAN tags"
	}
	return "by DSCP"
}

func scheduled(k switches.Class) string {
	if k.Strict {
		return "strict"
	}
	return strconv.Itoa(k.Bandwidth) + "%"
}

func curve(e *switches.ECN) string {
	if e == nil {
		return "off"
	}
	return fmt.Sprintf("%d to %d bytes, %d%%", e.Min, e.Max, e.Probability)
}

func dscps(list []int) string {
	if len(list) == 0 {
		return "no DSCP"
	}
	return "DSCP " + traffic.Ranges(list)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
