package comware

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/tally"
	"weft/internal/traffic"
)

var (
	queueLine = pattern.New(`^Queue ([0-7])$`)
	counted   = pattern.New(`^(Forwarded|Dropped): (\d+) packets, (\d+) bytes$`)
)

// queueCounts reads what left a port, queue by queue:
//
//	Queue 3
//	 Forwarded: 120 packets, 480000 bytes
//	 Dropped: 0 packets, 0 bytes
func queueCounts(text, port string) ([]tally.Count, error) {
	head, _, _ := strings.Cut(text, "\n")
	if !strings.EqualFold(strings.TrimSpace(head), "Interface: "+port) {
		return nil, errors.New("the answer is not about " + port)
	}
	var out []tally.Count
	queue := tally.AllPriorities
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := queueLine.FindStringSubmatch(line); m != nil {
			queue, _ = strconv.Atoi(m[1]) // one digit
			continue
		}
		m := counted.FindStringSubmatch(line)
		if m == nil || queue < 0 {
			continue
		}
		packets, err := strconv.ParseUint(m[2], 10, 64)
		if err != nil {
			return nil, err
		}
		bytes, err := strconv.ParseUint(m[3], 10, 64)
		if err != nil {
			return nil, err
		}
		if m[1] == "Dropped" {
			out = append(out, tally.Count{Port: port, Priority: queue, Name: tally.Drops, Value: packets})
			continue
		}
		out = append(out, tally.Count{Port: port, Priority: queue, Name: tally.TxPackets, Value: packets}, tally.Count{Port: port, Priority: queue, Name: tally.TxBytes, Value: bytes})
	}
	return out, nil
}

// pfcCounts reads the pauses of a port from a table whose list of
// priorities may be empty: columns are found by their headings, which stand
// above the left edge of what is in them.
//
//	Interface   AdminMode  OperMode  Dot1pList   Prio  Recv  Send  Inpps  Outpps
//	HGE1/0/1    Enabled    Enabled   3           3     18    0     0      0
func pfcCounts(text, port string) ([]tally.Count, error) {
	var out []tally.Count
	var at []int
	for line := range strings.Lines(unwrapped(text)) {
		line = strings.TrimRight(line, " \r\n")
		if strings.HasPrefix(line, "Interface ") {
			if slices.Equal(strings.Fields(line), []string{"Interface", "AdminMode", "OperMode", "Dot1pList", "Prio", "Recv", "Send", "Inpps", "Outpps"}) {
				for _, word := range []string{"Prio", "Recv", "Send", "Inpps"} {
					at = append(at, strings.Index(line, word))
				}
			}
			continue
		}
		if at == nil || len(line) <= at[3] {
			continue
		}
		var n [3]uint64
		var err error
		for i := range n {
			var e error
			if line[at[i]-1] != ' ' { // a column that moved
				e = strconv.ErrSyntax
			} else {
				n[i], e = strconv.ParseUint(strings.TrimRight(line[at[i]:at[i+1]], " "), 10, 64)
			}
			err = errors.Join(err, e)
		}
		if err != nil || n[0] > traffic.MaxPriority {
			continue // a rule, or another layout
		}
		priority := int(n[0])
		out = append(out, tally.Count{Port: port, Priority: priority, Name: tally.PFCRx, Value: n[1]}, tally.Count{Port: port, Priority: priority, Name: tally.PFCTx, Value: n[2]})
	}
	return out, nil
}

// wrap is where Comware breaks the rows of a wide table, in columns.
const wrap = 80

// unwrapped joins the rows of a PFC table that are broken in two, also with empty lines
// between, as the H3C PFC command reference of the S9825 and S9855 prints them. Another text
// stays as it is.
func unwrapped(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, " \r\n"); line != "" {
			lines = append(lines, line)
		}
	}
	head := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "Interface ") && strings.HasSuffix(l, " Recv") })
	if head < 0 || head+1 == len(lines) || !slices.Equal(strings.Fields(lines[head+1]), []string{"Send", "Inpps", "Outpps"}) {
		return text
	}
	out := slices.Clone(lines[:head])
	for rest := lines[head:]; len(rest) > 0; {
		row := rest[0]
		rest = rest[1:]
		if len(rest) > 0 && len(row) <= wrap && (strings.HasPrefix(rest[0], " ") || strings.Trim(rest[0], "-") == "") {
			row += strings.Repeat(" ", wrap-len(row)) + rest[0]
			rest = rest[1:]
		}
		out = append(out, row)
	}
	return strings.Join(out, "\n") + "\n"
}

// deadlockCounts reads from the configuration of a port whether it
// looks for deadlocks at all. How often it has found one, no documented display
// says.
func deadlockCounts(text, port string) ([]tally.Count, error) {
	found, detects := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		found = found || strings.EqualFold(line, "interface "+port)
		detects = detects || strings.HasPrefix(line, "priority-flow-control deadlock")
	}
	switch {
	case !found:
		return nil, errors.New("the answer is not about " + port)
	case detects:
		return nil, errors.New("PFC deadlock detection is on there, and no display that is documented counts what it finds")
	}
	return []tally.Count{{Port: port, Priority: tally.AllPriorities, Name: tally.WatchdogEvents, Off: "no PFC deadlock detection is on there"}}, nil
}
