package nvme

import (
	"encoding/json"
	"fmt"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/plan"
)

// A path goes over to another transport: it is connected over that first, and then no
// more as it was, so that one of both carries I/O at any time.

// inherit notes the other transport that a ledger says the path has or had.
func (n *NVMeConnection) inherit(entries []plan.Entry) {
	n.was, n.made = "", nil
	for _, e := range entries {
		var made, found NVMeConnection
		if e.Kind != "nvme_connection" || json.Unmarshal(e.Applied, &made) != nil || made.About() != n.About() {
			continue
		}
		if e.State == plan.EntryCreating { // to be made, of what was found
			_ = json.Unmarshal(e.Before, &found) // nothing is nothing
		}
		n.remember(made, found)
		for _, over := range []string{made.Transport, found.Transport} {
			if over != "" && over != n.Transport {
				n.was = over
			}
		}
	}
}

// moves reports whether have is connected over another transport than wanted. Either may
// be the wish: steps are undone, too.
func (n *NVMeConnection) moves(have *NVMeConnection) bool {
	return have.Transport != n.Transport && !n.takes(have.Transport) && !have.takes(n.Transport)
}

// takes reports whether a wish has to do with that transport. One that a ledger says was
// there before the wish is not there for want of another.
func (n *NVMeConnection) takes(instead string) bool {
	return n.Device == "" && n.was == "" && n.Instead == instead
}

// moved is what Diff says of it.
func (n *NVMeConnection) moved(have *NVMeConnection) []plan.Change {
	over := have.Transport
	switch {
	case n.moves(have):
	case have.next != nil && n.next == nil:
		over = have.next.values["transport"]
	default:
		return nil
	}
	return plan.Changed("transport", over, n.Transport, plan.ImpactTraffic)
}

// tries: TCP stays where RDMA does not connect.
func (n *NVMeConnection) tries(have *NVMeConnection, c plan.Change) bool {
	if c.Path == "tos" {
		return have.unsure // the kernel does not show it, and took it when it connected
	}
	return c.Path == "transport" && have.Transport == n.Instead && have.next == nil
}

// amid: what has not gone over yet is as if it had.
func (n *NVMeConnection) amid(applied, _ *NVMeConnection) *NVMeConnection {
	if applied.was != "" && n.Transport == applied.was {
		return applied
	}
	if n.unsure {
		sure := *n
		sure.ToS, sure.unsure = applied.ToS, false
		return &sure
	}
	return n
}

// overScript connects over the transport $2 with the options $1, unless that is so. With
// $3 it is no error where that does not work.
const overScript = `modprobe "nvme-$2" && said=$(printf %s "$1" | tee /dev/nvme-fabrics 2>&1 >/dev/null) || ` +
	`case "$3$said" in *already*) ;; stays*) echo "degraded: RDMA did not connect, TCP stays: $said" >&2;; *) echo "$said" >&2; exit 1;; esac`

// leaveScript ends, for disconnectScript, what is found by foundScript or is the
// connection $6, where one to the address $5 over the transport $7 is there as well.
const leaveScript = foundScript + `d=${6:-$(found "$@")}; if [ -z "$d" ] || [ -z "$(found "$1" "$2" "$5" "$7")" ]; then exit 0; fi; set -- "$d" "$1"; `

// timersScript gives what is found by foundScript the values of attributes that follow.
const timersScript = foundScript + `d=$(found "$@"); if [ -z "$d" ]; then exit 0; fi; cd "/sys/class/nvme/$d" && shift 4; ` +
	`while [ $# -gt 0 ]; do printf %s "$2" | tee "$1" >/dev/null || exit 1; shift 2; done`

// otherScript ends, for disconnectScript, what is found by foundScript unless its keep-alive
// is $5 seconds, and noneScript connects as overScript does where nothing is connected to the
// subsystem $4 as the host $5 by the address $6 over one of the transports $7.
const (
	otherScript = foundScript + `d=$(found "$@"); if [ -z "$d" ]; then exit 0; fi; read -r v <"/sys/class/nvme/$d/kato"; if [ "$v" = "$5" ]; then exit 0; fi; set -- "$d" "$1"; `
	noneScript  = foundScript + `if [ -n "$(found "$4" "$5" "$6" "$7")" ]; then exit 0; fi; `
)

// stayed gives TCP the new timers where it stays, and takes them from it where that is
// undone: what is connected over another transport has them from the start.
func (n *NVMeConnection) stayed(have *NVMeConnection) []remote.Step {
	timers := n.timers(have)
	switch {
	case n.Instead != have.Transport && n.Instead != n.Transport:
		return nil
	case n.KeepAlive != have.KeepAlive && have.KeepAlive > 0:
		return []remote.Step{
			host.Run("sh", "-c", otherScript+disconnectScript, "sh", n.NQN, n.HostNQN, n.begins(), n.Instead, fmt.Sprint(n.KeepAlive)),
			n.over(n.Instead, "", noneScript, n.NQN, n.HostNQN, n.begins(), n.Transport+" "+have.Transport),
		}
	case len(timers) == 0:
		return nil
	}
	return []remote.Step{host.Run(append([]string{"sh", "-c", timersScript, "sh", n.NQN, n.HostNQN, n.begins(), n.Instead}, words(timers)...)...)}
}

// over connects over a transport, for overScript, after the script before it with more words.
func (n *NVMeConnection) over(transport, stays, before string, more ...string) remote.Step {
	rest := append([]string{"sh", n.options(transport), transport, stays}, more...)
	with := func(script string) remote.Step { return host.Run(append([]string{"sh", "-c", script}, rest...)...) }
	return n.withKeys(with(before+overScript), with("read -r k; "+before+strings.Replace(overScript, "$1", "$1$k", 1)))
}

func (n *NVMeConnection) move(have *NVMeConnection) []remote.Step {
	stays := ""
	if n.Instead == have.Transport {
		stays = "stays"
	}
	steps := []remote.Step{
		n.over(n.Transport, stays, ""),
		host.Run("sh", "-c", leaveScript+disconnectScript, "sh", n.NQN, n.HostNQN, n.begins(), have.Transport, n.at(), have.Device, n.Transport),
	}
	steps = append(steps, n.stayed(have)...)
	if n.IOPolicy != "" && n.IOPolicy != have.IOPolicy {
		steps = append(steps, n.spread())
	}
	return steps
}

// leave ends the next connection, where it is not gone over to that after all.
func (n *NVMeConnection) leave() []remote.Step {
	if n.next == nil {
		return nil
	}
	return []remote.Step{host.Run("sh", "-c", disconnectScript, "sh", n.next.name, n.NQN)}
}
