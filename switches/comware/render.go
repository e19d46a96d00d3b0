package comware

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/traffic"
	"weft/switches"
)

func lineRules() switches.Lines {
	return switches.Lines{
		Attaches: []string{apply},
		Objects:  []string{"traffic classifier", "traffic behavior", "qos policy", "qos wred queue table"},
		PerPort:  true,
		Under: func(c switches.Reading, name string) switches.Reading {
			c.Name = name
			return c
		},

		Grammar: grammar(), Words: vocabulary,
		Global: renderGlobal,
		Port:   renderPort,
		Takes:  takes,
		Settle: settle,
		Unowned: func(line string) bool {
			return strings.HasPrefix(line, "jumboframe ") || line == short || strings.HasPrefix(line, "import ")
		},
	}
}

// renderGlobal writes the maps that lead a DSCP to the queue of its class,
// and the WRED table. Every DSCP that no class names is other traffic, which
// this OS would spread over all queues.
func renderGlobal(c switches.Intent, f switches.Facts) ([]switches.Block, error) {
	if len(c.Classes) == 0 {
		return nil, nil
	}
	dscp := switches.Block{Path: []string{mapDSCP}}
	for d := range 64 {
		dscp.Lines = append(dscp.Lines, fmt.Sprintf("import %d export %d", d, priorityOf(c.Classes, d)))
	}
	dot1p := switches.Block{Path: []string{mapDot1p}}
	for p := range traffic.Priorities {
		dot1p.Lines = append(dot1p.Lines, fmt.Sprintf("import %d export %d", p, p))
	}
	var out []switches.Block
	if c.LLDP {
		out = append(out, switches.Block{Lines: []string{lldp}})
	}
	out = append(out, dscp, dot1p)
	table := switches.Block{Path: []string{wredTable + c.Name}}
	for _, k := range slices.SortedStableFunc(slices.Values(c.Classes), switches.ByPriority) {
		if !k.Strict && k.Bandwidth == 0 {
			return nil, fmt.Errorf("class %s: needs bandwidth or strict, because this switch gives every queue a share", k.Name)
		}
		if k.ECN == nil {
			continue
		}
		lines, err := red(k, f)
		if err != nil {
			return nil, err
		}
		table.Lines = append(table.Lines, lines...)
	}
	return append(out, table), nil // without lines: see settle
}

func priorityOf(classes []switches.Class, dscp int) int {
	for _, k := range classes {
		if slices.Contains(k.DSCP, dscp) {
			return k.Priority
		}
	}
	return 0
}

// red converts a curve into the unit of the model.
func red(k switches.Class, f switches.Facts) (out []string, err error) {
	if f.CellBytes == 0 {
		return nil, fmt.Errorf("class %s: in which unit model %q counts WRED limits is not known, so ecn cannot be set there", k.Name, f.Model)
	}
	unit := int64(f.CellBytes)
	lo, hi := k.ECN.Min/unit, k.ECN.Max/unit
	if lo == 0 {
		return nil, fmt.Errorf("class %s: ecn min of %d bytes is less than a cell of %d bytes", k.Name, k.ECN.Min, unit)
	}
	if hi == lo {
		return nil, fmt.Errorf("class %s: ecn min of %d and max of %d bytes are the same number of cells of %d bytes, and this switch wants the upper limit above the lower one", k.Name, k.ECN.Min, k.ECN.Max, unit)
	}
	for level := range 3 {
		out = append(out, fmt.Sprintf("queue %d drop-level %d low-limit %d high-limit %d discard-probability %d",
			k.Priority, level, lo, hi, k.ECN.Probability))
	}
	return append(out,
		fmt.Sprintf("queue %d weighting-constant 0", k.Priority), // the depth of now, as on NX-OS
		fmt.Sprintf("queue %d ecn", k.Priority)), nil
}

// renderPort writes what one port does: everything but the maps is per port.
func renderPort(c switches.Intent, p switches.Port, _ switches.Facts) []switches.Block {
	b := switches.Block{Path: []string{iface + p.Name}}
	add := func(line string) { b.Lines = append(b.Lines, line) }
	if p.MTU > 0 {
		add(fmt.Sprint(jumbo, p.MTU))
	}
	if p.PFC {
		add(pfc)
		if ps := switches.Lossless(c.Classes); len(ps) > 0 {
			add(noDrop + traffic.Ranges(ps))
		}
	}
	switch {
	case p.Classify && p.ByTag:
		add(tags)
	case p.Classify:
		add(trust)
	}
	if p.Queue {
		add(wfq)
		marks := false
		for _, k := range slices.SortedStableFunc(slices.Values(c.Classes), switches.ByPriority) {
			marks = marks || k.ECN != nil
			switch {
			case k.Strict:
				add(fmt.Sprintf("qos wfq %s group sp", queueName(k.Priority)))
			case k.Bandwidth > 1:
				add(fmt.Sprintf("qos wfq %s group 1 byte-count %d", queueName(k.Priority), k.Bandwidth))
			}
		}
		if !slices.ContainsFunc(c.Classes, func(k switches.Class) bool { return k.Priority == ownQueue }) {
			add(fmt.Sprintf("qos wfq %s group sp", queueName(ownQueue)))
		}
		if marks {
			add(apply + c.Name)
		}
	}
	return []switches.Block{b}
}

// ownQueue is the queue of the switch's own protocol packets. By default it
// has the weight 1, beside classes with 50: a full port would starve what keeps
// it up. H3C's templates for lossless networks make it strict, and so does weft
// where no class claims it.
const ownQueue = 7

// settle leaves out what is in force without a line: map entries by
// default, and a frame length that is enough. Maps that nobody wishes anything
// of stay as they are. So does a WRED table that is of no use any more: classes
// change before ports do, and the switch refuses to remove a table that a port
// still applies. A table that nobody applies does nothing.
func settle(r *switches.Text, frame int, seen, wish []switches.Block) []switches.Block {
	out := make([]switches.Block, 0, len(wish))
	for _, w := range wish {
		s, there := switches.FindBlock(seen, w.Path...)
		if strings.HasPrefix(w.Head(), wredTable) && len(w.Lines) == 0 {
			if there {
				out = append(out, s)
			}
			continue
		}
		if table, isMap := extraOf(r).maps[w.Head()]; isMap {
			w = settleMap(table, s, w)
		} else {
			w = settleFrame(frame, s, w)
		}
		out = append(out, w)
	}
	for _, s := range seen {
		if _, wished := switches.FindBlock(wish, s.Path...); !wished && extraOf(r).maps[s.Head()] != nil {
			out = append(out, s)
		}
	}
	return out
}

func settleMap(table map[int]int, seen, wish switches.Block) switches.Block {
	wish = wish.Clone()
	wish.Lines = slices.DeleteFunc(wish.Lines, func(l string) bool {
		var from, to int
		if n, _ := fmt.Sscanf(l, "import %d export %d", &from, &to); n != 2 {
			return false
		}
		now, known := table[from]
		return known && now == to && !slices.Contains(seen.Lines, l)
	})
	return wish
}

func settleFrame(frame int, seen, wish switches.Block) switches.Block {
	is := func(l string) bool { return keyOf(l) == strings.TrimSpace(jumbo) }
	wished := 0
	if i := slices.IndexFunc(wish.Lines, is); i >= 0 {
		wished = switches.Number(strings.TrimPrefix(wish.Lines[i], jumbo))
	}
	now := ""
	if i := slices.IndexFunc(seen.Lines, is); i >= 0 {
		now = seen.Lines[i]
		frame = max(frame, switches.Number(strings.TrimPrefix(now, jumbo)))
	}
	if wished > frame {
		return wish
	}
	wish = wish.Clone()
	wish.Lines = slices.DeleteFunc(wish.Lines, is)
	if now != "" {
		wish.Lines = append(wish.Lines, now)
	}
	return wish
}
