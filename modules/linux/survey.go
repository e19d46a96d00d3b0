package linux

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/modules/linux/storage"
)

// surveyLooks are the facts of a machine of which nothing is declared.
func surveyLooks() []remote.Look {
	return append([]remote.Look{everyLook(), addressesLook(), hostnameLook(), nvmeLook(), heardLook(), subnetLook(), tuningLook()}, storage.SurveyLooks()...)
}

func everyLook() remote.Look {
	return remote.Look{Args: []string{"sh", "-c", factsScript, "sh", "every"}, Root: true, Own: true}
}

func addressesLook() remote.Look { return remote.Look{Args: []string{"ip", "-j", "addr", "show"}} }

func hostnameLook() remote.Look { return remote.Look{File: "/proc/sys/kernel/hostname"} }

// surveyed reads what they saw.
func surveyed(s remote.Seen) (*host.ServerFacts, error) {
	text, err := see.Output(s, everyLook())
	if err != nil {
		return nil, err
	}
	f := parseFacts(text)
	for _, pci := range slices.Sorted(maps.Keys(f.devices)) {
		for _, place := range f.places(pci) {
			f.server.NICs = append(f.server.NICs, f.nic("", place))
		}
	}
	f.server.Name = s.Of(hostnameLook()).Text() // "" where it cannot be read
	out, err := see.Output(s, addressesLook())
	if err != nil {
		return nil, err
	}
	have, of, err := parseAddresses(out)
	if err != nil {
		return nil, err
	}
	f.server.Bundles = bundles(f.server.NICs, have, of)
	heard := map[string][]host.Heard{}
	if text, err := see.Output(s, heardLook()); err == nil { // else no agent is there
		if heard, err = parseHeard(text); err != nil {
			f.server.Deaf = err.Error()
		}
	}
	plugged := map[ibPort]host.Heard{}
	if text, err := see.Output(s, subnetLook()); err == nil {
		plugged = parseSubnet(text)
	}
	for i, n := range f.server.NICs {
		f.server.NICs[i].Addresses, f.server.NICs[i].Heard = have[n.Interface], heard[n.Interface]
		for _, r := range n.RDMA {
			if p, ok := plugged[ibPort{r.Device, r.Port}]; ok {
				f.server.NICs[i].Heard = append(f.server.NICs[i].Heard, p)
			}
		}
	}
	if text, err := see.Output(s, nvmeLook()); err == nil { // else it is not known
		f.server.NVMe = parseNVMe(text)
	}
	if text, err := see.Output(s, tuningLook()); err == nil {
		f.server.Tuning = parseTuning(text)
	}
	f.server.Volumes, _ = storage.Surveyed(s) // else it is not known
	return &f.server, nil
}

// A part is what an interface is part of.
type part struct {
	of   string
	bond bool
}

// bundles are the interfaces that NICs are part of.
func bundles(nics []host.NICFacts, have map[string][]netip.Prefix, of map[string]part) (list []host.Bundle) {
	for _, n := range nics {
		p, is := of[n.Interface]
		if !is {
			continue
		}
		i := slices.IndexFunc(list, func(b host.Bundle) bool { return b.Name == p.of })
		if i < 0 {
			i = len(list)
			list = append(list, host.Bundle{Name: p.of, Bond: p.bond, Addresses: have[p.of]})
		}
		list[i].Interfaces = append(list[i].Interfaces, n.Interface)
	}
	return list
}

// parseAddresses reads what ip -j addr show prints, by interface, and what interfaces are
// part of. What belongs to a link only is nobody's to declare. The kernel gives the flag
// SLAVE to members of bonds only.
func parseAddresses(out []byte) (map[string][]netip.Prefix, map[string]part, error) {
	var links []struct {
		Name   string   `json:"ifname"`
		Master string   `json:"master"`
		Flags  []string `json:"flags"`
		Addrs  []struct {
			Local netip.Addr `json:"local"`
			Bits  int        `json:"prefixlen"`
		} `json:"addr_info"`
	}
	if err := see.JSON(out, &links); err != nil {
		return nil, nil, fmt.Errorf("ip -j addr show: %w", err)
	}
	have, of := map[string][]netip.Prefix{}, map[string]part{}
	for _, l := range links {
		if l.Master != "" {
			of[l.Name] = part{l.Master, slices.Contains(l.Flags, "SLAVE")}
		}
		for _, a := range l.Addrs {
			if p := netip.PrefixFrom(a.Local, a.Bits); p.IsValid() && l.Name != "" && !a.Local.IsLinkLocalUnicast() {
				have[l.Name] = append(have[l.Name], p)
			}
		}
	}
	return have, of, nil
}
