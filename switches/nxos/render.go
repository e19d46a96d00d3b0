package nxos

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/owned"
	"weft/internal/pattern"
	"weft/internal/slice"
	"weft/internal/traffic"
	"weft/switches"
)

func lineRules() switches.Lines {
	return switches.Lines{
		Grammar: grammar(), Words: vocabulary,
		Global:  renderGlobal,
		Port:    renderPort,
		Takes:   takes,
		Settle:  settle,
		Unowned: func(line string) bool { return strings.HasPrefix(line, "mtu ") },
		Detach:  detach,

		Roles:    []string{roleIn, roleTag, roleOut, roleNQ, roleHR},
		Attaches: []string{"service-policy "},
		Objects:  []string{"class-map", "policy-map"},
		Needs: func(want switches.Intent, line string) bool {
			return !strings.HasPrefix(line, attachHR) || slices.ContainsFunc(want.Ports, func(p switches.Port) bool { return p.Headroom })
		},
		Under: under, Starving: starving,
	}
}

// detach takes a network-qos policy off the system before it changes:
// whether one may be edited while it is in force is not documented.
func detach(have, want []switches.Block) ([]string, []switches.Block) {
	system, _ := switches.FindBlock(have, systemQoS)
	at := slices.IndexFunc(system.Lines, func(l string) bool { return strings.HasPrefix(l, attachNQ) })
	if at < 0 {
		return nil, have
	}
	line := system.Lines[at]
	policy := policyNetworkQoS + strings.TrimPrefix(line, attachNQ)
	below := func(bs []switches.Block) (out []string) {
		for _, b := range bs {
			if b.Head() == policy {
				lines := slices.Sorted(slices.Values(b.Lines))
				out = append(out, strings.Join(append(slices.Clone(b.Path), lines...), "\n"))
			}
		}
		slices.Sort(out)
		return out
	}
	if was, will := below(have), below(want); len(will) == 0 || slices.Equal(was, will) {
		return nil, have
	}
	have = slices.Clone(have)
	for i, b := range have {
		if b.Head() == systemQoS {
			have[i] = b.Clone()
			have[i].Lines = slices.Delete(have[i].Lines, at, at+1)
		}
	}
	return []string{systemQoS, "  " + undoOf(line)}, have
}

// renderGlobal writes classes as class-maps, the three policies, and their
// Attached to the system.
func renderGlobal(c switches.Intent, _ switches.Facts) ([]switches.Block, error) {
	if len(c.Classes) == 0 {
		return []switches.Block{{Path: []string{systemQoS}}}, nil
	}
	out, err := guards(c)
	if err != nil {
		return nil, err
	}
	classify := policyQoS + c.Name + roleIn
	parents := []switches.Block{{Path: []string{classify}}}
	classes := slices.SortedStableFunc(slices.Values(c.Classes), switches.ByPriority)
	other := "set qos-group 0"
	for _, k := range classes {
		if k.Name == switches.AllOther {
			continue
		}
		object := c.Name + "-" + k.Name
		match := switches.Block{Path: []string{classMap + object}}
		match.Lines = slice.Map(k.DSCP, func(d int) string { return fmt.Sprintf("match dscp %d", d) })
		out = append(out, match)
		parents = append(parents, switches.Block{Path: []string{classify, "class " + object}, Lines: []string{fmt.Sprintf("set qos-group %d", k.Priority)}})
	}
	parents = append(parents, switches.Block{Path: []string{classify, otherwise}, Lines: []string{other}})
	out = append(out, parents...)
	if c.Tagged {
		tags, err := renderTags(c, classes)
		if err != nil {
			return nil, err
		}
		out = append(out, tags...)
	}
	out = append(out, renderQueues(c, classes)...)
	out = append(out, renderLossless(c, classes)...)
	return append(out, switches.Block{Path: []string{systemQoS}, Lines: []string{
		attachOut + c.Name + roleOut,
		attachNQ + c.Name + roleNQ,
	}}), nil
}

// renderTags writes the classification by the priority in VLAN tags, of ports whose hosts
// mark nothing else.
func renderTags(c switches.Intent, classes []switches.Class) (out []switches.Block, err error) {
	policy := policyQoS + c.Name + roleTag
	parents := []switches.Block{{Path: []string{policy}}}
	for _, k := range classes {
		if k.Name == switches.AllOther {
			continue
		}
		object := fmt.Sprintf("%s%s%d", c.Name, roleTag, k.Priority)
		if len(object) > owned.MaxObject {
			return nil, fmt.Errorf("%s is longer than %d characters", object, owned.MaxObject)
		}
		out = append(out, switches.Block{Path: []string{classMap + object}, Lines: []string{fmt.Sprintf("match cos %d", k.Priority)}})
		parents = append(parents, switches.Block{Path: []string{policy, "class " + object}, Lines: []string{fmt.Sprintf("set qos-group %d", k.Priority)}})
	}
	return append(append(out, parents...), switches.Block{Path: []string{policy, otherwise}, Lines: []string{"set qos-group 0"}}), nil
}

// systemLines are those that stand below no header.
func systemLines(c switches.Intent) (out []string) {
	if c.LLDP {
		out = append(out, lldp)
	}
	if c.Watchdog != "" {
		out = append(out, watchdog)
	}
	return out
}

// guards writes what guards lossless classes: the watchdog of the system,
// and the ingress buffers that ports attach.
func guards(c switches.Intent) (out []switches.Block, err error) {
	if c.Watchdog != "" && c.Watchdog != "drop" {
		return nil, fmt.Errorf("pfc_watchdog: action = %q cannot be set, because this switch drops what a queue holds that stays paused", c.Watchdog)
	}
	if lines := systemLines(c); len(lines) > 0 {
		out = append(out, switches.Block{Lines: lines})
	}
	policy := policyQueuing + c.Name + roleHR
	for _, k := range slices.SortedStableFunc(slices.Values(c.Classes), switches.ByPriority) {
		h := k.Headroom
		if h == nil {
			continue
		}
		if h.Size < bufferMin || h.Size > bufferMax {
			return nil, fmt.Errorf("class %s: headroom size of %d bytes is not in %d to %d", k.Name, h.Size, bufferMin, bufferMax)
		}
		if _, begun := switches.FindBlock(out, policy); !begun {
			out = append(out, switches.Block{Path: []string{policy}})
		}
		out = append(out, switches.Block{
			Path:  []string{policy, fmt.Sprintf("class type queuing c-in-q%d", k.Priority)},
			Lines: []string{fmt.Sprintf(buffer, h.Size, h.Xoff, h.Xon)},
		})
	}
	return out, nil
}

const (
	lldp        = "feature lldp"
	watchdog    = watchdogLine + "on"
	systemJumbo = "system jumbomtu "
	buffer      = "pause buffer-size %d pause-threshold %d resume-threshold %d" // bytes

	// What the model of the switch's own API takes.
	bufferMin, bufferMax = 5000, 268435456
)

// renderQueues lists all eight queues: one that is left out keeps what the
// default policy gives it. Strict queues are the highest ones, next to each other
// (Cisco Nexus 9000 Series NX-OS Quality of Service Configuration Guide, Release
// 10.5(x), Configuring Queuing and Scheduling, guidelines), as queue 7 is in the
// switch's own default-8q-out-policy: what no class claims above one is strict.
func renderQueues(c switches.Intent, classes []switches.Class) []switches.Block {
	policy := policyQueuing + c.Name + roleOut
	out := []switches.Block{{Path: []string{policy}}}
	level, lowest := 0, lowestStrict(classes)
	for q := traffic.Priorities - 1; q >= 0; q-- {
		b := switches.Block{Path: []string{policy, "class type queuing " + queueClass(q)}}
		k := switches.Class{Strict: q > lowest}
		if i := slices.IndexFunc(classes, func(k switches.Class) bool { return k.Priority == q }); i >= 0 {
			k = classes[i]
		}
		if k.Strict {
			level++
			b.Lines = append(b.Lines, fmt.Sprintf(priorityLevel+"%d", level))
		} else {
			b.Lines = append(b.Lines, fmt.Sprintf(share+"%d", k.Bandwidth))
		}
		if e := k.ECN; e != nil {
			b.Lines = append(b.Lines, fmt.Sprintf("random-detect minimum-threshold %s maximum-threshold %s drop-probability %d weight 0 ecn",
				depthText(e.Min), depthText(e.Max), e.Probability))
		}
		out = append(out, b)
	}
	return out
}

// lowestStrict is the lowest queue that is strict; priorities: none is.
func lowestStrict(classes []switches.Class) int {
	lowest := traffic.Priorities
	for _, k := range classes {
		if k.Strict {
			lowest = min(lowest, k.Priority)
		}
	}
	return lowest
}

func queueClass(q int) string {
	if q == 0 {
		return "c-out-8q-q-default"
	}
	return fmt.Sprintf("c-out-8q-q%d", q)
}

// depthText writes a depth in kbytes where that is exact.
func depthText(n int64) string {
	if n%1000 == 0 {
		return fmt.Sprintf("%d kbytes", n/1000)
	}
	return fmt.Sprintf("%d bytes", n)
}

// renderLossless writes the network-qos policy. Its MTU is the largest there
// is, so that only the MTU of a port limits its frames.
func renderLossless(c switches.Intent, classes []switches.Class) []switches.Block {
	policy := policyNetworkQoS + c.Name + roleNQ
	out := []switches.Block{{Path: []string{policy}}}
	for _, k := range classes {
		if k.PFC {
			out = append(out, switches.Block{
				Path:  []string{policy, fmt.Sprintf("class type network-qos c-8q-nq%d", k.Priority)},
				Lines: []string{largest, fmt.Sprintf("pause pfc-cos %d", k.Priority)},
			})
		}
	}
	return append(out, switches.Block{Path: []string{policy, "class type network-qos c-8q-nq-default"}, Lines: []string{largest}})
}

const largest = "mtu 9216"

func renderPort(c switches.Intent, p switches.Port, _ switches.Facts) []switches.Block {
	b := switches.Block{Path: []string{onPort + p.Name}}
	if p.PFC {
		b.Lines = append(b.Lines, pfc)
	}
	if p.Watchdog {
		b.Lines = append(b.Lines, watchdog)
	}
	if p.MTU > 0 {
		b.Lines = append(b.Lines, fmt.Sprintf("mtu %d", p.MTU))
	}
	switch {
	case p.Classify && p.ByTag:
		b.Lines = append(b.Lines, attachIn+c.Name+roleTag)
	case p.Classify:
		b.Lines = append(b.Lines, attachIn+c.Name+roleIn)
	}
	if p.Headroom {
		b.Lines = append(b.Lines, attachHR+c.Name+roleHR)
	}
	return []switches.Block{b}
}

const pfc = "priority-flow-control mode on"

const watchdogLine = "priority-flow-control watch-dog-interval "

// dropsPaused reports whether a line is a watchdog that drops what stays paused,
// after whatever time.
func dropsPaused(line string) bool {
	return line == watchdog || strings.HasPrefix(line, watchdog+" interface-multiplier ") && !strings.Contains(line, " disable-action")
}

// settle leaves alone a larger MTU, pause that is forced on and a watchdog
// that drops with more words than ours, and what nobody wishes anything of: a
// watchdog that is off or an operator's, a watchdog of the system, ingress buffers of another owner, and our own that are of no use any more:
// classes change before ports do, which still attach them.
func settle(_ *switches.Text, _ int, seen, wish []switches.Block) []switches.Block {
	wish = leave(seen, wish)
	for i, w := range wish {
		if !strings.HasPrefix(w.Head(), onPort) {
			continue
		}
		s, ok := switches.FindBlock(seen, w.Path...)
		if !ok {
			continue
		}
		w = w.Clone()
		wished := 0
		w.Lines = slices.DeleteFunc(w.Lines, func(l string) bool {
			if n, ok := strings.CutPrefix(l, "mtu "); ok {
				wished = switches.Number(n)
				return wished <= mtuOf(s)
			}
			return false
		})
		buffers := slices.ContainsFunc(w.Lines, func(l string) bool { return strings.HasPrefix(l, attachHR) })
		for _, l := range s.Lines {
			if name, ok := strings.CutPrefix(l, attachHR); ok && !buffers && !strings.HasPrefix(name, owned.Objects) {
				w.Lines = append(w.Lines, l)
			}
			if n, ok := strings.CutPrefix(l, "mtu "); ok && switches.Number(n) >= wished {
				w.Lines = append(w.Lines, l)
			}
			if j := slices.Index(w.Lines, pfc); j >= 0 && strings.HasPrefix(l, pfc+" ") {
				w.Lines[j] = l
			}
			if strings.HasPrefix(l, watchdogLine) && l != watchdog {
				switch j := slices.Index(w.Lines, watchdog); {
				case j < 0: // off, or an operator's
					w.Lines = append(w.Lines, l)
				case dropsPaused(l):
					w.Lines[j] = l
				}
			}
		}
		wish[i] = w
	}
	return wish
}

// tagObject opens an object of the classification by VLAN tags.
var tagObject = pattern.New(`^(?:policy-map type qos WEFT.*-cos|class-map type qos match-any WEFT.*-cos[0-7])$`)

// leave adds to what is wished the blocks that stay without being wished.
func leave(seen, wish []switches.Block) []switches.Block {
	tagged := slices.ContainsFunc(wish, func(b switches.Block) bool { return strings.HasSuffix(b.Head(), roleTag) })
	var stay []switches.Block
	for _, s := range seen {
		outer := s.Path[:min(1, len(s.Path))]
		if _, wished := switches.FindBlock(wish, outer...); !wished && len(outer) > 0 && (strings.HasSuffix(outer[0], roleHR) || !tagged && tagObject.MatchString(outer[0])) {
			stay = append(stay, s)
		}
	}
	return append(wish, stay...)
}

// mtuOf is the MTU of a port, 1500 where nothing is said.
func mtuOf(b switches.Block) int {
	for _, l := range b.Lines {
		if n, ok := strings.CutPrefix(l, "mtu "); ok {
			return switches.Number(n)
		}
	}
	return 1500
}
