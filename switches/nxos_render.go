package switches

import (
	"fmt"
	"slices"
	"strings"
)

func nxosLines() writing {
	return writing{
		grammar: nxosGrammar(),
		global:  nxosGlobal,
		port:    nxosPort,
		settle:  nxosSettle,
		unowned: func(line string) bool { return strings.HasPrefix(line, "mtu ") },
		detach:  nxosDetach,

		roles:    roles(),
		attaches: []string{"service-policy "},
		objects:  []string{"class-map", "policy-map"},
		needs: func(want Intent, line string) bool {
			return !strings.HasPrefix(line, nxosAttachHR) || slices.ContainsFunc(want.Ports, func(p Port) bool { return p.Headroom })
		},
		under: nxosUnder, starving: nxosStarving,
	}
}

// nxosDetach takes a network-qos policy off the system before it changes:
// whether one may be edited while it is in force is not documented.
func nxosDetach(have, want []block) ([]string, []block) {
	system, _ := findBlock(have, nxosSystem)
	at := slices.IndexFunc(system.lines, func(l string) bool { return strings.HasPrefix(l, nxosAttachNQ) })
	if at < 0 {
		return nil, have
	}
	line := system.lines[at]
	policy := nxosNetworkQoS + strings.TrimPrefix(line, nxosAttachNQ)
	below := func(bs []block) (out []string) {
		for _, b := range bs {
			if b.head() == policy {
				lines := slices.Sorted(slices.Values(b.lines))
				out = append(out, strings.Join(append(slices.Clone(b.path), lines...), "\n"))
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
		if b.head() == nxosSystem {
			have[i] = b.clone()
			have[i].lines = slices.Delete(have[i].lines, at, at+1)
		}
	}
	return []string{nxosSystem, "  " + nxosUndo(line)}, have
}

// nxosGlobal writes classes as class-maps, the three policies, and their
// attachment to the system.
func nxosGlobal(c Intent, _ Facts) ([]block, error) {
	if len(c.Classes) == 0 {
		return []block{{path: []string{nxosSystem}}}, nil
	}
	out, err := nxosGuards(c)
	if err != nil {
		return nil, err
	}
	classify := nxosClassify + c.Name + roleIn
	parents := []block{{path: []string{classify}}}
	classes := slices.SortedStableFunc(slices.Values(c.Classes), byPriority)
	other := "set qos-group 0"
	for _, k := range classes {
		if k.Name == allOther {
			continue
		}
		object := c.Name + "-" + k.Name
		match := block{path: []string{nxosClassMap + object}}
		for _, d := range k.DSCP {
			match.lines = append(match.lines, fmt.Sprintf("match dscp %d", d))
		}
		out = append(out, match)
		parents = append(parents, block{[]string{classify, "class " + object}, []string{fmt.Sprintf("set qos-group %d", k.Priority)}})
	}
	parents = append(parents, block{[]string{classify, nxosOtherwise}, []string{other}})
	out = append(out, parents...)
	out = append(out, nxosQueues(c, classes)...)
	out = append(out, nxosLossless(c, classes)...)
	return append(out, block{[]string{nxosSystem}, []string{
		nxosAttachOut + c.Name + roleOut,
		nxosAttachNQ + c.Name + roleNQ,
	}}), nil
}

// nxosSystemLines are those that stand below no header.
func nxosSystemLines(c Intent) (out []string) {
	if c.LLDP {
		out = append(out, nxosLLDP)
	}
	if c.Watchdog != "" {
		out = append(out, nxosWatchdog)
	}
	return out
}

// nxosGuards writes what guards lossless classes: the watchdog of the system,
// and the ingress buffers that ports attach.
func nxosGuards(c Intent) (out []block, err error) {
	if c.Watchdog != "" && c.Watchdog != "drop" {
		return nil, fmt.Errorf("pfc_watchdog: action = %q cannot be set, because this switch drops what a queue holds that stays paused", c.Watchdog)
	}
	if lines := nxosSystemLines(c); len(lines) > 0 {
		out = append(out, block{lines: lines})
	}
	policy := nxosQueuing + c.Name + roleHR
	for _, k := range slices.SortedStableFunc(slices.Values(c.Classes), byPriority) {
		h := k.Headroom
		if h == nil {
			continue
		}
		if h.Size < nxosBufferMin || h.Size > nxosBufferMax {
			return nil, fmt.Errorf("class %s: headroom size of %d bytes is not in %d to %d", k.Name, h.Size, nxosBufferMin, nxosBufferMax)
		}
		if _, begun := findBlock(out, policy); !begun {
			out = append(out, block{path: []string{policy}})
		}
		out = append(out, block{
			[]string{policy, fmt.Sprintf("class type queuing c-in-q%d", k.Priority)},
			[]string{fmt.Sprintf(nxosBuffer, h.Size, h.Xoff, h.Xon)},
		})
	}
	return out, nil
}

const (
	nxosLLDP     = "feature lldp"
	nxosWatchdog = nxosWatchdogLine + "on"
	nxosJumbo    = "system jumbomtu "
	nxosBuffer   = "pause buffer-size %d pause-threshold %d resume-threshold %d" // bytes

	// What the model of the switch's own API takes.
	nxosBufferMin, nxosBufferMax = 5000, 268435456
)

// nxosQueues lists all eight queues: one that is left out keeps what the
// default policy gives it. Strict queues are the highest ones, next to each other
// (Cisco Nexus 9000 Series NX-OS Quality of Service Configuration Guide, Release
// 10.5(x), Configuring Queuing and Scheduling, guidelines), as queue 7 is in the
// switch's own default-8q-out-policy: what no class claims above one is strict.
func nxosQueues(c Intent, classes []Class) []block {
	policy := nxosQueuing + c.Name + roleOut
	out := []block{{path: []string{policy}}}
	level, lowest := 0, lowestStrict(classes)
	for q := priorities - 1; q >= 0; q-- {
		b := block{path: []string{policy, "class type queuing " + nxosQueue(q)}}
		k := Class{Strict: q > lowest}
		if i := slices.IndexFunc(classes, func(k Class) bool { return k.Priority == q }); i >= 0 {
			k = classes[i]
		}
		if k.Strict {
			level++
			b.lines = append(b.lines, fmt.Sprintf(nxosLevel+"%d", level))
		} else {
			b.lines = append(b.lines, fmt.Sprintf(nxosShare+"%d", k.Bandwidth))
		}
		if e := k.ECN; e != nil {
			b.lines = append(b.lines, fmt.Sprintf("random-detect minimum-threshold %s maximum-threshold %s drop-probability %d weight 0 ecn",
				nxosBytes(e.Min), nxosBytes(e.Max), e.Probability))
		}
		out = append(out, b)
	}
	return out
}

// lowestStrict is the lowest queue that is strict; priorities: none is.
func lowestStrict(classes []Class) int {
	lowest := priorities
	for _, k := range classes {
		if k.Strict {
			lowest = min(lowest, k.Priority)
		}
	}
	return lowest
}

func nxosQueue(q int) string {
	if q == 0 {
		return "c-out-8q-q-default"
	}
	return fmt.Sprintf("c-out-8q-q%d", q)
}

// nxosBytes writes a depth in kbytes where that is exact.
func nxosBytes(n int64) string {
	if n%1000 == 0 {
		return fmt.Sprintf("%d kbytes", n/1000)
	}
	return fmt.Sprintf("%d bytes", n)
}

// nxosLossless writes the network-qos policy. Its MTU is the largest there
// is, so that only the MTU of a port limits its frames.
func nxosLossless(c Intent, classes []Class) []block {
	policy := nxosNetworkQoS + c.Name + roleNQ
	out := []block{{path: []string{policy}}}
	for _, k := range classes {
		if k.PFC {
			out = append(out, block{
				[]string{policy, fmt.Sprintf("class type network-qos c-8q-nq%d", k.Priority)},
				[]string{nxosLargest, fmt.Sprintf("pause pfc-cos %d", k.Priority)},
			})
		}
	}
	return append(out, block{[]string{policy, "class type network-qos c-8q-nq-default"}, []string{nxosLargest}})
}

const nxosLargest = "mtu 9216"

func nxosPort(c Intent, p Port, _ Facts) []block {
	b := block{path: []string{nxosInterface + p.Name}}
	if p.PFC {
		b.lines = append(b.lines, nxosPFC)
	}
	if p.Watchdog {
		b.lines = append(b.lines, nxosWatchdog)
	}
	if p.MTU > 0 {
		b.lines = append(b.lines, fmt.Sprintf("mtu %d", p.MTU))
	}
	if p.Classify {
		b.lines = append(b.lines, nxosAttachIn+c.Name+roleIn)
	}
	if p.Headroom {
		b.lines = append(b.lines, nxosAttachHR+c.Name+roleHR)
	}
	return []block{b}
}

const nxosPFC = "priority-flow-control mode on"

const nxosWatchdogLine = "priority-flow-control watch-dog-interval "

// nxosDrops reports whether a line is a watchdog that drops what stays paused,
// after whatever time.
func nxosDrops(line string) bool {
	return line == nxosWatchdog || strings.HasPrefix(line, nxosWatchdog+" interface-multiplier ") && !strings.Contains(line, " disable-action")
}

// nxosSettle leaves alone a larger MTU, pause that is forced on and a watchdog
// that drops with more words than ours, and what nobody wishes anything of: a
// watchdog that is off or somebody's own, a watchdog of the system, ingress buffers of somebody else, and our own that are of no use any more:
// classes change before ports do, which still attach them.
func nxosSettle(_ *reading, _ int, seen, wish []block) []block {
	wish = nxosLeave(seen, wish)
	for i, w := range wish {
		if !strings.HasPrefix(w.head(), nxosInterface) {
			continue
		}
		s, ok := findBlock(seen, w.path...)
		if !ok {
			continue
		}
		w = w.clone()
		wished := 0
		w.lines = slices.DeleteFunc(w.lines, func(l string) bool {
			if n, ok := strings.CutPrefix(l, "mtu "); ok {
				wished = atoi(n)
				return wished <= nxosMTU(s)
			}
			return false
		})
		buffers := slices.ContainsFunc(w.lines, func(l string) bool { return strings.HasPrefix(l, nxosAttachHR) })
		for _, l := range s.lines {
			if name, ok := strings.CutPrefix(l, nxosAttachHR); ok && !buffers && !strings.HasPrefix(name, objectPrefix) {
				w.lines = append(w.lines, l)
			}
			if n, ok := strings.CutPrefix(l, "mtu "); ok && atoi(n) >= wished {
				w.lines = append(w.lines, l)
			}
			if j := slices.Index(w.lines, nxosPFC); j >= 0 && strings.HasPrefix(l, nxosPFC+" ") {
				w.lines[j] = l
			}
			if strings.HasPrefix(l, nxosWatchdogLine) && l != nxosWatchdog {
				switch j := slices.Index(w.lines, nxosWatchdog); {
				case j < 0: // off, or somebody's own
					w.lines = append(w.lines, l)
				case nxosDrops(l):
					w.lines[j] = l
				}
			}
		}
		wish[i] = w
	}
	return wish
}

// nxosLeave adds to what is wished the blocks that stay without being wished.
func nxosLeave(seen, wish []block) []block {
	var stay []block
	for _, s := range seen {
		outer := s.path[:min(1, len(s.path))]
		if _, wished := findBlock(wish, outer...); !wished && len(outer) > 0 && strings.HasSuffix(outer[0], roleHR) {
			stay = append(stay, s)
		}
	}
	return keepSystem(seen, append(wish, stay...), nxosKey)
}

// nxosMTU is the MTU of a port, 1500 where nothing is said.
func nxosMTU(b block) int {
	for _, l := range b.lines {
		if n, ok := strings.CutPrefix(l, "mtu "); ok {
			return atoi(n)
		}
	}
	return 1500
}
