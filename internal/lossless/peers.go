package lossless

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/slice"
	"weft/switches"
)

// A Peer is a port of a switch that carries the fabric, where no files say what it is to do.
type Peer struct {
	Switch  string
	System  string
	Reading *switches.Reading
	Port    switches.Port
}

// A trait is a setting that most ports share.
type trait struct {
	aspect Aspect
	class  string
	whole  bool // it is that of the switch, where queueing is not that of the port
	same   bool // it is compared with ports of the same system only, as units differ
	of     func(Peer) string
	fewer  func(is, most string) bool // what counts as less; nil: every other value does
}

// JudgePeers compares ports with what most of them are set to: PFC, classification, MTU,
// watchdog, ECN and shares of lossless classes. Nothing is judged where most of them are not
// lossless, nor a setting of which no value has a majority. A port that takes the longest
// packets that NICs send takes enough.
func JudgePeers(peers []Peer, longest int) (out []Result) {
	lossless, clear := majority(slice.Map(peers, pausesFor))
	if !clear || lossless == onOff(false) {
		return nil
	}
	for _, p := range peers {
		out = append(out, Result{Device: p.Switch, System: p.System, Part: p.Port.Name})
	}
	at := func(p Peer, part string) *Result {
		i := slices.IndexFunc(out, func(r Result) bool { return r.Device == p.Switch && r.Part == part })
		if i < 0 {
			out, i = append(out, Result{Device: p.Switch, System: p.System, Part: part}), len(out)
		}
		return &out[i]
	}
	for _, t := range traits(peers, longest) {
		for i, p := range peers {
			const each = "" // the switch as a whole
			part := p.Port.Name
			if t.whole && !p.PerPort() {
				if part = each; slices.ContainsFunc(peers[:i], func(o Peer) bool { return o.Switch == p.Switch }) {
					continue
				}
			}
			if p.Port.Bundle != "" {
				continue // what a member is set to says little
			}
			most, clear := usual(peers, t, p)
			is := t.of(p)
			if !clear || is == most || t.fewer != nil && !t.fewer(is, most) {
				continue
			}
			r := at(p, part)
			r.Findings = append(r.Findings, Finding{Aspect: t.aspect, Class: t.class, Is: is, Most: most})
		}
	}
	return out
}

func traits(peers []Peer, longest int) []trait {
	out := []trait{
		{aspect: PFC, of: pausesFor},
		{aspect: Classification, of: goesBy, fewer: func(is, _ string) bool { return is == onOff(false) }},
		{aspect: MTU, same: true, of: takes, fewer: func(is, most string) bool {
			limit := switches.Number(most)
			if longest > 0 {
				limit = min(limit, longest)
			}
			return most != byDefault && (is == byDefault || switches.Number(is) < limit)
		}},
		{aspect: Queueing, same: true, of: func(p Peer) string {
			if p.PerPort() || p.Port.Queue {
				return "by the policy of the system"
			}
			return "by another policy"
		}},
		{aspect: Watchdog, same: true, of: func(p Peer) string { return onOff(p.Port.Watchdog) }},
	}
	for _, priority := range losslessOf(peers) {
		class := func(p Peer) switches.Class {
			list := p.Port.Classes
			if !p.PerPort() {
				list = p.Reading.Classes
			}
			i := slices.IndexFunc(list, func(k switches.Class) bool { return k.Priority == priority })
			if i < 0 {
				return switches.Class{}
			}
			return list[i]
		}
		name := fmt.Sprintf("of priority %d", priority)
		out = append(out,
			trait{aspect: ECN, class: name, whole: true, of: func(p Peer) string { return onOff(class(p).ECN != nil) }},
			trait{aspect: ECN, class: name, whole: true, same: true, of: func(p Peer) string { return curve(class(p).ECN) },
				fewer: func(is, most string) bool { return is != onOff(false) && most != onOff(false) }},
			trait{aspect: ETS, class: name, whole: true, same: true, of: func(p Peer) string { return scheduled(class(p)) }})
	}
	return out
}

// usual is what most ports show of a trait, among those that compare with one.
func usual(peers []Peer, t trait, with Peer) (value string, clear bool) {
	var votes []string
	for _, p := range peers {
		if p.Port.Bundle == "" && (!t.same || p.System == with.System) {
			votes = append(votes, t.of(p))
		}
	}
	return majority(votes)
}

// majority is the value that more than half of a list have.
func majority(values []string) (value string, clear bool) {
	count := map[string]int{}
	for _, v := range values {
		if count[v]++; 2*count[v] > len(values) {
			return v, true
		}
	}
	return "", false
}

// losslessOf are the priorities for which most of those ports pause that pause at all.
func losslessOf(peers []Peer) []int {
	most, _ := majority(slice.Map(peers, pausesFor))
	for _, p := range peers {
		if pausesFor(p) == most {
			return p.Reading.LosslessOn(p.Port)
		}
	}
	return nil
}

// PerPort reports whether classes are those of the port, and not of the switch.
func (p Peer) PerPort() bool { return p.Reading.Text() != nil && p.Reading.Text().OS.Lines.PerPort }

// pausesFor is for which priorities a port has PFC on.
func pausesFor(p Peer) string {
	list := p.Reading.LosslessOn(p.Port)
	if !p.Port.PFC || len(list) == 0 {
		return onOff(false)
	}
	return priorities(list)
}

const byDefault = "the default"

// takes is the longest frame of a port, as far as it is set.
func takes(p Peer) string {
	if n := max(p.Port.MTU, p.Port.Frame); n != 0 {
		return strconv.Itoa(n)
	}
	return byDefault
}

// goesBy is what a port classifies by: policies of weft, a line of the port, or policies of
// another owner.
func goesBy(p Peer) string {
	text := p.Reading.Text()
	if p.Port.Classify || text == nil {
		return classifies(p.Port)
	}
	for _, b := range text.Port[p.Port.Name] {
		for _, line := range b.Lines {
			if words := strings.Fields(line); text.OS.Attached(line) != "" && (slices.Contains(words, "input") || slices.Contains(words, "inbound")) {
				return "by a policy"
			}
		}
	}
	return onOff(false)
}
