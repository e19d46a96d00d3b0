package switches

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"weft/internal/pattern"
	"weft/internal/traffic"
)

// A Discretion is what a record does not tell.
type Discretion struct {
	Secrets []string // that the caller knows; those that [Redact] finds go in any case
	// Anonymous replaces names, addresses and serial numbers, each by the same
	// one wherever it stands, and free texts.
	Anonymous bool
}

// Record shows what weft reads of a switch and writes it as a case of the tests
// of this package: the output of each command, the wish, and the lines that
// weft would send. It changes nothing on the switch.
func (s *Session) Record(ctx context.Context, want Intent, d Discretion) (string, error) {
	if err := s.os.Lacks(Recording); err != nil {
		return "", err
	}
	commands := slices.Clone(s.os.Show)
	if s.os.Neighbours != nil {
		commands = append(commands, s.os.Neighbours.Line)
	}
	out := map[string]string{}
	for _, line := range commands {
		reply, err := s.Show(ctx, []string{line})
		var no *RefusedError
		switch {
		case errors.As(err, &no):
			out[line] = no.Reply + "\n"
		case err != nil:
			return "", err
		default:
			out[line] = reply[line]
		}
	}
	text, err := recorded(s.os, commands, out, want, d)
	if no := s.os.Lacks(Hearing); no != nil && err == nil {
		text = no.Error() + ".\n" + text
	}
	return text, err
}

// recorded writes a case from what a switch answered. Lines are those that the
// redacted answers lead to: the case must hold without its secrets.
func recorded(o *OS, commands []string, out map[string]string, want Intent, discreet Discretion) (string, error) {
	clean := make(map[string]string, len(out))
	for line, text := range out {
		clean[line] = sectionText(Redact(text, discreet.Secrets...))
	}
	without := "without secrets"
	if discreet.Anonymous {
		without += anonymize(o, commands, clean, &want)
	}
	c, err := o.Parse(clean)
	if err != nil {
		return "", fmt.Errorf("read back what is left without secrets: %w", err)
	}
	have := c.For(want)
	var b strings.Builder
	fmt.Fprintf(&b, "A %s %s with %s, as weft recorded it, %s: say here what is special about it.\n\n",
		o.Name, have.Facts.Model, have.Facts.Version, without)
	b.WriteString("-- source --\nRECORDED from a device by weft record: say here whose, and that it may be published\n")
	for _, line := range commands {
		fmt.Fprintf(&b, "-- %s --\n%s", line, clean[line])
	}
	b.WriteString("-- want --\n" + Redact(wishText(want), discreet.Secrets...))
	lines, err := o.render(have.state(), want.state())
	if err != nil {
		return b.String() + "-- lines --\n" + sectionText("error: "+err.Error()), nil
	}
	undo, err := o.render(want.state(), have.state())
	if err != nil {
		return "", fmt.Errorf("undo: %w", err)
	}
	fmt.Fprintf(&b, "-- lines --\n%s-- undo --\n%s", sectionText(strings.Join(lines, "\n")), sectionText(strings.Join(undo, "\n")))
	return b.String(), nil
}

// anonymize replaces in a record what tells whose switch it is, and says what.
func anonymize(o *OS, commands []string, clean map[string]string, want *Intent) string {
	a := newAnonymizer(o.Harmless...)
	*want = a.wish(*want)
	for _, line := range commands {
		a.learn(clean[line])
	}
	for _, line := range commands {
		clean[line] = a.clean(clean[line])
	}
	return " and with others in the place of " + a.said()
}

var sectionMark = pattern.New(`(?m)^-- .* --$`)

// sectionText makes text a section: it ends with a line end, and no line of it
// looks like the beginning of another.
func sectionText(text string) string {
	text = strings.ReplaceAll(text, "\r", "")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return sectionMark.ReplaceAllStringFunc(text, func(l string) string { return " " + l })
}

// wishText writes a wish as the want section of a case.
func wishText(c Intent) string {
	var b strings.Builder
	if c.Name != "" {
		fmt.Fprintln(&b, "name", c.Name)
	}
	if c.Watchdog != "" {
		fmt.Fprintln(&b, "watchdog", c.Watchdog)
	}
	if c.LLDP {
		fmt.Fprintln(&b, "lldp on")
	}
	if c.Tagged {
		fmt.Fprintln(&b, "tagged on")
	}
	if c.Adopt {
		fmt.Fprintln(&b, "adopt on")
	}
	flag := func(on bool, word string) {
		if on {
			b.WriteString(" " + word)
		}
	}
	for _, k := range c.Classes {
		fmt.Fprintf(&b, "class %s", k.Name)
		flag(len(k.DSCP) > 0, "dscp="+traffic.Ranges(k.DSCP))
		fmt.Fprintf(&b, " priority=%d", k.Priority)
		flag(k.Bandwidth > 0, fmt.Sprintf("bandwidth=%d", k.Bandwidth))
		flag(k.Strict, "strict")
		flag(k.PFC, "pfc")
		if e := k.ECN; e != nil {
			fmt.Fprintf(&b, " ecn=%d,%d,%d", e.Min, e.Max, e.Probability)
		}
		if h := k.Headroom; h != nil {
			fmt.Fprintf(&b, " headroom=%d,%d,%d", h.Size, h.Xoff, h.Xon)
		}
		b.WriteByte('\n')
	}
	for _, p := range c.Ports {
		fmt.Fprintf(&b, "port %s", p.Name)
		flag(p.MTU > 0, fmt.Sprintf("mtu=%d", p.MTU))
		flag(p.PFC, "pfc")
		flag(p.Classify, "classify")
		flag(p.ByTag, fmt.Sprintf("tag=%d", p.VLAN))
		flag(p.Queue, "queue")
		flag(p.Watchdog, "watchdog")
		flag(p.Headroom, "headroom")
		b.WriteByte('\n')
	}
	return b.String()
}
