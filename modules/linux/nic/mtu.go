package nic

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// MTU keeps the MTU of the network interface of one NIC port.
type MTU struct {
	PCI       string // address of the NIC port: 0000:41:00.0
	Interface string `json:"-"` // observed: the name it has today
	Bytes     int

	IPoIB bool `json:"-"` // the fabric is InfiniBand
}

// MTUKind is the kind mtu.
func MTUKind() *host.Kind[MTU] {
	return &host.Kind[MTU]{
		Name: "mtu", Lasting: true, Risky: true,
		Looks: (*MTU).Looks, Parse: (*MTU).Parse, Diff: (*MTU).Diff, Steps: (*MTU).Steps,
		About: (*MTU).About, Boot: (*MTU).Boot, Advice: (*MTU).Advice, NIC: (*MTU).About,
		Special: host.Special[MTU]{FabricPart: "host_mtu"},
	}
}

func (m *MTU) look() remote.Look {
	return remote.Look{PCI: m.PCI, File: "/sys/class/net/{if}/mtu"}
}

func (m *MTU) Looks() []remote.Look { return []remote.Look{m.look()} }

func (m *MTU) Parse(s remote.Seen) (*MTU, error) {
	name, err := see.Netdev(s, m.PCI)
	if err != nil {
		return nil, err
	}
	text, err := see.Content(s, m.look())
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("mtu of %s reads %q", name, text)
	}
	return &MTU{PCI: m.PCI, Interface: name, Bytes: n}, nil
}

// Diff: NICs re-open their queues when the MTU changes, which
// some do by taking the link down.
func (m *MTU) Diff(have *MTU) []plan.Change {
	return plan.Changed("bytes", have.Bytes, m.Bytes, plan.ImpactLinkFlap)
}

func (m *MTU) Steps(have *MTU) []remote.Step {
	return []remote.Step{host.Run("ip", "link", "set", "dev", cmp.Or(m.Interface, have.Interface), "mtu", strconv.Itoa(m.Bytes))}
}

// Advice: the kernel takes what fits the port, and quietly
// keeps to less where the multicast group of the partition has less.
func (m *MTU) Advice(reply string) string {
	switch refused := strings.Contains(reply, "Invalid argument") || strings.Contains(reply, "greater than device maximum"); {
	case refused && m.IPoIB:
		return fmt.Sprintf("an interface of InfiniBand takes at most %d in datagram mode, and 65520 in connected mode: see its mode in /sys/class/net", MostDatagram)
	case refused:
		return "the interface says how much it takes: maxmtu in ip -d link show"
	case reply == "" && m.IPoIB:
		return "an interface of InfiniBand has no more than the multicast group of its partition: mtu=5 in partitions.conf of opensm stands for 4096, less a header of 4"
	}
	return ""
}

func (m *MTU) About() string { return m.PCI }

func (m *MTU) Boot() []string {
	return []string{onNIC(m.PCI, []string{"ip", "link", "set", "dev"}, []string{"mtu", fmt.Sprint(m.Bytes)})}
}

// Datagrams of IPoIB are at most the largest packet of InfiniBand, less a
// header of its own: kernel.org, infiniband/ipoib.
const MostDatagram = 4096 - 4
