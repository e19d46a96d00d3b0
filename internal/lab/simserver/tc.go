//go:build unix

package simserver

import (
	"fmt"
	"strings"
)

// tc is the little of iproute2's tc that makes an interface drop whatever comes
// in: a clsact qdisc, and in it the rule ingress matchall action drop. What it
// answers is what iproute2 and Linux 6.12 of Debian 13 answer (seen).
func tc(x *call) int {
	before, after, ok := strings.Cut(strings.Join(x.args, " "), " dev ")
	name, rest, _ := strings.Cut(after, " ")
	what := before + " dev IF " + rest
	if !ok {
		return x.notSimulated(255)
	}
	i, known := x.server.iface(name)
	switch {
	case !known:
		fmt.Fprintf(x.stderr, "Cannot find device %q\n", name)
		return 1
	case what == "qdisc show dev IF ":
		fmt.Fprintln(x.stdout, "qdisc mq 0: root ")
		if i.ingress {
			fmt.Fprintln(x.stdout, "qdisc clsact ffff: parent ffff:fff1 ")
		}
		return 0
	case !x.user.root:
		fmt.Fprintln(x.stderr, "RTNETLINK answers: Operation not permitted")
		return 2
	}
	switch {
	case what == "qdisc add dev IF clsact" && i.ingress:
		fmt.Fprintln(x.stderr, "Error: Exclusivity flag on, cannot modify.")
		return 2
	case what == "qdisc del dev IF clsact" && !i.ingress:
		fmt.Fprintln(x.stderr, "Error: Cannot find specified qdisc on specified device.")
		return 2
	case what == "filter add dev IF ingress matchall action drop" && !i.ingress:
		fmt.Fprintln(x.stderr, "Error: Parent Qdisc doesn't exists.\nWe have an error talking to the kernel")
		return 2
	}
	change, ok := map[string]func(*iface){
		"qdisc add dev IF clsact":                        func(i *iface) { i.ingress = true },
		"qdisc del dev IF clsact":                        func(i *iface) { i.ingress, i.deaf = false, false },
		"filter add dev IF ingress matchall action drop": func(i *iface) { i.deaf = true },
	}[what]
	if !ok {
		return x.notSimulated(255)
	}
	x.server.setIface(name, change)
	return 0
}
