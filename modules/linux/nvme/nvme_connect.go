package nvme

import (
	"fmt"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/storage"
)

// options are what the kernel is told to connect over a transport.
func (n *NVMeConnection) options(transport string) string {
	o := []string{
		"transport=" + transport, "traddr=" + n.Address.Addr().String(), fmt.Sprintf("trsvcid=%d", n.Address.Port()),
		"nqn=" + n.NQN, "hostnqn=" + n.HostNQN, "hostid=" + n.HostID,
	}
	if n.From.IsValid() {
		o = append(o, "host_traddr="+n.From.String())
	}
	o = append(o, fmt.Sprintf("keep_alive_tmo=%d", n.KeepAlive), fmt.Sprintf("reconnect_delay=%d", n.ReconnectDelay), fmt.Sprintf("ctrl_loss_tmo=%d", n.CtrlLoss))
	if n.FastFail > 0 {
		o = append(o, fmt.Sprintf("fast_io_fail_tmo=%d", n.FastFail))
	}
	if n.Queues > 0 {
		o = append(o, fmt.Sprintf("nr_io_queues=%d", n.Queues))
	}
	if n.ToS >= 0 {
		o = append(o, fmt.Sprintf("tos=%d", n.ToS))
	}
	return strings.Join(o, ",")
}

func (n *NVMeConnection) connect() []remote.Step {
	steps := []remote.Step{
		host.Run("modprobe", "nvme-"+n.Transport),
		n.withKeys(host.Run("sh", "-c", `printf %s "$1" | tee /dev/nvme-fabrics >/dev/null`, "sh", n.options(n.Transport)),
			host.Run("sh", "-c", `read -r k; printf %s "$1$k" | tee /dev/nvme-fabrics >/dev/null`, "sh", n.options(n.Transport))),
	}
	if n.eitherWay() {
		steps = []remote.Step{n.withKeys(host.Run("sh", "-c", eitherScript, "sh", n.options(n.Transport), n.options(n.Instead)),
			host.Run("sh", "-c", "read -r k; "+strings.NewReplacer("$1", "$1$k", "$2", "$2$k").Replace(eitherScript), "sh", n.options(n.Transport), n.options(n.Instead)))}
	}
	if n.IOPolicy != "" {
		steps = append(steps, n.spread())
	}
	return steps
}

// withKeys is one step, or where there are keys another, which reads their
// options: they are in no argument.
func (n *NVMeConnection) withKeys(plain, keyed remote.Step) remote.Step {
	secrets := n.secrets()
	if secrets == nil {
		return plain
	}
	keyed.Secret = append(secrets, '\n')
	return keyed
}

// eitherWay reports whether another transport does where the first does not.
func (n *NVMeConnection) eitherWay() bool { return n.Instead != "" && n.Instead != n.Transport }

// eitherScript connects with the options $1 for RDMA or, where that does not
// work, with $2 for TCP.
const eitherScript = `{ modprobe nvme-rdma && printf %s "$1" | tee /dev/nvme-fabrics >/dev/null; } || ` +
	`{ echo "degraded: RDMA did not connect, TCP instead" >&2; modprobe nvme-tcp && printf %s "$2" | tee /dev/nvme-fabrics >/dev/null; }`

// spreadScript gives the subsystem $1 the policy $2, where the kernel has any.
const spreadScript = `for s in /sys/class/nvme-subsystem/*; do if [ -e "$s/iopolicy" ]; then read -r v <"$s/subsysnqn"; ` +
	`if [ "$v" = "$1" ]; then printf %s "$2" | tee "$s/iopolicy" >/dev/null || exit 1; fi; fi; done`

func (n *NVMeConnection) spread() remote.Step {
	return host.Run("sh", "-c", spreadScript, "sh", n.NQN, n.IOPolicy)
}

// disconnectScript ends the connection $1 to the subsystem $2 unless it is the
// last live one and something uses its disks: what is built on them, is mounted
// or swap, or has them open. udev, which looks at every disk that comes or goes,
// does not count.
const disconnectScript = `c=/sys/class/nvme/$1; read -r v 2>/dev/null <"$c/subsysnqn"; if [ "$v" != "$2" ]; then echo "$1 is not connected to $2" >&2; exit 1; fi; ` +
	`for s in /sys/class/nvme-subsystem/*; do if [ -e "$s/$1" ]; then ` +
	`for o in "$s"/nvme*; do if [ "${o##*/}" != "$1" ] && [ -e "$o/state" ]; then read -r v <"$o/state"; if [ "$v" = live ]; then other=1; fi; fi; done; ` +
	`for b in "$s"/nvme*n* "$c"/nvme*n*; do n=${b##*/}; case $n in nvme*c*n*) continue;; esac; if [ -e "/sys/block/$n" ] && [ -z "$other" ]; then ` +
	`u=$(` + storage.DiskUsers + `find /proc/[0-9]*/fd -lname "/dev/$n" -o -lname "/dev/${n}p[0-9]*" 2>/dev/null | while IFS=/ read -r e p pid rest; do ` +
	`read -r name 2>/dev/null <"/proc/$pid/comm"; case $name in *udev*) continue;; esac; echo "user $name (process $pid) has /dev/$n open"; done); ` +
	`if [ -n "$u" ]; then printf '%s\n' "$u" | while read -r w text; do echo "$text"; done >&2; exit 1; fi; fi; done; fi; done; ` +
	`printf 1 | tee "$c/delete_controller" >/dev/null`

// foundScript has a function found which names what is connected to the subsystem $1 as
// the host $2 by the address $3 over one of the transports $4; nothing, where nothing is.
const foundScript = `found() { for c in /sys/class/nvme/nvme*; do read -r v 2>/dev/null <"$c/subsysnqn"; if [ "$v" != "$1" ]; then continue; fi; ` +
	`read -r v 2>/dev/null <"$c/hostnqn"; if [ "$v" != "$2" ]; then continue; fi; ` +
	`read -r v 2>/dev/null <"$c/transport"; case " $4 " in *" $v "*) ;; *) continue;; esac; ` +
	`read -r v 2>/dev/null <"$c/address"; case ",$v," in *",$3,"*) echo "${c##*/}"; return;; esac; done; }; `

// endScript ends what is found so, for disconnectScript.
const endScript = foundScript + `d=$(found "$@"); if [ -z "$d" ]; then exit 0; fi; set -- "$d" "$1"; `

func (n *NVMeConnection) disconnect() remote.Step {
	if n.Device != "" {
		return host.Run("sh", "-c", disconnectScript, "sh", n.Device, n.NQN)
	}
	// What is reverted was connected since the server was read: the kernel has
	// named it, and weft does not know how.
	over := n.Transport
	if n.eitherWay() {
		over += " " + n.Instead
	}
	return host.Run("sh", "-c", endScript+disconnectScript, "sh", n.NQN, n.HostNQN, n.begins(), over)
}

// at is where it leads, as the kernel shows it, and begins also where it begins.
func (n *NVMeConnection) at() string {
	return fmt.Sprintf("traddr=%s,trsvcid=%d", n.Address.Addr(), n.Address.Port())
}

func (n *NVMeConnection) begins() string {
	if !n.From.IsValid() {
		return n.at()
	}
	return n.at() + ",host_traddr=" + n.From.String()
}
