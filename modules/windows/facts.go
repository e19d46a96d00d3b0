package windows

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/modules/host"
)

// adaptersLook reads the physical adapters, those of them on PCI with where they are, and
// which of them can do RDMA. Numbers are asked for in place of names, which other
// languages have otherwise. components are what of Hyper-V, a team and the like has taken
// an adapter: its settings are not its own then.
func adaptersLook() remote.Look {
	return ask("Get-NetAdapter", `$places = @(foreach ($h in @(Get-NetAdapterHardwareInfo)) { @{ name = [string]$h.Name; segment = [int]$h.Segment; bus = [int]$h.Bus; device = [int]$h.Device; function = [int]$h.Function; node = [int]$h.NumaNode } })
$rdma = @(foreach ($r in @(Get-NetAdapterRdma)) { @{ name = [string]$r.Name; enabled = [bool]$r.Enabled } })
$taken = @(foreach ($b in @(Get-NetAdapterBinding -ComponentID 'vms_pp','ms_implat')) { if ([bool]$b.Enabled) { @{ name = [string]$b.Name; component = [string]$b.ComponentID } } })
$adapters = @(foreach ($a in @(Get-NetAdapter -Physical)) { @{ name = [string]$a.Name; description = [string]$a.InterfaceDescription; mac = [string]$a.MacAddress
mtu = [int]$a.MtuSize; media = [int]$a.MediaConnectionState; admin = [int]$a.InterfaceAdminStatus; speed = [int64]$a.ReceiveLinkSpeed; driver = [string]$a.DriverFileName; version = [string]$a.DriverVersion; pnp = [string]$a.PnPDeviceID } })
$value = @{ adapters = $adapters; places = $places; rdma = $rdma; taken = $taken }
`)
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
	var all struct {
		Adapters, Places, RDMA, Taken jsonRows
	}
	if err := answer(s, adaptersLook(), &all); err != nil {
		return nil, err
	}
	for _, r := range all.Adapters.rows(&err) {
		a := adapter{NICFacts: host.NICFacts{
			Interface: r.text("name"), Node: -1, Model: r.text("description"), MAC: strings.ToLower(strings.ReplaceAll(r.text("mac"), "-", ":")),
			MTU: r.number("mtu"), State: "down", Driver: strings.TrimSuffix(r.text("driver"), ".sys"), Firmware: "",
		}}
		up := r.number("media") == 1 // MediaConnectState: 1 connected, 2 disconnected
		a.Carrier, a.Speed = &up, int64(r.number("speed"))
		if a.ID = deviceID(r.text("pnp")); up {
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
	for _, r := range all.Places.rows(&err) {
		a := find(r.text("name"))
		a.PCI = fmt.Sprintf("%04x:%02x:%02x.%x", r.number("segment"), r.number("bus"), r.number("device"), r.number("function"))
		if n := r.number("node"); n >= 0 && n < 1024 { // what is not known is 65535
			a.Node = n
		}
	}
	for _, r := range all.RDMA.rows(&err) {
		a := find(r.text("name"))
		a.rdma, a.on = true, r.flag("enabled")
	}
	for _, r := range all.Taken.rows(&err) {
		what := map[string]string{"vms_pp": "a Hyper-V switch", "ms_implat": "an LBFO team"}[r.text("component")]
		find(r.text("name")).taken = what
	}
	if err != nil {
		return nil, fmt.Errorf("Get-NetAdapter: %w", err)
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

func factsLooks(all bool, _ []host.NIC) []remote.Look {
	if all {
		return []remote.Look{adaptersLook(), whoLook()}
	}
	return []remote.Look{adaptersLook()}
}

func surveyLooks() []remote.Look { return factsLooks(true, nil) }

func surveyed(s remote.Seen) (*host.ServerFacts, error) { return tellFacts(s, true, nil) }

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
	return f, nil
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
func checkNIC(e host.Expectation, _ *host.ServerFacts, have host.NICFacts) (list []host.Finding) {
	at := e.RNIC.At("match")
	find := func(refuses bool, advice, text string) {
		list = append(list, host.Finding{RNIC: e.RNIC.Name, Place: at.Filename + ":" + strconv.Itoa(at.Start.Line), Text: text, Hint: advice, Refuses: refuses, PCI: e.RNIC.PCI})
	}
	switch {
	case have.Absent:
		find(true, "Get-NetAdapterHardwareInfo shows the adapters with their PCI addresses, in decimal", "the host has no adapter at PCI address "+have.PCI)
	case have.Carrier != nil && !*have.Carrier:
		find(false, "", have.Interface+" has no link")
	case e.RNIC.Fabric != nil && e.RNIC.Fabric.Transport != "tcp" && len(have.RDMA) == 0:
		find(false, "Get-NetAdapterRdma shows those that have it", have.Interface+" ("+have.Driver+") cannot do RDMA")
	}
	return list
}
