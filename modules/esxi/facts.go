package esxi

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
)

func nicsLook() remote.Look     { return ask("network", "nic", "list") }
func rdmaLook() remote.Look     { return ask("rdma", "device", "list") }
func adaptersLook() remote.Look { return ask("nvme", "adapter", "list") }
func nqnLook() remote.Look      { return ask("nvme", "info", "get") }
func cpuLook() remote.Look      { return ask("hardware", "cpu", "global", "get") }
func memoryLook() remote.Look   { return ask("hardware", "memory", "get") }

// factsLooks are the looks at a host and its NICs, all of it or what something is
// compared with.
func factsLooks(all bool, _ []host.NIC) []remote.Look {
	nics := []remote.Look{nicsLook(), rdmaLook()}
	if !all {
		return nics
	}
	return slices.Concat(whoLooks(), nics, []remote.Look{adaptersLook(), nqnLook(), cpuLook(), memoryLook()})
}

func surveyLooks() []remote.Look {
	return append(factsLooks(true, nil), portsLook(), addressesLook(""), switchesLook())
}

// surveyed adds what the ports of the VMkernel on standard switches have: that of a switch
// with one uplink goes out there, of any other the host does not say where.
func surveyed(s remote.Seen) (*host.ServerFacts, error) {
	f, err := tellFacts(s, true, nil)
	if err != nil {
		return nil, err
	}
	uplinks, addresses := map[string][]string{}, map[string]netip.Prefix{} // of a port group, of a port
	for _, sw := range table(s, switchesLook(), &err) {
		for _, g := range sw.list("Portgroups") {
			uplinks[g] = sw.list("Uplinks")
		}
	}
	for _, r := range table(s, addressesLook(""), &err) {
		addresses[r.text("Name")] = prefix(r.text("IPv4Address"), r.text("IPv4Netmask"))
	}
	for _, r := range table(s, portsLook(), &err) {
		on := uplinks[r.text("Portgroup")]
		mac := strings.ToLower(r.maybe("MACAddress"))
		if len(on) != 1 {
			f.Adrift = append(f.Adrift, host.PortFacts{Name: r.text("Name"), MAC: mac})
			continue
		}
		for i := range f.NICs {
			n := &f.NICs[i]
			if on[0] != n.Interface {
				continue
			}
			if a := addresses[r.text("Name")]; a.IsValid() {
				n.Addresses = append(n.Addresses, a)
			}
			if mac != "" {
				n.Sends = append(n.Sends, mac)
			}
		}
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// tellFacts reads what was seen: the declared NICs first, in their order, and where
// all was asked for every other one.
func tellFacts(s remote.Seen, all bool, nics []host.NIC) (*host.ServerFacts, error) {
	var err error
	have := readNICs(s, &err)
	if err != nil {
		return nil, err
	}
	f := &host.ServerFacts{}
	for _, n := range nics {
		if i := slices.IndexFunc(have, func(h host.NICFacts) bool { return h.PCI == n.PCI }); i >= 0 {
			have[i].Name = n.Name
			f.NICs = append(f.NICs, have[i])
			have = slices.Delete(have, i, i+1)
		} else {
			f.NICs = append(f.NICs, host.NICFacts{Name: n.Name, PCI: n.PCI, Absent: true, Node: -1})
		}
	}
	if !all {
		return f, nil
	}
	f.NICs = append(f.NICs, have...)
	f.System = release(one(s, versionLook(), &err))
	platform := one(s, platformLook(), &err)
	f.Vendor, f.Model, f.Serial = platform.maybe("VendorName"), platform.maybe("ProductName"), platform.maybe("SerialNumber")
	if err != nil {
		return nil, err
	}
	readMachine(s, f)
	return f, readNVMe(s, f)
}

// readMachine reads processors and memory, which not every release tells.
func readMachine(s remote.Seen, f *host.ServerFacts) {
	var unknown error
	if r := one(s, cpuLook(), &unknown); unknown == nil && r.has("CPUThreads") {
		f.CPUs = r.number("CPUThreads")
	}
	if r := one(s, memoryLook(), &unknown); unknown == nil {
		f.Memory, _ = strconv.ParseInt(first(r.maybe("PhysicalMemory")), 10, 64) // 34349703168, or with its unit
		if r.has("NUMANodeCount") {
			f.Nodes = r.number("NUMANodeCount")
		}
	}
}

// first is the first word of a text.
func first(text string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(text), " ")
	return word
}

// readNVMe reads the NQN of the host, which it gives itself, and its adapters of NVMe.
func readNVMe(s remote.Seen, f *host.ServerFacts) (err error) {
	f.HostNQN = hostNQN(s, &err)
	for _, a := range readAdapters(s, &err) {
		f.Adapters = append(f.Adapters, host.NVMeAdapter{Name: a.Name, Transport: strings.ToLower(a.Transport), Driver: a.Driver, Devices: a.Devices})
	}
	return err
}

// hostNQN is that of the host: a structure with a field, or a text alone, by release.
func hostNQN(s remote.Seen, err *error) string {
	v, wrong := answer(s, nqnLook())
	switch {
	case wrong != nil:
		fail(err, "%w", wrong)
		return ""
	case v.kind == "structure" || v.kind == "list":
		if list := rowsOf(v, command(nqnLook()), err); len(list) == 1 {
			return list[0].text("HostNQN")
		}
	case strings.HasPrefix(v.text, "nqn."):
		return v.text
	}
	fail(err, "%s: there is no host NQN", command(nqnLook()))
	return ""
}

// An adapter is one of the host's adapters of NVMe, as it lists them.
type adapter struct {
	Name, Transport, Driver string
	Devices                 []string // vmnic0; of RDMA vmrdma0 and its uplink
}

func readAdapters(s remote.Seen, err *error) (list []adapter) {
	for _, r := range table(s, adaptersLook(), err) {
		list = append(list, adapter{r.text("Adapter"), r.text("TransportType"), r.text("Driver"), r.list("AssociatedDevices")})
	}
	return list
}

// readNICs are the physical NICs of a host with their RDMA devices, by name. Those are
// told apart by their uplink: their own numbers are given anew at each start.
func readNICs(s remote.Seen, err *error) (list []host.NICFacts) {
	for _, r := range table(s, nicsLook(), err) {
		n := host.NICFacts{Name: r.text("Name"), PCI: strings.ToLower(r.text("PCIDevice")), Node: -1, Driver: r.maybe("Driver"),
			Interface: r.text("Name"), MAC: strings.ToLower(r.text("MACAddress")), MTU: r.number("MTU"), State: strings.ToLower(r.maybe("AdminStatus")),
			Model: r.maybe("Description")}
		carrier := strings.EqualFold(r.text("LinkStatus"), "up")
		n.Carrier, n.Speed = &carrier, int64(r.number("Speed"))*1e6 // Mbit/s
		list = append(list, n)
	}
	for _, r := range table(s, rdmaLook(), err) {
		uplink := r.text("PairedUplink")
		for i := range list {
			if list[i].Interface == uplink {
				list[i].RDMA = append(list[i].RDMA, host.RDMAPort{Device: r.text("Name"), Port: 1, State: strings.ToUpper(r.text("State")), Rate: r.maybe("Speed")})
			}
		}
	}
	return list
}

// checkNIC compares a declared NIC with what was told.
func checkNIC(e host.Expectation, _ *host.ServerFacts, have host.NICFacts) []host.Finding {
	return e.Missing(have, "esxcli network nic list shows the NICs of the host with their PCI addresses",
		"esxcli rdma device list shows what there is; some drivers have RDMA off until a module parameter turns it on")
}
