package switches

import (
	"fmt"
	"slices"
	"strings"
)

func comwareLines() writing {
	return writing{
		attaches: []string{comwareApply},
		objects:  []string{"traffic classifier", "traffic behavior", "qos policy", "qos wred queue table"},
		perPort:  true,
		under: func(c Reading, name string) Reading {
			c.Name = name
			return c
		},

		grammar: comwareGrammar(),
		global:  comwareGlobal,
		port:    comwarePort,
		settle:  comwareSettle,
		unowned: func(line string) bool {
			return strings.HasPrefix(line, "jumboframe ") || line == comwareShort || strings.HasPrefix(line, "import ")
		},
	}
}

// comwareGlobal writes the maps that lead a DSCP to the queue of its class,
// and the WRED table. Every DSCP that no class names is other traffic, which
// this OS would spread over all queues.
func comwareGlobal(c Intent, f Facts) ([]block, error) {
	if len(c.Classes) == 0 {
		return nil, nil
	}
	dscp := block{path: []string{comwareMapDSCP}}
	for d := range 64 {
		dscp.lines = append(dscp.lines, fmt.Sprintf("import %d export %d", d, priorityOf(c.Classes, d)))
	}
	dot1p := block{path: []string{comwareMapDot1p}}
	for p := range priorities {
		dot1p.lines = append(dot1p.lines, fmt.Sprintf("import %d export %d", p, p))
	}
	var out []block
	if c.LLDP {
		out = append(out, block{lines: []string{comwareLLDP}})
	}
	out = append(out, dscp, dot1p)
	table := block{path: []string{comwareTable + c.Name}}
	for _, k := range slices.SortedStableFunc(slices.Values(c.Classes), byPriority) {
		if !k.Strict && k.Bandwidth == 0 {
			return nil, fmt.Errorf("class %s: needs bandwidth or strict, because this switch gives every queue a share", k.Name)
		}
		if k.ECN == nil {
			continue
		}
		lines, err := comwareRED(k, f)
		if err != nil {
			return nil, err
		}
		table.lines = append(table.lines, lines...)
	}
	return append(out, table), nil // without lines: see comwareSettle
}

func priorityOf(classes []Class, dscp int) int {
	for _, k := range classes {
		if slices.Contains(k.DSCP, dscp) {
			return k.Priority
		}
	}
	return 0
}

// comwareRED converts a curve into the unit of the model.
func comwareRED(k Class, f Facts) (out []string, err error) {
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

// comwarePort writes what one port does: everything but the maps is per port.
func comwarePort(c Intent, p Port, _ Facts) []block {
	b := block{path: []string{comwareIface + p.Name}}
	add := func(line string) { b.lines = append(b.lines, line) }
	if p.MTU > 0 {
		add(fmt.Sprint(comwareJumbo, p.MTU))
	}
	if p.PFC {
		add(comwarePFC)
		if ps := lossless(c.Classes); len(ps) > 0 {
			add(comwareNoDrop + ranges(ps))
		}
	}
	if p.Classify {
		add(comwareTrust)
	}
	if p.Queue {
		add(comwareWFQ)
		marks := false
		for _, k := range slices.SortedStableFunc(slices.Values(c.Classes), byPriority) {
			marks = marks || k.ECN != nil
			switch {
			case k.Strict:
				add(fmt.Sprintf("qos wfq %s group sp", comwareQueue(k.Priority)))
			case k.Bandwidth > 1:
				add(fmt.Sprintf("qos wfq %s group 1 byte-count %d", comwareQueue(k.Priority), k.Bandwidth))
			}
		}
		if !slices.ContainsFunc(c.Classes, func(k Class) bool { return k.Priority == comwareOwn }) {
			add(fmt.Sprintf("qos wfq %s group sp", comwareQueue(comwareOwn)))
		}
		if marks {
			add(comwareApply + c.Name)
		}
	}
	return []block{b}
}

// comwareOwn is the queue of the switch's own protocol packets. By default it
// has the weight 1, beside classes with 50: a full port would starve what keeps
// it up. H3C's templates for lossless networks make it strict, and so does weft
// where no class claims it.
const comwareOwn = 7

// comwareSettle leaves out what is in force without a line: map entries by
// default, and a frame length that is enough. Maps that nobody wishes anything
// of stay as they are. So does a WRED table that is of no use any more: classes
// change before ports do, and the switch refuses to remove a table that a port
// still applies. A table that nobody applies does nothing.
func comwareSettle(r *reading, frame int, seen, wish []block) []block {
	out := make([]block, 0, len(wish))
	for _, w := range wish {
		s, there := findBlock(seen, w.path...)
		if strings.HasPrefix(w.head(), comwareTable) && len(w.lines) == 0 {
			if there {
				out = append(out, s)
			}
			continue
		}
		if table, isMap := comwareOf(r).maps[w.head()]; isMap {
			w = settleMap(table, s, w)
		} else {
			w = settleFrame(frame, s, w)
		}
		out = append(out, w)
	}
	for _, s := range seen {
		if _, wished := findBlock(wish, s.path...); !wished && comwareOf(r).maps[s.head()] != nil {
			out = append(out, s)
		}
	}
	return keepSystem(seen, out, comwareKey)
}

func settleMap(table map[int]int, seen, wish block) block {
	wish = wish.clone()
	wish.lines = slices.DeleteFunc(wish.lines, func(l string) bool {
		var from, to int
		if n, _ := fmt.Sscanf(l, "import %d export %d", &from, &to); n != 2 {
			return false
		}
		now, known := table[from]
		return known && now == to && !slices.Contains(seen.lines, l)
	})
	return wish
}

func settleFrame(frame int, seen, wish block) block {
	is := func(l string) bool { return comwareKey(l) == strings.TrimSpace(comwareJumbo) }
	wished := 0
	if i := slices.IndexFunc(wish.lines, is); i >= 0 {
		wished = atoi(strings.TrimPrefix(wish.lines[i], comwareJumbo))
	}
	now := ""
	if i := slices.IndexFunc(seen.lines, is); i >= 0 {
		now = seen.lines[i]
		frame = max(frame, atoi(strings.TrimPrefix(now, comwareJumbo)))
	}
	if wished > frame {
		return wish
	}
	wish = wish.clone()
	wish.lines = slices.DeleteFunc(wish.lines, is)
	if now != "" {
		wish.lines = append(wish.lines, now)
	}
	return wish
}
