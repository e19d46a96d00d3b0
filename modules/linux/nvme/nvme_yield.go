package nvme

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Written says which attributes the files write. The others have defaults of weft, which
// yield to what rules of udev, or the kernel's own parameter, set on the server.
type Written struct {
	IOPolicy       bool `json:",omitempty"`
	CtrlLoss       bool `json:",omitempty"`
	FastFail       bool `json:",omitempty"`
	ReconnectDelay bool `json:",omitempty"`
}

// usualPolicy is how kernels begin.
const usualPolicy = "numa"

// ruled returns what rules set on the connection, by attribute.
func (c *controller) ruled() map[string]ruled {
	out := c.rules.set(event{"nvme", c.name, c.values})
	delete(out, "iopolicy") // of a subsystem
	sub := map[string]string{"subsysnqn": c.values["subsysnqn"], "model": c.values["model"], "subsystype": c.subsystem, "iopolicy": c.policy}
	if r, ok := c.rules.set(event{"nvme-subsystem", "nvme-subsys0", sub})["iopolicy"]; ok {
		out["iopolicy"] = r
	}
	if usual := c.rules.usual; usual != "" && usual != usualPolicy && out["iopolicy"].place == "" {
		out["iopolicy"] = ruled{value: usual, place: "/sys/module/nvme_core/parameters/iopolicy"}
	}
	return out
}

// give leaves to rules what the files do not write, and notes the rules for what they do.
func (n *NVMeConnection) give(have *NVMeConnection, c *controller) {
	have.rules, have.yields = map[string]ruled{}, map[string]bool{}
	for attr, r := range c.ruled() {
		is := c.values[attr]
		if attr == "iopolicy" {
			is = c.policy
		}
		if !r.sure && !sameValue(r.value, is) {
			continue // its conditions may not hold
		}
		var written bool
		switch attr {
		case "iopolicy":
			written = n.Written.IOPolicy
		case "ctrl_loss_tmo":
			written = n.Written.CtrlLoss
		case "fast_io_fail_tmo":
			written = n.Written.FastFail
		case "reconnect_delay":
			written = n.Written.ReconnectDelay
		default:
			continue
		}
		if written {
			have.rules[attr] = r
			continue
		}
		have.yields[attr] = true
		switch attr {
		case "iopolicy":
			have.IOPolicy = n.IOPolicy
		case "fast_io_fail_tmo":
			have.FastFail = n.FastFail
		case "reconnect_delay":
			have.ReconnectDelay = n.ReconnectDelay
		}
	}
	have.contested = n.overruled(have)
}

// sameLoss reports whether a lost path is kept as long as wanted, or a rule says how long.
func (n *NVMeConnection) sameLoss(have *NVMeConnection) bool {
	return n.yields["ctrl_loss_tmo"] || have.yields["ctrl_loss_tmo"] || n.loss() == have.loss()
}

// sameValue compares a value of a rule with one of sysfs.
func sameValue(rule, is string) bool {
	number := func(text string) string {
		if text = strings.TrimSpace(text); text == "off" {
			return "-1"
		}
		return text
	}
	return number(rule) == number(is)
}

// overruled says which rules set something else than the files write, where the host has what
// is written; "": none does.
func (n *NVMeConnection) overruled(have *NVMeConnection) string {
	var list []string
	for _, attr := range slices.Sorted(maps.Keys(have.rules)) {
		r := have.rules[attr]
		value, err := strconv.Atoi(r.value)
		if r.value == "off" {
			value, err = -1, nil
		}
		var same, done bool
		switch attr {
		case "iopolicy":
			same, done = r.value == n.IOPolicy, have.IOPolicy == n.IOPolicy
		case "ctrl_loss_tmo":
			same, done = err == nil && (&NVMeConnection{CtrlLoss: value, ReconnectDelay: n.ReconnectDelay}).loss() == n.loss(), n.loss() == have.loss()
		case "fast_io_fail_tmo":
			same, done = err == nil && max(value, 0) == n.FastFail, have.FastFail == n.FastFail
		case "reconnect_delay":
			same, done = err == nil && value == n.ReconnectDelay, have.ReconnectDelay == n.ReconnectDelay
		}
		if !same && done {
			list = append(list, fmt.Sprintf("%s sets %s to %s", r.place, attr, r.value))
		}
	}
	if list == nil {
		return ""
	}
	return "warning: the files write another value than the server sets itself, which comes back when the device is added or changes: " + strings.Join(list, "; ") +
		". Leave the attribute out of connect, or put a file of that name into /etc/udev/rules.d"
}
