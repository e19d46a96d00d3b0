package esxi

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"weft/internal/hint"
	"weft/internal/nvme/names"
	"weft/internal/remote"
	"weft/internal/wait"
	"weft/modules/host"
	"weft/plan"
)

// An NVMeAdapter is NVMe over fabrics on a NIC.
type NVMeAdapter struct {
	PCI       string
	Transport string // rdma or tcp
	Enabled   bool

	Name, Device string `json:"-"` // observed: vmhba64, vmrdma0
}

// NVMeAdapterKind is the kind nvme_adapter.
func NVMeAdapterKind() *host.Kind[NVMeAdapter] {
	return &host.Kind[NVMeAdapter]{
		Name: "nvme_adapter", Lasting: true,
		Looks: (*NVMeAdapter).Looks, Parse: (*NVMeAdapter).Parse, Diff: (*NVMeAdapter).Diff, Steps: (*NVMeAdapter).Steps, NIC: func(a *NVMeAdapter) string { return a.PCI },
	}
}

func (a *NVMeAdapter) Looks() []remote.Look { return deviceLooks() }

func (a *NVMeAdapter) Parse(s remote.Seen) (*NVMeAdapter, error) {
	d, err := readDevices(s)
	if err != nil {
		return nil, err
	}
	what := map[string]string{"rdma": "rdma", "tcp": "nic"}[a.Transport]
	have := &NVMeAdapter{PCI: a.PCI, Transport: a.Transport}
	if have.Device, err = d.name(what, a.PCI); err != nil {
		return nil, err
	}
	n, err := d.nic(a.PCI)
	if err != nil {
		return nil, err
	}
	if on := d.adapter(a.Transport, n); on != nil {
		have.Enabled, have.Name = true, on.Name
	}
	return have, nil
}

// Diff: an adapter stays. What turns NVMe off on a device has no source.
func (a *NVMeAdapter) Diff(have *NVMeAdapter) []plan.Change {
	if !a.Enabled {
		return nil
	}
	return plan.Changed("enabled", have.Enabled, true, plan.ImpactNone)
}

func (a *NVMeAdapter) Steps(have *NVMeAdapter) []remote.Step {
	if !a.Enabled || have.Enabled {
		return nil
	}
	device := rdmaName(a.PCI)
	if a.Transport == "tcp" {
		device = nicName(a.PCI)
	}
	return []remote.Step{host.Run("esxcli", "nvme", "fabrics", "enable", "-p", strings.ToUpper(a.Transport), "-d", device)}
}

// An NVMeConnection is one controller that the host has, to a subsystem at a portal,
// over the adapter on one NIC. The host remembers it, and connects again when it starts.
type NVMeConnection struct {
	NQN       string
	Transport string
	Address   netip.AddrPort
	PCI       string
	HostNQN   string // that targets are to admit; "": it is not compared

	offline bool // observed
	leads   leads
	odd     []string // namespaces in blocks that ESXi does not take
	idle    string   // why it gives no storage although it is online; "": it does, or that is not known
}

// NVMeConnectionKind is the kind nvme_connection.
func NVMeConnectionKind() *host.Kind[NVMeConnection] {
	return &host.Kind[NVMeConnection]{
		Name: "nvme_connection", Present: "connected",
		Looks: (*NVMeConnection).Looks, Parse: (*NVMeConnection).Parse, Steps: (*NVMeConnection).Steps, About: (*NVMeConnection).About,
		Verify: (*NVMeConnection).Verify, Left: (*NVMeConnection).Left, Fails: (*NVMeConnection).fails, Together: holdStores, Provides: (*NVMeConnection).provides, Advice: (*NVMeConnection).Advice,
	}
}

func controllersLook() remote.Look { return ask("nvme", "controller", "list") }
func namespacesLook() remote.Look  { return ask("nvme", "namespace", "list") }
func extentsLook() remote.Look     { return ask("storage", "vmfs", "extent", "list") }

func (n *NVMeConnection) Looks() []remote.Look {
	return append(deviceLooks(), controllersLook(), namespacesLook(), pathsLook(), extentsLook(), nqnLook())
}

// A controller is one that the host lists, whose name tells the rest of it.
type controller struct {
	number, nqn, adapter, address string
	online                        bool
}

// readControllers: a name is NQN#ADAPTER#ADDRESS:PORT; those of drives and of discovery
// services are none of ours.
func readControllers(s remote.Seen, err *error) (list []controller) {
	for _, r := range table(s, controllersLook(), err) {
		part := strings.Split(r.text("Name"), "#")
		if len(part) == 3 && part[0] != names.Discovery {
			list = append(list, controller{r.text("ControllerNumber"), part[0], part[1], part[2], r.flag("IsOnline")})
		}
	}
	return list
}

func (n *NVMeConnection) Parse(s remote.Seen) (*NVMeConnection, error) {
	d, err := readDevices(s)
	if err != nil {
		return nil, err
	}
	if is := hostNQN(s, &err); err == nil && n.HostNQN != "" && is != n.HostNQN {
		return nil, hint.Wrap(fmt.Errorf("the host gives itself the NQN %s, and targets are to admit %s", is, n.HostNQN), "write hostnqn = %q in its initiator: ESXi takes no other", is)
	}
	nic, wrong := d.nic(n.PCI)
	if err == nil {
		err = wrong
	}
	all := readControllers(s, &err)
	if err != nil {
		return nil, err
	}
	on := d.adapter(n.Transport, nic)
	if on == nil {
		return nil, nil // it comes with a step before
	}
	var have *NVMeConnection
	mine := controller{}
	for _, c := range all {
		if c.adapter == on.Name && c.nqn == n.NQN && c.address == n.Address.String() {
			have, mine = &NVMeConnection{NQN: n.NQN, Transport: n.Transport, Address: n.Address, PCI: n.PCI, HostNQN: n.HostNQN, offline: !c.online}, c
		}
	}
	if have == nil {
		return nil, nil
	}
	have.leads = leads{[]string{mine.number}, readStores(s, all, &err)}
	have.odd, _ = readBlocks(s, []controller{mine}, &err)
	have.idle = idle(s, mine, n.HostNQN)
	if err != nil {
		return nil, err
	}
	return have, nil
}

func (n *NVMeConnection) Steps(have *NVMeConnection) []remote.Step {
	switch {
	case n == nil && have != nil:
		return []remote.Step{host.Run("esxcli", "nvme", "fabrics", "disconnect", "-a", adapterName(have.Transport, have.PCI), "-n", controllerName(have.Transport, have.PCI, have.Address.String(), have.NQN))}
	case n != nil && have == nil:
		return []remote.Step{host.Run("esxcli", "nvme", "fabrics", "connect", "-a", adapterName(n.Transport, n.PCI), "-i", n.Address.Addr().String(),
			"-p", fmt.Sprint(n.Address.Port()), "-s", n.NQN)}
	}
	return nil
}

// About is the controller: over another adapter it is another one, and the old one is pruned
// when that has come.
func (n *NVMeConnection) About() string {
	return strings.Join([]string{n.NQN, n.Transport, n.Address.String(), n.PCI}, ",")
}

// provides: a path from the NIC to the subsystem, or from any.
func (n *NVMeConnection) provides() []string { return []string{n.NQN + " " + n.PCI, n.NQN} }

func (n *NVMeConnection) fails() bool { return n.offline || n.idle != "" }

func (n *NVMeConnection) Left() string {
	switch {
	case len(n.odd) > 0:
		return strings.Join(n.odd, ", ")
	case n.offline:
		return "its controller is not online: esxcli nvme controller list, /var/log/vmkernel.log"
	}
	return n.idle
}

func (n *NVMeConnection) Advice(reply string) string {
	if strings.Contains(reply, "connect") {
		return "the target must listen at " + n.Address.String() + " and admit the NQN of the host; vmkping -I VMK -d -s 8972 " + n.Address.Addr().String() + " shows whether full frames pass"
	}
	return ""
}

const (
	connectPatience = 20 * time.Second // until a controller is online
	storagePatience = 5 * time.Second  // until one that is online has its namespaces
)

// Verify: the controller is online, and gives storage.
func (n *NVMeConnection) Verify(ctx context.Context, h remote.Host) error {
	t := asked(h)
	for begun := time.Now(); ; {
		patience := connectPatience
		seen, err := t.Read(ctx, n.Looks())
		if err != nil {
			return err
		}
		have, err := n.Parse(seen)
		switch {
		case err == nil && have == nil:
			err = fmt.Errorf("the host has no controller of %s at %s", n.NQN, n.Address)
		case err == nil && have.offline:
			err = fmt.Errorf("the controller of %s at %s is not online", n.NQN, n.Address)
		case err == nil && len(have.odd) > 0: // waiting mends nothing
			return errors.New(strings.Join(have.odd, ", "))
		case err == nil && have.idle != "":
			patience, err = storagePatience, errors.New(have.idle)
		}
		if err == nil || time.Since(begun) > patience {
			return err
		}
		if !wait.For(ctx, time.Second) {
			return ctx.Err()
		}
	}
}
