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
		fmt.Fprintf(c.stderr, "Attribute read: %s\n", why)
		return 1
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
	case i.loop || i.Plain:
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

// setPFC is dcb pfc set dev NAME { prio-pfc { all | PRIO }:{ on | off }… | delay N }…
func (c *dcbCall) setPFC(name string, args []string) int {
	i, ok := c.server.iface(name)
	if why := i.noDCB(ok); why != "" {
		fmt.Fprintf(c.stderr, "Attribute read: %s\n", why)
		return 1
	}
	if len(args) == 0 {
		return c.notSimulated(1)
	}
	pfc, delay := i.pfc, i.delay
	for len(args) > 0 {
		switch args[0] {
		case "prio-pfc":
			args = args[1:]
			n, bad := 0, ""
			for n < len(args) && strings.Contains(args[n], ":") && bad == "" {
				bad = mapPFC(&pfc, args[n])
				n++
			}
			if n == 0 || bad != "" {
				fmt.Fprintf(c.stderr, "dcb: pfc set: %q is no mapping of a priority that the lab knows\n", bad)
				return 1
			}
			args = args[n:]
		case "delay":
			if len(args) < 2 {
				return c.notSimulated(1)
			}
			n, err := strconv.ParseUint(args[1], 10, 16)
			if err != nil {
				return c.notSimulated(1)
			}
			delay, args = int(n), args[2:]
		default:
			return c.notSimulated(1)
		}
	}
	if !c.user.root {
		fmt.Fprintln(c.stderr, "Attribute write: Operation not permitted")
		return 1
	}
	c.server.setIface(name, func(i *iface) { i.pfc, i.delay = pfc, delay })
	return 0
}

// mapPFC applies one PRIO:on or PRIO:off; it returns what it does not know.
func mapPFC(pfc *[8]bool, s string) string {
	prio, value, _ := strings.Cut(s, ":")
	if value != "on" && value != "off" {
		return s
	}
	if prio == "all" {
		for n := range pfc {
			pfc[n] = value == "on"
		}
		return ""
	}
	n, err := strconv.Atoi(prio)
	if err != nil || n < 0 || n > 7 {
		return s
	}
	pfc[n] = value == "on"
	return ""
}

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
		fmt.Fprintf(c.stderr, "Attribute write: %s\n", why)
		return 1
	}
	slices.Sort(modes)
	if !slices.Equal(modes, []string{"host", "ieee"}) {
		fmt.Fprintln(c.stderr, "Attribute write: Unknown error -1")
		return 1
	}
	if !c.user.root {
		fmt.Fprintln(c.stderr, "Attribute write: Operation not permitted")
		return 1
	}
	return 0 // as it is after boot
}
