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
		return x.fail(1, "Cannot find device %q", name)
	case what == "qdisc show dev IF ":
		fmt.Fprintln(x.stdout, "qdisc mq 0: root ")
		if i.ingress {
			fmt.Fprintln(x.stdout, "qdisc clsact ffff: parent ffff:fff1 ")
		}
		return 0
	case !x.user.root:
		return x.fail(2, "RTNETLINK answers: Operation not permitted")
	}
	switch {
	case what == "qdisc add dev IF clsact" && i.ingress:
		return x.fail(2, "Error: Exclusivity flag on, cannot modify.")
	case what == "qdisc del dev IF clsact" && !i.ingress:
		return x.fail(2, "Error: Cannot find specified qdisc on specified device.")
	case what == "filter add dev IF ingress matchall action drop" && !i.ingress:
		return x.fail(2, "Error: Parent Qdisc doesn't exists.\nWe have an error talking to the kernel")
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
