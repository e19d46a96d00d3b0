package windows

import (
	"fmt"
	"net/netip"

	"weft/internal/remote"
	"weft/modules/host"
)

// An Address is one of IPv4 on an adapter.
type Address struct {
	PCI  string
	CIDR netip.Prefix
}

// AddressKind is the kind ip_address.
func AddressKind() *host.Kind[Address] {
	return &host.Kind[Address]{
		Name: "ip_address", Present: "present", Risky: true,
		Looks: (*Address).Looks, Parse: (*Address).Parse, Steps: (*Address).Steps,
		NIC: func(a *Address) string { return a.PCI },
	}
}

// addressesLook sees all of the host: of one adapter without any, the cmdlet would say
// that there are none as an error.
func addressesLook() remote.Look {
	return query("IPAddress PrefixLength:int64 InterfaceAlias PrefixOrigin AddressState", "Get-NetIPAddress", "-AddressFamily", "IPv4")
}

// A given is an address as Windows shows it.
type given struct {
	IPAddress, InterfaceAlias, PrefixOrigin, AddressState string
	PrefixLength                                          int
}

func readAddresses(s remote.Seen) ([]given, error) { return rows[given](s, addressesLook()) }

func (g given) prefix() (netip.Prefix, error) {
	ip, err := netip.ParseAddr(g.IPAddress)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("Get-NetIPAddress: %w", err)
	}
	return netip.PrefixFrom(ip, g.PrefixLength), nil
}

func (a *Address) Looks() []remote.Look {
	return append(adapterLooks(), intentLook(), addressesLook())
}

func (a *Address) Parse(s remote.Seen) (*Address, error) {
	nic, err := own(s, a.PCI)
	if err != nil {
		return nil, err
	}
	list, err := readAddresses(s)
	if err != nil {
		return nil, err
	}
	var have *Address
	for _, l := range list {
		stands, err := l.prefix()
		ip := stands.Addr()
		switch {
		case err != nil:
			return nil, err
		case l.InterfaceAlias == nic.Interface && l.PrefixOrigin == "Dhcp":
			return nil, fmt.Errorf("%s has its address %s by DHCP: weft sets none beside it", nic.Interface, ip)
		case ip != a.CIDR.Addr():
		case l.InterfaceAlias != nic.Interface:
			return nil, fmt.Errorf("%s is already on %s", ip, l.InterfaceAlias)
		case l.AddressState == "Duplicate":
			return nil, fmt.Errorf("another machine has %s as well", ip)
		case l.PrefixLength != a.CIDR.Bits():
			return nil, fmt.Errorf("%s is on %s with the prefix length %d, which weft does not change", ip, nic.Interface, l.PrefixLength)
		default:
			have = &Address{a.PCI, stands}
		}
	}
	return have, nil
}

func (a *Address) Steps(have *Address) []remote.Step {
	switch {
	case a != nil && have == nil:
		return []remote.Step{host.Run("New-NetIPAddress", "-InterfaceAlias", nicName(a.PCI), "-IPAddress", a.CIDR.Addr().String(), "-PrefixLength", fmt.Sprint(a.CIDR.Bits()))}
	case a == nil && have != nil:
		return []remote.Step{host.Run("Remove-NetIPAddress", "-InterfaceAlias", nicName(have.PCI), "-IPAddress", have.CIDR.Addr().String(), "-Confirm:$false")}
	}
	return nil
}
