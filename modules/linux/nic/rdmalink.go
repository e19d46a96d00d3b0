package nic

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/internal/wait"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// RDMALink keeps an RDMA device on one NIC port: that of the card, which must
// be there, or one in software, which is made where there is none.
type RDMALink struct {
	PCI       string // address of the NIC port: 0000:41:00.0
	Interface string `json:"-"` // observed: the name it has today
	Transport string // rocev2, iwarp or infiniband
	Type      string `json:",omitempty"` // of one that weft makes: rxe or siw; "" is the card's own, or another owner's
	Name      string `json:",omitempty"` // of one that weft makes
	Present   bool
	Driver    string `json:"-"` // observed: of the network interface

	Modules []string `json:",omitempty"` // that the server's own blocks load: one may bring the card's own

	function string // observed: its PCI function
	trouble  string // observed: why it carries nothing
}

// RDMALinkKind is the kind rdma_link.
func RDMALinkKind() *host.Kind[RDMALink] {
	return &host.Kind[RDMALink]{
		Name:  "rdma_link",
		Looks: (*RDMALink).Looks, Parse: (*RDMALink).Parse, Diff: (*RDMALink).Diff, Steps: (*RDMALink).Steps, Absent: host.Nothing[RDMALink],
		Verify: (*RDMALink).Verify, About: (*RDMALink).About, Boot: (*RDMALink).Boot, Left: (*RDMALink).Left,
		Advice: (*RDMALink).Advice,
	}
}

// newRDMALink is the device that a fabric's transport asks of a port; label
// names it where it is made in software.
func NewRDMALink(pci, transport, label string, software bool) *RDMALink {
	r := &RDMALink{PCI: pci, Transport: transport, Present: true}
	if software {
		r.Type = map[string]string{"rocev2": "rxe", "iwarp": "siw"}[transport]
		r.Name = r.Type + "_" + label
	}
	return r
}

func (r *RDMALink) Looks() []remote.Look {
	return rdmaPortLooks(r.PCI)
}

// Parse: a port that speaks another protocol than its fabric,
// or a card without RDMA, is refused.
func (r *RDMALink) Parse(s remote.Seen) (*RDMALink, error) {
	name, err := see.Netdev(s, r.PCI)
	if err != nil {
		return nil, err
	}
	port, err := rdmaPortOf(s, r.PCI, name)
	if err != nil {
		return nil, err
	}
	have := &RDMALink{PCI: r.PCI, Interface: name, Transport: r.Transport, Driver: driver(s, r.PCI), function: functionOf(s, r.PCI)}
	switch {
	case port != nil && port.protocol != r.Transport:
		return nil, r.otherProtocol(have, port)
	case port != nil:
		have.Present, have.trouble = true, port.trouble()
		if port.Device == r.Name {
			have.Type, have.Name = r.Type, r.Name
		}
	case r.Type == "" && !slices.Contains(r.Modules, rdmaDriver(have.Driver)):
		return nil, r.missing(have)
	}
	return have, nil
}

// missing says what a port without an RDMA device lacks.
func (r *RDMALink) missing(have *RDMALink) error {
	err := fmt.Errorf("%s (driver %s) has no RDMA device, which transport %q needs", have.Interface, cmp.Or(have.Driver, "unknown"), r.Transport)
	module := rdmaDriver(have.Driver)
	switch {
	case module != "":
		return hint.Wrap(err, `its RDMA driver is %s: load it with kernel_module "%s" {}; if that is loaded, see dmesg and the card's firmware`, module, module)
	case r.Transport == "infiniband":
		return hint.Wrap(err, "see what there is: rdma link show; ls /sys/class/infiniband")
	}
	return hint.Wrap(err, "weft knows no RDMA driver for it; to have RDMA in software, for tests, write software = true in the rnic")
}

func (r *RDMALink) otherProtocol(have *RDMALink, port *rdmaPort) error {
	err := fmt.Errorf("%s of %s speaks %s, the fabric has transport %q", port.Device, have.Interface, cmp.Or(port.protocol, "a protocol that weft does not know"), r.Transport)
	on, off := "enable_roce", "enable_iwarp"
	if r.Transport == "iwarp" {
		on, off = off, on
	}
	param := "devlink dev param set pci/" + have.function + " name %s value %t cmode runtime"
	switch have.Driver {
	case "ice":
		return hint.Wrap(err, "irdma does one of the two: "+param+", then "+param, off, false, on, true)
	case "hfi1":
		return hint.Wrap(err, "weft does not manage Omni-Path, whose fabric manager is opafm: take the rnic out of the fabric")
	case "mlx5_core":
		return hint.Wrap(err, "a port is InfiniBand or Ethernet by its firmware: mlxconfig -d %s set LINK_TYPE_P1=%s, P2 for the second port of a card, and a restart of the server change that; or change transport of the fabric",
			have.function, map[bool]string{true: "1", false: "2"}[r.Transport == "infiniband"])
	}
	return hint.Wrap(err, "see what the card can do: rdma dev show; or change transport of the fabric")
}

// trouble is why a port carries nothing; "": it does.
func (p *rdmaPort) trouble() string {
	name := fmt.Sprintf("%s/%d", p.Device, p.Port)
	switch ib := p.protocol == "infiniband"; {
	case ib && p.State == "ACTIVE" && p.Manager != nil && *p.Manager == 0:
		return name + " is ACTIVE without a subnet manager (sm_lid 0): see sminfo, and whether opensm runs"
	case p.State == "ACTIVE":
		return ""
	case ib && p.State == "INIT":
		return name + " is in state INIT: no subnet manager has set it up; see sminfo, and whether opensm runs"
	case ib && p.State == "ARMED":
		return name + " is in state ARMED: the subnet manager is not done with it, or has gone in between; see sminfo"
	case ib:
		return fmt.Sprintf("%s is in state %s (%s): see the cable and the port at its other end, as iblinkinfo shows it", name, p.State, p.Physical)
	}
	return fmt.Sprintf("%s is in state %s (%s): see the cable, the port at its other end and ip link", name, p.State, p.Physical)
}

// Left: no command makes a link active.
func (r *RDMALink) Left() string { return r.trouble }

func (r *RDMALink) text() string {
	switch {
	case !r.Present:
		return "none"
	case r.Type == "":
		return "of the card"
	}
	return r.Name + " (" + r.Type + ", in software)"
}

// Diff: only what weft makes is ever taken away.
func (r *RDMALink) Diff(have *RDMALink) []plan.Change {
	if r.Present == have.Present || !r.Present && have.Type == "" {
		return nil
	}
	impact := plan.ImpactNone
	if have.Present {
		impact = plan.ImpactTraffic
	}
	return plan.Changed("device", have.text(), r.text(), impact)
}

func (r *RDMALink) Steps(have *RDMALink) []remote.Step {
	if len(r.Diff(have)) == 0 {
		return nil
	}
	switch {
	case !r.Present:
		return []remote.Step{host.Run("sh", "-c", deleteLinkScript, "sh", have.Name)}
	case r.Type == "" && rdmaDriver(have.Driver) == "":
		return nil
	case r.Type == "":
		return []remote.Step{host.Run("modprobe", rdmaDriver(have.Driver))}
	}
	return []remote.Step{
		host.Run("modprobe", r.module()),
		host.Run("rdma", "link", "add", r.Name, "type", r.Type, "netdev", cmp.Or(r.Interface, have.Interface)),
	}
}

// deleteLinkScript deletes the device $1 unless another process uses it: as long as a
// process has it open the kernel does not finish, and who asked it to cannot be
// killed; what the kernel itself has over it is cut. Processes are found by what
// they have open, because rdma shows none of another PID namespace, and one with
// a context only to iproute2 5.13 and later. ib_core has a domain on every device
// that has management datagrams; iproute2 5.5 to 5.8 show it without brackets. A
// listener for any address holds no device: it belongs to no port. find ends with
// 1 where a process has ended meanwhile, and where it does not know -lname. What
// the step before has ended may need a moment to let go.
const deleteLinkScript = `for try in 1 2 3; do who=$({ for u in /sys/class/infiniband_verbs/*; do d=; read -r d 2>/dev/null <"$u/ibdev"; if [ "$d" = "$1" ]; then ` +
	`open=$(find /proc/[0-9]*/fd -lname "*/infiniband/${u##*/}" 2>/dev/null) || find /proc/self/exe -lname "*" >/dev/null 2>&1 || echo "find does not tell who has it open"; ` +
	`printf '%s\n' "$open" | while read -r f; do pid=${f#/proc/}; pid=${pid%%/*}; name=; if [ -n "$pid" ]; then read -r name 2>/dev/null <"/proc/$pid/comm"; echo "$name (process $pid) has it open"; fi; done; fi; done; ` +
	`if pd=$(rdma resource show pd dev "$1" 2>&1) && cm=$(rdma resource show cm_id link "$1/1" state LISTEN 2>&1); then printf '%s\n' "$pd" "$cm" | while read -r l; do ` +
	`name=${l#* comm }; name=${name%% src-addr *}; does="uses it"; case $l in *" pid "*) pid=${l#* pid }; name="$name (process ${pid%% *})"; does="has it open";; ""|*" comm [ib_core]"*|*" comm ib_core"*) continue;; *) name="$name of the kernel";; esac; ` +
	`case $l in *" state LISTEN "*) does=${l#* src-addr }; does="listens at ${does%% *}";; esac; echo "$name $does"; done; ` +
	`else echo "rdma does not tell who uses it: ${cm-$pd}"; fi; } | sort -u); ` +
	`if [ -z "$who" ]; then rdma link delete "$1"; exit; fi; sleep 1; done; ` +
	`printf '%s\n' "$who" | { list=; while read -r l; do list="${list:+$list; }$l"; done; echo "$1 is not deleted: $list" >&2; }; exit 1`

// module brings a type of devices in software.
func (r *RDMALink) module() string {
	return map[string]string{"rxe": "rdma_rxe", "siw": "siw"}[r.Type]
}

// Boot: a port takes one device in software.
func (r *RDMALink) Boot() []string {
	if r.Type == "" {
		return nil
	}
	nic := "$(nic " + remote.Quote(r.PCI) + ")"
	return []string{
		"do_ modprobe " + r.module(),
		fmt.Sprintf(`case "$(rdma link show)" in *" netdev %s "*) ;; *) do_ rdma link add %s type %s netdev "%s" ;; esac`,
			nic, remote.Quote(r.Name), r.Type, nic),
	}
}

func (r *RDMALink) Advice(reply string) string {
	switch {
	case strings.Contains(reply, "not found in directory"):
		return "the running kernel has no RDMA in software: a package may bring it (linux-modules-extra, kernel-modules-extra)"
	case strings.Contains(reply, "File exists"):
		return "another RDMA device has that name or that interface: rdma link show"
	case strings.Contains(reply, "does not tell who"):
		return "weft deletes no device that may be in use; see rdma resource show, and apply again with iproute2 from 5.1 on and GNU find"
	case strings.Contains(reply, "is not deleted"):
		return "stop the processes that are named; end connections of [nvme_rdma] with nvme disconnect, and take exports from ports of [nvmet_rdma]; then apply again"
	}
	return ""
}

const linkPatience = 10 * time.Second // until a new device is active

// Verify: the port is active.
func (r *RDMALink) Verify(ctx context.Context, h remote.Host) error {
	for deadline := time.Now().Add(linkPatience); ; {
		seen, err := remote.Read(ctx, h, r.Looks())
		if err != nil {
			return err
		}
		have, err := r.Parse(seen)
		if err == nil && have.trouble != "" {
			err = fmt.Errorf("%s", have.trouble)
		}
		if err == nil || time.Now().After(deadline) {
			return err
		}
		if !wait.For(ctx, 500*time.Millisecond) {
			return ctx.Err()
		}
	}
}

func (r *RDMALink) About() string { return r.PCI }
