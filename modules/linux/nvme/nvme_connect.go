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

// settledScript ends a loop over subsystems for the policy $p that rules of udev, or the
// kernel's own parameter, have given one: for a default, which yields to those.
const settledScript = `{ read -r o </sys/module/nvme_core/parameters/iopolicy; } 2>/dev/null || o=; if [ "$p" != numa ] && { [ "$p" = "$o" ] || ` +
	`grep -qs "iopolicy}" /etc/udev/rules.d/*.rules /run/udev/rules.d/*.rules /usr/local/lib/udev/rules.d/*.rules /usr/lib/udev/rules.d/*.rules /lib/udev/rules.d/*.rules; }; then continue; fi; `

// spreadScript gives the subsystem $1 the policy $2, where the kernel has any. Where $3 is
// default, that is what rules have not set once udev is done.
const spreadScript = `if [ "$3" = default ] && command -v udevadm >/dev/null 2>&1; then udevadm settle --timeout=5; fi; for s in /sys/class/nvme-subsystem/*; do if [ -e "$s/iopolicy" ]; then read -r v <"$s/subsysnqn"; ` +
	`if [ "$v" = "$1" ]; then read -r p <"$s/iopolicy"; if [ "$3" = default ]; then ` + settledScript + `fi; printf %s "$2" | tee "$s/iopolicy" >/dev/null || exit 1; fi; fi; done`

func (n *NVMeConnection) spread() remote.Step {
	return host.Run(append([]string{"sh", "-c", spreadScript, "sh"}, n.policy()...)...)
}

// policy are the words of spreadScript.
func (n *NVMeConnection) policy() []string {
	if n.Written.IOPolicy {
		return []string{n.NQN, n.IOPolicy}
	}
	return []string{n.NQN, n.IOPolicy, "default"}
}

// disconnectScript ends the connection $1 to the subsystem $2 unless it is the
// last live one that takes I/O and something uses its disks: what is built on them, is mounted
// or swap, or has them open. udev, which looks at every disk that comes or goes,
// does not count.
const disconnectScript = `c=/sys/class/nvme/$1; read -r v 2>/dev/null <"$c/subsysnqn"; if [ "$v" != "$2" ]; then echo "$1 is not connected to $2" >&2; exit 1; fi; ` +
	`for s in /sys/class/nvme-subsystem/*; do if [ -e "$s/$1" ]; then ` +
	`for o in "$s"/nvme*; do if [ "${o##*/}" != "$1" ] && [ -e "$o/state" ]; then read -r v <"$o/state"; if [ "$v" = live ]; then a=; u=1; ` +
	`for q in "$o"/nvme*c*n*/ana_state; do if [ -e "$q" ]; then u=; read -r v <"$q"; case $v in optimized|non-optimized) a=1;; esac; fi; done; if [ -n "$a$u" ]; then other=1; fi; fi; fi; done; ` +
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

func (n *NVMeConnection) Advice(reply string) string {
	at := n.Address.String()
	switch {
	case strings.Contains(reply, "mounted"), strings.Contains(reply, "is built on"), strings.Contains(reply, "open"), strings.Contains(reply, "is swap"):
		return "stop what uses the disk and apply again; nothing was disconnected under it"
	case strings.Contains(reply, "iopolicy: Invalid argument"):
		return "kernels before 6.11 do not know queue-depth: write iopolicy = \"round-robin\""
	case strings.Contains(reply, "Required key not available"):
		return "the target asks this host to authenticate: give the initiator its dhchap_key"
	case strings.Contains(reply, "Key was rejected"):
		return "one end did not prove the key that the other has: dhchap_key must be the one that the target has for " + n.HostNQN +
			", and dhchap_ctrl_key the one that the target proves; dmesg says which"
	case strings.Contains(reply, "Connection refused") && len(n.Key) > 0:
		return "nothing listens on " + at + " with " + n.Transport + ", or, with kernels before 6.10, a key was rejected: dmesg says which"
	case strings.Contains(reply, "Connection refused"), strings.Contains(reply, "Connection reset"):
		return "nothing listens on " + at + " with " + n.Transport + ": see the target's port"
	case strings.Contains(reply, "timed out"), strings.Contains(reply, "No route"), strings.Contains(reply, "unreachable"):
		return at + " does not answer: ping -I " + n.From.String() + " " + n.Address.Addr().String()
	case strings.Contains(reply, "Input/output error"):
		return "the target refused: dmesg says why; it must have " + n.NQN + " and allow " + n.HostNQN
	case strings.Contains(reply, "No such device"):
		return "the NIC with " + n.From.String() + " has no RDMA device, or the kernel no nvme-" + n.Transport + ": rdma link show; dmesg"
	case strings.Contains(reply, "already in progress"):
		return "the kernel has that connection already, from another address: nvme list-subsys"
	case strings.Contains(reply, "Invalid argument"):
		return "dmesg says which option it was; another connection with the same host id and another host NQN is refused, too"
	}
	return ""
}
