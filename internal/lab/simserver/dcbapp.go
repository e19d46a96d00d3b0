//go:build unix

package simserver

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// showApp is dcb app show dev NAME. A card as of mlx5 has no entries but those
// of DSCPs.
func (c *dcbCall) showApp(i *iface) int {
	var shown struct {
		DSCP [][2]int `json:"dscp_prio,omitempty"`
	}
	text := ""
	for _, dscp := range slices.Sorted(maps.Keys(i.dscp)) {
		shown.DSCP = append(shown.DSCP, [2]int{dscp, i.dscp[dscp]})
		name := strconv.Itoa(dscp)
		if !c.numeric {
			name = dscpName(dscp)
		}
		text += fmt.Sprintf("%s:%d ", name, i.dscp[dscp])
	}
	if text != "" {
		text = "dscp-prio " + text + "\n"
	}
	return c.print(shown, text)
}

// dscpName is the name of a code point; its number where it has none.
func dscpName(dscp int) string {
	class, drop := dscp/8, dscp%8/2
	switch {
	case dscp == 46:
		return "EF"
	case dscp > 0 && dscp%8 == 0:
		return fmt.Sprintf("CS%d", class)
	case class >= 1 && class <= 4 && drop > 0 && dscp%2 == 0:
		return fmt.Sprintf("AF%d%d", class, drop)
	}
	return strconv.Itoa(dscp)
}

// setApp is dcb app { add | del | replace } dev NAME dscp-prio DSCP:PRIO…
func (c *dcbCall) setApp(verb, name string, args []string) int {
	i, ok := c.server.iface(name)
	no := i.noDCB(ok)
	if verb == "replace" && no != "" {
		return c.fail(1, "Attribute read: %s", no)
	}
	if len(args) < 2 || args[0] != "dscp-prio" {
		return c.notSimulated(1)
	}
	var entries [][2]int
	for _, w := range args[1:] {
		dscp, prio, ok := entry(w)
		switch {
		case !ok:
			return c.notSimulated(1)
		case dscp > 63:
			return c.fail(1, "In DSCP:PRIO mapping, DSCP is expected to be 0..63\nInvalid mapping %d", dscp)
		case prio > 7:
			return c.fail(1, "In DSCP:PRIO mapping, PRIO is expected to be 0..7\nInvalid mapping %d", dscp)
		}
		entries = append(entries, [2]int{dscp, prio})
	}
	if !c.user.root {
		no = "Operation not permitted"
	}
	if no == "" {
		c.server.setIface(name, func(i *iface) { no = i.changeApp(verb, entries) })
	}
	if no == "" {
		return 0
	}
	fmt.Fprintf(c.stderr, "Attribute write: %s\n", no)
	if verb == "replace" {
		fmt.Fprintln(c.stderr, "Could not remove replaced APP entries")
		return 0 // whatever became of it
	}
	return 1
}

func entry(w string) (dscp, prio int, ok bool) {
	key, value, ok := strings.Cut(w, ":")
	d, derr := strconv.ParseUint(key, 0, 31)
	p, perr := strconv.ParseUint(value, 0, 8)
	return int(d), int(p), ok && derr == nil && perr == nil
}

// changeApp is what the driver does with entries, one after the other. It
// keeps one priority for a DSCP, so that an entry takes the place of the one
// before: the entry that replace then wants to delete is gone.
func (i *iface) changeApp(verb string, entries [][2]int) string {
	const gone = "No such file or directory"
	answer := ""
	for _, e := range entries {
		prio, there := i.dscp[e[0]]
		if verb == "del" {
			if !there || prio != e[1] {
				return gone
			}
			delete(i.dscp, e[0])
			continue
		}
		if verb == "replace" && there && prio != e[1] {
			answer = gone
		}
		if i.dscp == nil {
			i.dscp = map[int]int{}
		}
		i.dscp[e[0]] = e[1]
	}
	return answer
}
