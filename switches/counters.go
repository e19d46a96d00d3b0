package switches

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"weft/internal/tally"
)

// A CounterLine is one line that shows counters of a port, and how it is read.
type CounterLine struct {
	Format string   // %s is the port
	Names  []string // of what it shows
	Parse  func(text, port string) ([]tally.Count, error)
}

// everyCounter are the names of all that is counted.
func everyCounter() []string {
	return []string{tally.TxPackets, tally.TxBytes, tally.Drops, tally.PFCRx, tally.PFCTx, tally.IngressDrops, tally.WatchdogEvents}
}

// Counters are what the switch has counted on ports. What it refuses to show,
// or shows in a layout that is not known, is a gap and no error.
func (s *Session) Counters(ctx context.Context, ports []string) (*tally.Ports, error) {
	out := &tally.Ports{}
	without := s.os.Lacks(Counting)
	for _, port := range ports {
		if without != nil {
			for _, name := range everyCounter() {
				out.Gaps = append(out.Gaps, tally.Gap{Port: port, Name: name, Why: without.Error()})
			}
		}
		for _, l := range s.os.Counters {
			line := fmt.Sprintf(l.Format, port)
			text, err := s.show(ctx, []string{line})
			var counts []tally.Count
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
				if !slices.ContainsFunc(counts, func(c tally.Count) bool { return c.Name == name }) {
					out.Gaps = append(out.Gaps, tally.Gap{Port: port, Name: name, Why: gapText(line, name, err)})
				}
			}
		}
	}
	return out, s.confirm(ctx)
}

func gapText(line, name string, err error) string {
	if refused := (*RefusedError)(nil); errors.As(err, &refused) {
		return line + ": " + refused.Reply
	}
	if err != nil {
		return line + ": " + err.Error()
	}
	return fmt.Sprintf("%s shows no %s in a layout that is known", line, name)
}
