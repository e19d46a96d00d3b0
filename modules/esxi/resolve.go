package esxi

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
)

// Names of NICs, RDMA devices and adapters are given by the host, and may be others after
// a card has been changed; an adapter may be made by the step before. Where a step means
// one, it says so by the PCI address of the NIC, and the host is asked when it is taken:
//
//	{nic 0000:41:00.0}           vmnic4
//	{rdma 0000:41:00.0}          vmrdma0
//	{adapter rdma 0000:41:00.0}  vmhba64
//
//	{controller rdma 0000:41:00.0 10.0.0.1:4420 nqn.x}  257, on that adapter
//
// A look at {nic all} is one at each NIC, and is seen as that.
var named = regexp.MustCompile(`^\{(nic|rdma|adapter (?:rdma|tcp)) ([0-9a-f:.]+|all)\}$`)

var numbered = regexp.MustCompile(`^\{controller (rdma|tcp) ([0-9a-f:.]+) (\S+) (\S+)\}$`)

// everyNIC stands for the PCI address of each NIC of a host, in looks.
const everyNIC = "all"

func nicName(pci string) string                { return "{nic " + pci + "}" }
func rdmaName(pci string) string               { return "{rdma " + pci + "}" }
func adapterName(transport, pci string) string { return "{adapter " + transport + " " + pci + "}" }

func controllerName(transport, pci, address, nqn string) string {
	return "{controller " + transport + " " + pci + " " + address + " " + nqn + "}"
}

// resolve gives arguments the names that they stand for today.
func (t transport) resolve(ctx context.Context, args []string) ([]string, error) {
	if !slices.ContainsFunc(args, meansDevice) {
		return args, nil
	}
	looks := deviceLooks()
	if slices.ContainsFunc(args, numbered.MatchString) {
		looks = append(looks, controllersLook())
	}
	seen, err := t.Read(ctx, looks)
	if err != nil {
		return nil, err
	}
	d, err := readDevices(seen)
	if err != nil {
		return nil, err
	}
	if args, err = d.numbers(seen, args); err != nil {
		return nil, err
	}
	return d.names(args)
}

// numbers gives arguments the numbers of the controllers that they stand for.
func (d devices) numbers(s remote.Seen, args []string) (out []string, err error) {
	out = slices.Clone(args)
	for i, a := range args {
		m := numbered.FindStringSubmatch(a)
		if m == nil {
			continue
		}
		on, err := d.name("adapter "+m[1], m[2])
		if err != nil {
			return nil, err
		}
		all := readControllers(s, &err)
		if err != nil {
			return nil, err
		}
		at := slices.IndexFunc(all, func(c controller) bool { return c.adapter == on && c.address == m[3] && c.nqn == m[4] })
		if at < 0 {
			return nil, fmt.Errorf("%s has no controller of %s at %s: esxcli nvme controller list", on, m[4], m[3])
		}
		out[i] = all[at].number
	}
	return out, nil
}

// meansDevice reports whether an argument stands for the name of a device.
func meansDevice(arg string) bool { return named.MatchString(arg) || numbered.MatchString(arg) }

// names gives arguments the names that they stand for.
func (d devices) names(args []string) (out []string, err error) {
	out = make([]string, len(args))
	for i, a := range args {
		if out[i] = a; !named.MatchString(a) {
			continue
		}
		m := named.FindStringSubmatch(a)
		if out[i], err = d.name(m[1], m[2]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Devices are what a host has of NICs and what runs on them.
type devices struct {
	nics     []host.NICFacts
	adapters []adapter
}

func deviceLooks() []remote.Look { return []remote.Look{nicsLook(), rdmaLook(), adaptersLook()} }

func readDevices(s remote.Seen) (d devices, err error) {
	d.nics = readNICs(s, &err)
	d.adapters = readAdapters(s, &err)
	return d, err
}

// nic is that of a PCI address.
func (d devices) nic(pci string) (*host.NICFacts, error) {
	for i := range d.nics {
		if d.nics[i].PCI == pci {
			return &d.nics[i], nil
		}
	}
	return nil, fmt.Errorf("the host has no NIC at PCI address %s: esxcli network nic list", pci)
}

// name is that of what runs on the NIC of a PCI address.
func (d devices) name(what, pci string) (string, error) {
	n, err := d.nic(pci)
	switch {
	case err != nil:
		return "", err
	case what == "nic":
		return n.Interface, nil
	case what == "rdma" && len(n.RDMA) == 0:
		return "", fmt.Errorf("%s at %s has no RDMA device: esxcli rdma device list", n.Interface, pci)
	case what == "rdma":
		return n.RDMA[0].Device, nil
	}
	transport := strings.TrimPrefix(what, "adapter ")
	if a := d.adapter(transport, n); a != nil {
		return a.Name, nil
	}
	return "", fmt.Errorf("NVMe over %s is not enabled on %s at %s: esxcli nvme adapter list", transport, n.Interface, pci)
}

// adapter is the one on a NIC; nil: there is none.
func (d devices) adapter(transport string, n *host.NICFacts) *adapter {
	on := n.Interface
	if transport == "rdma" {
		if len(n.RDMA) == 0 {
			return nil
		}
		on = n.RDMA[0].Device
	}
	for i, a := range d.adapters {
		if !strings.EqualFold(a.Transport, transport) {
			continue
		}
		if slices.Contains(a.Devices, on) {
			return &d.adapters[i]
		}
	}
	return nil
}

// each has looks at every NIC be one at each of those that there are.
func (d devices) each(looks []remote.Look) (out []remote.Look) {
	for _, l := range looks {
		at := slices.Index(l.Args, nicName(everyNIC))
		if at < 0 {
			out = append(out, l)
			continue
		}
		for _, n := range d.nics {
			one := remote.Look{Args: slices.Clone(l.Args), Own: l.Own}
			one.Args[at] = nicName(n.PCI)
			out = append(out, one)
		}
	}
	return out
}
