//go:build unix

package simserver

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// dcb is a part of iproute2's dcb, as of iproute2 6.1, on a card as of mlx5:
// priority flow control, transmission selection, the DSCP map, receive buffers
// and who owns DCBX.
func dcb(x *call) int {
	c := &dcbCall{call: x}
	args := x.args
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-j", "--json":
			c.json = true
		case "-s", "--statistics":
			c.statistics = true
		case "-N", "--Numeric":
			c.numeric = true
		default:
			return x.notSimulated(1)
		}
		args = args[1:]
	}
	if len(args) < 2 {
		return x.notSimulated(1)
	}
	object, verb, args := args[0], args[1], args[2:]
	if len(args) < 2 || args[0] != "dev" {
		return x.notSimulated(1)
	}
	name, args := args[1], args[2:]
	switch {
	case verb == "show" && len(args) == 0:
		return c.show(object, name)
	case object == "dcbx" && verb == "set":
		return c.setDCBX(name, args)
	case object == "pfc" && verb == "set":
		return c.setPFC(name, args)
	case object == "ets" && verb == "set":
		return c.setETS(name, args)
	case object == "buffer" && verb == "set":
		return c.setBuffer(name, args)
	case object == "app" && (verb == "add" || verb == "del" || verb == "replace"):
		return c.setApp(verb, name, args)
	}
	return x.notSimulated(1)
}

type dcbCall struct {
	*call
	json, statistics, numeric bool
}

func (c *dcbCall) show(object, name string) int {
	i, ok := c.server.iface(name)
	if why := i.noDCB(ok); why != "" {
		if c.json {
			fmt.Fprintln(c.stdout)
		}
		return c.fail(1, "Attribute read: %s", why)
	}
	switch object {
	case "pfc":
		return c.showPFC(&i)
	case "ets":
		return c.print(i.ets, i.ets.text())
	case "app":
		return c.showApp(&i)
	case "buffer":
		return c.print(i.buffers.shown(), i.buffers.text())
	case "dcbx":
		return c.print(dcbxJSON{true, true}, "host ieee \n")
	}
	return c.notSimulated(1)
}

// noDCB is why an interface has no data center bridging, or "".
func (i *iface) noDCB(exists bool) string {
	switch {
	case !exists:
		return "No such device"
	case i.virtual() || i.Plain:
		return "Operation not supported"
	}
	return ""
}

// print prints an object.
func (c *dcbCall) print(v any, text string) int {
	if !c.json {
		fmt.Fprint(c.stdout, text)
		return 0
	}
	out, err := json.Marshal(v)
	if err != nil {
		return c.errorf("%v", err)
	}
	fmt.Fprintf(c.stdout, "%s\n\n", out)
	return 0
}

type pfcJSON struct {
	Cap         int     `json:"pfc_cap"`
	Macsec      bool    `json:"macsec_bypass"`
	Delay       int     `json:"delay"`
	Prio        [8]bool `json:"prio_pfc"`
	Requests    *[8]int `json:"requests,omitempty"`
	Indications *[8]int `json:"indications,omitempty"`
}

func (c *dcbCall) showPFC(i *iface) int {
	p := pfcJSON{Cap: 8, Delay: i.delay, Prio: i.pfc}
	var b strings.Builder
	fmt.Fprintf(&b, "pfc-cap %d macsec-bypass off delay %d \nprio-pfc ", p.Cap, p.Delay)
	for n, on := range i.pfc {
		fmt.Fprintf(&b, "%d:%s ", n, onOff(on))
	}
	b.WriteString("\n")
	if c.statistics {
		p.Requests, p.Indications = new([8]int), new([8]int)
		for _, what := range []string{"requests", "indications"} {
			b.WriteString(what + " ")
			for n := range i.pfc {
				fmt.Fprintf(&b, "%d:0 ", n)
			}
			b.WriteString("\n")
		}
	}
	return c.print(p, b.String())
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// A dcbObject is what dcb can set of an interface.
type dcbObject struct {
	take   func(i *iface, word string, values []string) (n int, wrong string) // takes what follows a word: so many values
	sum    func(i *iface) (wrong string)                                      // what dcb has against all of it; nil: nothing
	refuse func(i *iface) (why string)                                        // what the driver has; nil: nothing
	keep   func(now, want *iface)
}

// set is dcb OBJECT set dev NAME { WORD VALUE… }….
func (c *dcbCall) set(name string, args []string, o dcbObject) int {
	i, ok := c.server.iface(name)
	if why := i.noDCB(ok); why != "" {
		return c.fail(1, "Attribute read: %s", why)
	}
	if len(args) == 0 {
		return c.notSimulated(1)
	}
	for len(args) > 0 {
		n, wrong := o.take(&i, args[0], args[1:])
		switch {
		case wrong != "":
			return c.fail(1, "%s", wrong)
		case n == 0:
			return c.notSimulated(1)
		}
		args = args[1+n:]
	}
	if o.sum != nil {
		if wrong := o.sum(&i); wrong != "" {
			return c.fail(1, "%s", wrong)
		}
	}
	if !c.user.root {
		return c.fail(1, "Attribute write: Operation not permitted")
	}
	if o.refuse != nil {
		if why := o.refuse(&i); why != "" {
			return c.fail(1, "Attribute write: %s", why)
		}
	}
	c.server.setIface(name, func(now *iface) { o.keep(now, &i) })
	return 0
}

// mappings are the words like KEY:VALUE at the beginning of a list.
func mappings(words []string) []string {
	n := slices.IndexFunc(words, func(w string) bool { return !strings.Contains(w, ":") })
	if n < 0 {
		return words
	}
	return words[:n]
}

// setPFC is dcb pfc set dev NAME { prio-pfc { all | PRIO }:{ on | off }… | delay N }…
func (c *dcbCall) setPFC(name string, args []string) int {
	return c.set(name, args, dcbObject{
		take: func(i *iface, word string, values []string) (int, string) {
			m := mappings(values)
			switch {
			case word == "prio-pfc":
				return len(m), mapAll(m, word, "PRIO:PFC", &i.pfc, switched)
			case word == "delay" && len(values) > 0:
				n, err := strconv.ParseUint(values[0], 10, 16)
				if err == nil {
					i.delay = int(n)
					return 1, ""
				}
			}
			return 0, ""
		},
		keep: func(now, want *iface) { now.pfc, now.delay = want.pfc, want.delay },
	})
}

// switched parses on and off.
func switched(s string) (bool, string, bool) { return s == "on", "", s == "on" || s == "off" }

// dcbxJSON says who owns DCBX: at boot the host.
type dcbxJSON struct {
	Host bool `json:"host"`
	IEEE bool `json:"ieee"`
}

// setDCBX leaves DCBX to the host; the other modes are refused as
// mlx5 does (Linux, mlx5/core/en_dcbnl.c), in the words of iproute2's dcb.
func (c *dcbCall) setDCBX(name string, modes []string) int {
	i, ok := c.server.iface(name)
	if why := i.noDCB(ok); why != "" {
		return c.fail(1, "Attribute write: %s", why)
	}
	slices.Sort(modes)
	if !slices.Equal(modes, []string{"host", "ieee"}) {
		return c.fail(1, "Attribute write: Unknown error -1")
	}
	if !c.user.root {
		return c.fail(1, "Attribute write: Operation not permitted")
	}
	return 0 // as it is after boot
}
