package switches

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/pattern"
	"weft/internal/slice"
)

// anyPort stands for a port, or a name on the file system, in a line of a role.
const anyPort = "*"

var onOpen = pattern.New(`(?m)^\s+command: '([^']+)'`)

// Typed are all lines that weft types to read a switch, as this value has them: at each
// login, for plans, facts, counters and health, and for the marks of runs.
func (o *OS) Typed() []string {
	list := slice.Map(onOpen.FindAllStringSubmatch(string(o.Dialect.Platform), -1), func(m []string) string { return m[1] })
	list = append(list, o.Show...)
	for _, c := range o.Counters {
		list = append(list, fmt.Sprintf(c.Format, anyPort))
	}
	if o.Neighbours != nil {
		list = append(list, o.Neighbours.Line)
	}
	if o.Table != nil {
		list = append(list, o.Table.Line)
	}
	if o.Operates != nil {
		list = append(list, o.Operates.Line)
	}
	for _, c := range o.Conditions {
		list = append(list, c.Line)
	}
	if o.Files != nil {
		list = append(list, o.Files.List, strings.ReplaceAll(o.Files.Print, "%s", anyPort), o.Files.Clock)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// A Role is how an OS restricts a login to lines that only read.
type Role struct {
	Head   string // opens the role; %s is its name
	Rule   string // %d is its number, %s the line
	Tail   []string
	Login  string // gives it to a user; %s is the role
	Change string // the role that changes take
	Source string
}

// Reading are the lines that make a role which reads and does no more; nil: how roles
// are written there is not known.
func (o *OS) Reading(name string) []string {
	if o.Role == nil {
		return nil
	}
	out := []string{fmt.Sprintf(o.Role.Head, name)}
	for i, line := range o.Typed() {
		out = append(out, "  "+fmt.Sprintf(o.Role.Rule, i+1, line))
	}
	return append(append(out, o.Role.Tail...), fmt.Sprintf(o.Role.Login, name))
}
