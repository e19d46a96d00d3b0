package windows

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/windows/powershell"
	"weft/plan"
)

// portOf makes what a NIC of a fabric is to have. A fabric of RDMA asks for more than is
// managed yet: VLAN, PFC, traffic classes and policies.
func portOf(d *host.Machine, r *inventory.RNIC) (list []host.Wanted, err error) {
	switch {
	case r.Fabric == nil || r.Fabric.Transport != "tcp":
		return nil, errors.New("a NIC of Windows needs a fabric with transport = \"tcp\": RDMA there is described, not yet managed")
	case r.PCI == "":
		return nil, errors.New("a NIC is found by match = { pci = … } only")
	case r.VMK != nil:
		return nil, errors.New("a vmk is of ESXi")
	case r.Software:
		return nil, errors.New("there is no RDMA in software on Windows")
	}
	list = []host.Wanted{{Kind: "jumbo", Name: r.Name, Resource: JumboKind().Want(d, &Jumbo{PCI: r.PCI, MTU: r.Fabric.HostMTU})}}
	if r.Address.IsValid() {
		if !r.Address.Addr().Is4() {
			return nil, errors.New("an address of a NIC of Windows is one of IPv4")
		}
		list = append(list, host.Wanted{Kind: "ip_address", Name: r.Name, Resource: AddressKind().Want(d, &Address{PCI: r.PCI, CIDR: r.Address})})
	}
	return list, nil
}

// intentLook asks Network ATC, which a host may not have, whether it keeps anything.
func intentLook() remote.Look { return query("IntentName", "Get-NetIntent") }

// own is the adapter at a PCI address, where its settings are weft's to make: not where a
// Hyper-V switch, a team or Network ATC has them, nor where that is not known.
func own(s remote.Seen, pci string) (adapter, error) {
	all, err := readAdapters(s)
	if err != nil {
		return adapter{}, err
	}
	i := slices.IndexFunc(all, func(a adapter) bool { return a.PCI == pci })
	if i < 0 {
		return adapter{}, fmt.Errorf("the host has no adapter at PCI address %s: Get-NetAdapterHardwareInfo", pci)
	}
	if a := all[i]; a.taken != "" {
		return a, fmt.Errorf("%s belongs to %s: described, not yet managed", a.Interface, a.taken)
	}
	if got := s.Of(intentLook()); got.Err != nil && !strings.Contains(got.Err.Error(), "CommandNotFoundException") {
		return all[i], fmt.Errorf("whether Network ATC keeps the settings of NICs is not known: %w", got.Err)
	} else if got.Err == nil {
		type intent struct{ IntentName string }
		list, err := rows[intent](s, intentLook())
		if err != nil {
			return all[i], err
		}
		if len(list) > 0 {
			return all[i], hint.Wrap(fmt.Errorf("the intent %s of Network ATC keeps the settings of NICs of this host, and makes them again", list[0].IntentName),
				"change the intent, or leave the NIC out of a fabric: Get-NetIntent")
		}
	}
	return all[i], nil
}

// header is that of Ethernet, which *JumboPacket counts.
const header = 14

// A Jumbo is the largest frame of an adapter.
type Jumbo struct {
	PCI string
	MTU int // bytes, without the header of Ethernet
}

// JumboKind is the kind jumbo.
func JumboKind() *host.Kind[Jumbo] {
	return &host.Kind[Jumbo]{
		Name: "jumbo", Lasting: true, Risky: true,
		Looks: (*Jumbo).Looks, Parse: (*Jumbo).Parse, Diff: (*Jumbo).Diff, Steps: (*Jumbo).Steps,
		NIC: func(j *Jumbo) string { return j.PCI },
	}
}

func (j *Jumbo) look() remote.Look {
	return query("RegistryKeyword RegistryValue:list ValidRegistryValues:list NumericParameterMinValue NumericParameterMaxValue",
		"Get-NetAdapterAdvancedProperty", "-Name", nicName(j.PCI), "-RegistryKeyword", "*JumboPacket")
}

func (j *Jumbo) Looks() []remote.Look {
	return append(adapterLooks(), intentLook(), j.look())
}

func (j *Jumbo) Parse(s remote.Seen) (*Jumbo, error) {
	a, err := own(s, j.PCI)
	if err != nil {
		return nil, err
	}
	type property struct {
		RegistryKeyword                                    string
		RegistryValue, ValidRegistryValues                 powershell.List
		NumericParameterMinValue, NumericParameterMaxValue string
	}
	list, err := rows[property](s, j.look())
	switch {
	case err != nil:
		return nil, err
	case len(list) != 1 || list[0].RegistryKeyword != "*JumboPacket" || len(list[0].RegistryValue) != 1:
		return nil, fmt.Errorf("the driver of %s has no setting *JumboPacket of its own: Get-NetAdapterAdvancedProperty", a.Interface)
	}
	p := list[0]
	var now string
	if err := json.Unmarshal(p.RegistryValue[0], &now); err != nil {
		return nil, fmt.Errorf("*JumboPacket of %s: %w", a.Interface, err)
	}
	frame, err := strconv.Atoi(now)
	if err != nil || frame < header {
		return nil, fmt.Errorf("*JumboPacket of %s is %q", a.Interface, now)
	}
	if err := allows(p.ValidRegistryValues, p.NumericParameterMinValue, p.NumericParameterMaxValue, j.MTU+header); err != nil {
		return nil, fmt.Errorf("*JumboPacket of %s: %w", a.Interface, err)
	}
	return &Jumbo{j.PCI, frame - header}, nil
}

// allows says why a property does not take a number; it has a list of values, or limits.
func allows(list powershell.List, low, high string, n int) error {
	var words []string
	for _, raw := range list {
		var w string
		if json.Unmarshal(raw, &w) == nil && w != "" {
			words = append(words, w)
		}
	}
	if len(words) > 0 {
		if slices.Contains(words, strconv.Itoa(n)) {
			return nil
		}
		return fmt.Errorf("its driver takes %s, and not %d, %d of them the header", strings.Join(words, ", "), n, header)
	}
	from, err1 := strconv.Atoi(low)
	to, err2 := strconv.Atoi(high)
	if err1 != nil || err2 != nil {
		return fmt.Errorf("its driver does not say what it takes, and weft does not try %d", n)
	}
	if n < from || n > to {
		return fmt.Errorf("its driver takes %d to %d, and not %d, %d of them the header", from, to, n, header)
	}
	return nil
}

func (j *Jumbo) Diff(have *Jumbo) []plan.Change {
	if j == nil { // an adapter always has one
		return nil
	}
	return plan.Changed("mtu", host.Some(have).MTU, j.MTU, plan.ImpactLinkFlap)
}

// Steps: the cmdlet restarts the adapter, which the driver needs to take it.
func (j *Jumbo) Steps(have *Jumbo) []remote.Step {
	if j == nil || have != nil && have.MTU == j.MTU {
		return nil
	}
	return []remote.Step{host.Run("Set-NetAdapterAdvancedProperty", "-Name", nicName(j.PCI), "-RegistryKeyword", "*JumboPacket",
		"-RegistryValue", strconv.Itoa(j.MTU+header), "-Confirm:$false")}
}
