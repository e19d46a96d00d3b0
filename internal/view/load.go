package view

import (
	"fmt"
	"io"
	"strings"

	"weft/internal/prove"
	"weft/internal/slice"
	"weft/internal/text"
)

// LoadWords say what a load does: 70/30 randrw of 4 KiB, 4 × 16 under way.
func LoadWords(l *prove.Load) string {
	text := l.Pattern
	if l.ReadShare > 0 {
		text = fmt.Sprintf("%s %d/%d", l.Pattern, l.ReadShare, 100-l.ReadShare)
	}
	text += fmt.Sprintf(" of %s, %d × %d under way", Size(l.Size), l.Queues, l.Depth)
	if l.Rate > 0 {
		text += fmt.Sprintf(", %.0f a second", l.Rate)
	}
	return text + " for " + l.Runtime.String()
}

// loads shows what loads of validations have done: a line for each pair and kind of command.
func loads(w io.Writer, s Style, list []*prove.Load) {
	what := ""
	for _, l := range list {
		if now := l.Validation + ": " + LoadWords(l); now != what {
			if what != "" {
				fmt.Fprintln(w)
			}
			what = now
			fmt.Fprintln(w, s.dress(bold, what))
			fmt.Fprintln(w, s.dress(faint, fmt.Sprintf("  %s %s %s %s %s %s %s %s",
				text.Pad("initiator", 20), text.Pad("target", 22), text.Pad("plane", 5), text.Pad("over", 9), text.Pad("", 6),
				quantileTitles(), text.PadLeft("IOPS", 8), text.PadLeft("Gbit/s", 8))))
		}
		head := fmt.Sprintf("  %s %s %s %s", text.Pad(short(l.Initiator), 20), text.Pad(short(l.Target), 22), text.Pad(l.Plane, 5), text.Pad(strings.TrimSpace(l.Over()+" "+l.Mode), 9))
		if l.Why != "" {
			fmt.Fprintf(w, "%s %s\n", head, s.dress(map[bool]string{true: faint, false: red}[l.Untried], string(prove.NotMeasured)+": "+l.Why))
			continue
		}
		for _, k := range LoadKinds(l) {
			fmt.Fprintf(w, "%s %s %s %s\n", head, text.Pad(k.Name, 6), quantiles(k.Quantiles), k.whole())
		}
		for _, note := range LoadNotes(l) {
			fmt.Fprintln(w, "      "+note)
		}
	}
	if len(list) > 0 {
		fmt.Fprintln(w)
	}
}

// LoadNotes say what figures do not: what is missing, and what was read back.
func LoadNotes(l *prove.Load) (out []string) {
	out = slice.Map(l.Missing, l.None)
	if l.Checked > 0 {
		out = append(out, fmt.Sprintf("%d blocks of %s were read back and compared, %d of them bad", l.Checked, l.Scratch, l.Bad))
	}
	return out
}

// A LoadKind is what a load has of one kind of command.
type LoadKind struct {
	Name string // read, write or flush
	prove.Operations
	IOPS, Gbit float64 // of reads and writes together, with the first of them; 0 elsewhere
}

func (k LoadKind) whole() string {
	if k.IOPS == 0 {
		return ""
	}
	return text.PadLeft(number(k.IOPS), 8) + " " + text.PadLeft(number(k.Gbit), 8)
}

// LoadKinds are the kinds of commands that a load has done.
func LoadKinds(l *prove.Load) (out []LoadKind) {
	for _, k := range []LoadKind{{Name: "read", Operations: l.Reads}, {Name: "write", Operations: l.Writes}, {Name: "flush", Operations: l.Flushes}} {
		if k.Done == 0 {
			continue
		}
		if len(out) == 0 {
			k.IOPS, k.Gbit = l.IOPS, l.BitsPerSec/1e9
		}
		out = append(out, k)
	}
	return out
}
