package windows

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
)

// The looks at physical adapters, at where they are, at which of them can do RDMA, and at
// what has taken one. Numbers are asked for in place of names, which other languages have
// otherwise.
func cardsLook() remote.Look {
	return query("Name InterfaceDescription MacAddress MtuSize:int64 MediaConnectionState:int64 ReceiveLinkSpeed:int64 DriverFileName PnPDeviceID", "Get-NetAdapter", "-Physical")
}

// namesLook sees all adapters, those of virtual machines' switches among them.
func namesLook() remote.Look {
	return query("Name InterfaceDescription", "Get-NetAdapter", "-Name", "*")
}

func placesLook() remote.Look {
	return query("Name Segment:int64 Bus:int64 Device:int64 Function:int64 NumaNode:int64", "Get-NetAdapterHardwareInfo")
}

func rdmaLook() remote.Look { return query("Name Enabled:bool", "Get-NetAdapterRdma") }

func bindingsLook() remote.Look {
	return query("Name ComponentID Enabled:bool", "Get-NetAdapterBinding", "-ComponentID", "vms_pp", "ms_implat")
}

func adapterLooks() []remote.Look {
	return []remote.Look{cardsLook(), placesLook(), rdmaLook(), bindingsLook()}
}

// An adapter is a physical NIC of a host.
type adapter struct {
	host.NICFacts
	rdma  bool   // it can do RDMA
	on    bool   // and does
	taken string // what has taken it; "": nothing
}

// readAdapters are the adapters of a host, by PCI address where they have one.
func readAdapters(s remote.Seen) (list []adapter, err error) {
	type card struct {
		Name, InterfaceDescription, MacAddress, DriverFileName, PnPDeviceID string
		MtuSize, MediaConnectionState, ReceiveLinkSpeed                     int64
	}
	type place struct {
		Name                                     string
		Segment, Bus, Device, Function, NumaNode int64
	}
	type mark struct {
		Name, ComponentID string
		Enabled           bool
	}
	cards, err1 := rows[card](s, cardsLook())
	places, err2 := rows[place](s, placesLook())
	rdma, err3 := rows[mark](s, rdmaLook())
	bindings, err4 := rows[mark](s, bindingsLook())
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	for _, c := range cards {
		a := adapter{NICFacts: host.NICFacts{
			Interface: c.Name, Node: -1, Model: c.InterfaceDescription, MAC: strings.ToLower(strings.ReplaceAll(c.MacAddress, "-", ":")),
			MTU: int(c.MtuSize), State: "down", Driver: strings.TrimSuffix(c.DriverFileName, ".sys"), ID: deviceID(c.PnPDeviceID), Speed: c.ReceiveLinkSpeed,
		}}
		up := c.MediaConnectionState == 1 // MediaConnectState: 1 connected, 2 disconnected
		if a.Carrier = &up; up {
			a.State = "up"
		}
		list = append(list, a)
	}
	find := func(name string) *adapter {
		if i := slices.IndexFunc(list, func(a adapter) bool { return a.Interface == name }); i >= 0 {
			return &list[i]
		}
		return new(adapter)
	}
	for _, p := range places {
		a := find(p.Name)
		a.PCI = fmt.Sprintf("%04x:%02x:%02x.%x", p.Segment, p.Bus, p.Device, p.Function)
		if p.NumaNode >= 0 && p.NumaNode < 1024 { // what is not known is 65535
			a.Node = int(p.NumaNode)
		}
	}
	for _, r := range rdma {
		a := find(r.Name)
		a.rdma, a.on = true, r.Enabled
	}
	for _, b := range bindings {
		if b.Enabled {
			find(b.Name).taken = map[string]string{"vms_pp": "a Hyper-V switch", "ms_implat": "an LBFO team"}[b.ComponentID]
		}
	}
	return list, nil
}

// deviceID is vendor and device of a PnP id: PCI\VEN_15B3&DEV_1021&SUBSYS_….
func deviceID(pnp string) string {
	_, rest, ok := strings.Cut(strings.ToUpper(pnp), `PCI\VEN_`)
	vendor, device, ok2 := strings.Cut(rest, "&DEV_")
	if !ok || !ok2 || len(vendor) != 4 || len(device) < 4 {
		return ""
	}
	return strings.ToLower(vendor + ":" + device[:4])
}

// initiatorLook sees the NVMe-oF initiator that comes with Windows Server 2025: it is told,
// and left alone, as Microsoft documents neither its driver nor its tool.
func initiatorLook() remote.Look {
	return ask("the NVMe-oF initiator of Windows", `$tool = [IO.File]::Exists([Environment]::SystemDirectory + '\nvmeofutil.exe')
$value = @(foreach ($d in @(Get-CimInstance -ClassName 'Win32_SystemDriver' -Filter 'Name=''stornvmeofi''')) { @{ name = [string]$d.Name; state = [string]$d.State; tool = $tool } })
`)
}

// initiators are those that a host has; what it does not tell is not there.
func initiators(s remote.Seen) (list []host.NVMeAdapter) {
	type driver struct {
		Name, State string
		Tool        bool
	}
	found, _ := rows[driver](s, initiatorLook())
	for _, d := range found {
		says := d.Name + ".sys, " + d.State
		if d.Tool {
			says += ", with nvmeofutil.exe"
		}
		list = append(list, host.NVMeAdapter{Name: d.Name, Transport: "not told", Driver: says})
	}
	return list
}

func factsLooks(all bool, _ []host.NIC) []remote.Look {
	if all {
		return append(adapterLooks(), namesLook(), whoLook(), initiatorLook())
	}
	return adapterLooks()
}

func surveyLooks() []remote.Look { return append(factsLooks(true, nil), addressesLook()) }

// surveyed adds the addresses that NICs have been given.
func surveyed(s remote.Seen) (*host.ServerFacts, error) {
	f, err := tellFacts(s, true, nil)
	if err != nil {
		return nil, err
	}
	list, err := readAddresses(s)
	if err != nil {
		return nil, err
	}
	for i := range f.NICs {
		for _, l := range list {
			if p, err := l.prefix(); err == nil && l.InterfaceAlias == f.NICs[i].Interface && !p.Addr().IsLinkLocalUnicast() {
				f.NICs[i].Addresses = append(f.NICs[i].Addresses, p)
			}
		}
	}
	return f, nil
}

// tellFacts reads what was seen: the declared NICs first, in their order, and where all
// was asked for every other one.
func tellFacts(s remote.Seen, all bool, nics []host.NIC) (*host.ServerFacts, error) {
	have, err := readAdapters(s)
	if err != nil {
		return nil, err
	}
	f := &host.ServerFacts{}
	for _, n := range nics {
		i := slices.IndexFunc(have, func(a adapter) bool { return a.PCI == n.PCI })
		if i < 0 {
			f.NICs = append(f.NICs, host.NICFacts{Name: n.Name, PCI: n.PCI, Absent: true, Node: -1})
			continue
		}
		have[i].Name = n.Name
		f.NICs = append(f.NICs, have[i].told())
		have = slices.Delete(have, i, i+1)
	}
	if !all {
		return f, nil
	}
	for _, a := range have {
		if a.PCI != "" {
			f.NICs = append(f.NICs, a.told())
		}
	}
	var w who
	if err := answer(s, whoLook(), &w); err != nil {
		return nil, err
	}
	f.Vendor, f.Model, f.Serial, f.System, f.Memory = w.Vendor, w.Model, w.Serial, w.system(), w.Memory<<10
	f.Adapters, f.Taken = initiators(s), takenOf(s)
	return f, nil
}

// takenOf says which NICs something else has, and which ones a Hyper-V switch gives its host:
// weft reports them, and manages neither.
func takenOf(s remote.Seen) (list []string) {
	all, err := readAdapters(s)
	for _, a := range all {
		if a.taken != "" && err == nil {
			list = append(list, fmt.Sprintf("%s belongs to %s: weft reports it, and does not manage it", a.Interface, a.taken))
		}
	}
	type name struct{ Name, InterfaceDescription string }
	named, _ := rows[name](s, namesLook()) // what is not told is not reported
	for _, n := range named {
		if strings.HasPrefix(n.InterfaceDescription, "Hyper-V Virtual Ethernet Adapter") {
			list = append(list, fmt.Sprintf("%s is a NIC that a Hyper-V switch gives its host: weft reports it, and does not manage it", n.Name))
		}
	}
	return list
}

// told are the facts of an adapter with its RDMA, which has no device of its own.
func (a adapter) told() host.NICFacts {
	n := a.NICFacts
	if a.rdma {
		state := "DOWN"
		if a.on && a.State == "up" {
			state = "ACTIVE"
		}
		n.RDMA = []host.RDMAPort{{Device: a.Interface, Port: 1, State: state}}
	}
	return n
}

// checkNIC compares a declared NIC with what was told.
func checkNIC(e host.Expectation, _ *host.ServerFacts, have host.NICFacts) []host.Finding {
	return e.Missing(have, "Get-NetAdapterHardwareInfo shows the adapters with their PCI addresses, in decimal", "Get-NetAdapterRdma shows those that have it")
}
