package nxos

import (
	"errors"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/tally"
	"weft/internal/traffic"
)

// queueCounts reads show queuing interface: one box for each QoS group,
//
//	|                              QOS GROUP 3                          |
//	|                |  Unicast       | OOBFC Unicast  |  Multicast     |
//	|        Tx Pkts |              12|              22|              34|
//	| WRED/AFD & Tail Drop Pkts |               0|               0|
//
// then what came in, and pauses by priority. Older boards call the drops
// Dropped Pkts and put two of these into one line.
func queueCounts(text, port string) ([]tally.Count, error) {
	if !strings.Contains(strings.ToLower(text), "queuing for "+strings.ToLower(port)) {
		return nil, errors.New("the answer is not about " + port)
	}
	var out []tally.Count
	var box map[string]uint64 // of the group that is being read
	group, ingress, pauses := tally.AllPriorities, false, false
	end := func() {
		if group >= 0 {
			out = append(out, boxCounts(port, group, box)...)
		}
		group = tally.AllPriorities
	}
	var dropped uint64
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch m := qosGroup.FindStringSubmatch(line); {
		case m != nil:
			end()
			group, _ = strconv.Atoi(m[1]) // one digit
			box = map[string]uint64{}
		case strings.HasPrefix(line, "Ingress Queuing for "), strings.HasPrefix(line, "Port Egress Statistics"):
			end()
		case strings.HasSuffix(line, "Port Ingress Statistics"):
			end()
			ingress = true
		case strings.HasPrefix(line, "Per Slice"), line == "PFC Statistics":
			end()
			pauses = line == "PFC Statistics"
			if ingress {
				out = append(out, tally.Count{Port: port, Priority: tally.AllPriorities, Name: tally.IngressDrops, Value: dropped})
			}
			ingress = false
		case group >= 0:
			cells(line, box)
		case ingress:
			if m := ingressDrops.FindStringSubmatch(line); m != nil {
				n, err := strconv.ParseUint(m[1], 10, 64)
				if err != nil {
					return nil, err
				}
				dropped += n
			}
		case pauses:
			out = append(out, parsePauses(port, line)...)
		}
	}
	end()
	return out, nil
}

var (
	qosGroup     = pattern.New(`^\|\s*QOS GROUP ([0-7])\s*\|$`)
	ingressDrops = pattern.New(`Drop Pkts\s+(\d+)$`)
)

// cells adds the numbers of a row of a box to what they are of.
func cells(line string, box map[string]uint64) {
	label := ""
	for cell := range strings.SplitSeq(strings.Trim(line, "|"), "|") {
		cell = strings.TrimSpace(cell)
		n, err := strconv.ParseUint(cell, 10, 64)
		switch {
		case err != nil:
			label = cell
		case label != "":
			box[label] += n
		}
	}
}

// boxCounts is what a box says. Drops stand in several rows that overlap: the
// largest counts.
func boxCounts(port string, group int, box map[string]uint64) []tally.Count {
	var out []tally.Count
	drops, seen := uint64(0), false
	for label, n := range box {
		switch {
		case strings.HasSuffix(label, "Drop Pkts"), label == "Dropped Pkts":
			drops, seen = max(drops, n), true
		case label == "Tx Pkts":
			out = append(out, tally.Count{Port: port, Priority: group, Name: tally.TxPackets, Value: n})
		case label == "Tx Byts":
			out = append(out, tally.Count{Port: port, Priority: group, Name: tally.TxBytes, Value: n})
		}
	}
	if seen {
		out = append(out, tally.Count{Port: port, Priority: group, Name: tally.Drops, Value: drops})
	}
	return out
}

// parsePauses reads a row of PFC Statistics: the priority stands first, what was
// sent and received behind the words that say whether it is paused now.
//
//	3         3  Inactive                 150  Inactive                   0
func parsePauses(port, line string) []tally.Count {
	var numbers []uint64
	var states int
	words := strings.Fields(line)
	for _, w := range words {
		switch n, err := strconv.ParseUint(w, 10, 64); {
		case w == "Active" || w == "Inactive":
			states++
		case err == nil && states > 0:
			numbers = append(numbers, n)
		}
	}
	if states != 2 || len(numbers) != 2 {
		return nil
	}
	priority, err := strconv.Atoi(words[0])
	if err != nil || priority < 0 || priority > traffic.MaxPriority {
		return nil
	}
	return []tally.Count{{Port: port, Priority: priority, Name: tally.PFCTx, Value: numbers[0]}, {Port: port, Priority: priority, Name: tally.PFCRx, Value: numbers[1]}}
}

var (
	dog   = pattern.New(`^(\S+) Interface PFC watchdog: \[(\w+)\]$`)
	shut  = pattern.New(`^\|\s*Shutdown\|\s*(\d+)\|$`)
	boxed = pattern.New(`^\| QOS GROUP [0-7] \[`)
)

// watchdogCounts adds up how often the watchdog of a port has shut one of
// its queues. A port without one counts nothing.
func watchdogCounts(text, port string) ([]tally.Count, error) {
	var sum uint64
	state, groups, rows := "", 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if m := dog.FindStringSubmatch(line); m != nil {
			if !strings.EqualFold(m[1], port) || state != "" {
				return nil, errors.New("the answer is not about " + port + " alone")
			}
			state = m[2]
		}
		if boxed.MatchString(line) {
			groups++
		}
		if m := shut.FindStringSubmatch(line); m != nil {
			n, err := strconv.ParseUint(m[1], 10, 64)
			if err != nil {
				return nil, err
			}
			sum += n
			rows++
		}
	}
	count := tally.Count{Port: port, Priority: tally.AllPriorities, Name: tally.WatchdogEvents, Value: sum}
	switch {
	case state == "Disabled" && groups == 0:
		count.Off = "no PFC watchdog is on there"
	case state != "Enabled" || groups == 0 || groups != rows:
		return nil, nil // not a layout that is known
	}
	return []tally.Count{count}, nil
}
