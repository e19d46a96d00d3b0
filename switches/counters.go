package switches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// What switches count, in the words of no vendor.
const (
	Drops          = "drops"               // packets of a queue that were dropped
	TxPackets      = "tx_packets"          // of a queue
	TxBytes        = "tx_bytes"            // of a queue
	PFCRx          = "pfc_rx"              // pauses of a priority that came in
	PFCTx          = "pfc_tx"              // pauses of a priority that went out
	IngressDrops   = "ingress_drops"       // packets that were dropped on the way in; which class is not said
	WatchdogEvents = "pfc_watchdog.events" // queues that the watchdog has shut
)

// AllPriorities stands where a count is of a port and of no priority.
const AllPriorities = -1

// A Count is what a switch has counted on one of its ports since somebody
// cleared it, or since it came up.
type Count struct {
	Port     string `json:"port"`
	Priority int    `json:"priority"` // 802.1p priority, which is the queue of a class; AllPriorities
	Name     string `json:"name"`
	Value    uint64 `json:"value"`
	Line     string `json:"line"`          // what was typed to see it
	Off      string `json:"off,omitempty"` // why nothing is counted there: Value says nothing
}

// A Gap is what a switch does not tell about a port, and why.
type Gap struct {
	Port string `json:"port"`
	Name string `json:"name"`
	Why  string `json:"why"`
}

// Counted is what a switch has counted. What it holds neither as a count nor as
// a gap was not asked for.
type Counted struct {
	Counts []Count `json:"counts"`
	Gaps   []Gap   `json:"gaps,omitempty"`
}

// Find is the count of a port; ok is false where there is none, and why says
// what kept it from being read, if that is known.
func (c *Counted) Find(port string, priority int, name string) (count Count, ok bool, why string) {
	i := slices.IndexFunc(c.Counts, func(x Count) bool { return x.Port == port && x.Priority == priority && x.Name == name })
	if i >= 0 {
		return c.Counts[i], true, ""
	}
	for _, g := range c.Gaps {
		if g.Port == port && g.Name == name {
			return Count{}, false, g.Why
		}
	}
	return Count{}, false, ""
}

// A CounterLine is one line that shows counters of a port, and how it is read.
type CounterLine struct {
	Format string   // %s is the port
	Names  []string // of what it shows
	Parse  func(text, port string) ([]Count, error)
}

// everyCounter are the names of all that is counted.
func everyCounter() []string {
	return []string{TxPackets, TxBytes, Drops, PFCRx, PFCTx, IngressDrops, WatchdogEvents}
}

// Counters are what the switch has counted on ports. What it refuses to show,
// or shows in a layout that is not known, is a gap and no error.
func (s *Session) Counters(ctx context.Context, ports []string) (*Counted, error) {
	out := &Counted{}
	without := s.os.Lacks(Counting)
	for _, port := range ports {
		if without != nil {
			for _, name := range everyCounter() {
				out.Gaps = append(out.Gaps, Gap{port, name, without.Error()})
			}
		}
		for _, l := range s.os.Counters {
			line := fmt.Sprintf(l.Format, port)
			text, err := s.Show(ctx, []string{line})
			var counts []Count
			switch refused := (*RefusedError)(nil); {
			case errors.As(err, &refused):
			case err != nil:
				return nil, err
			default:
				counts, err = l.Parse(text[line], port)
			}
			for i := range counts {
				counts[i].Line = line
			}
			out.Counts = append(out.Counts, counts...)
			for _, name := range l.Names {
				if !slices.ContainsFunc(counts, func(c Count) bool { return c.Name == name }) {
					out.Gaps = append(out.Gaps, Gap{port, name, gapText(line, name, err)})
				}
			}
		}
	}
	return out, nil
}

func gapText(line, name string, err error) string {
	if err != nil {
		return line + ": " + strings.TrimPrefix(err.Error(), "refused: "+line+": ")
	}
	return fmt.Sprintf("%s shows no %s in a layout that is known", line, name)
}
