package esxi

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/internal/slice"
	"weft/modules/host"
)

// examineLooks are the looks at how a host is: at its NICs, at what they have agreed with
// their switches, and at its paths to storage. The rest of what weft doctor judges has no
// source on ESXi.
func examineLooks() []remote.Look {
	return slices.Concat(surveyLooks(), []remote.Look{dcbLook(everyNIC), pauseLook(), controllersLook(), namespacesLook(), pathsLook()})
}

// examined: what a host does not tell is not known, and no error. It stays one of which
// what it is was read, and little of how it is.
func examined(s remote.Seen) (*host.Health, error) {
	f, err := surveyed(s)
	if err != nil {
		return nil, err
	}
	h := &host.Health{Facts: *f, Name: f.Name, Bare: true}
	h.NICs = slice.Map(f.NICs, func(n host.NICFacts) host.NICHealth { return nicHealth(s, n) })
	for _, c := range readControllers(s, &err) {
		one := host.Controller{Name: "controller " + c.number, State: "live", NQN: c.nqn, HostNQN: f.HostNQN, Namespaces: readNamespaces(s, c)}
		if !c.online {
			one.State = "not online"
		}
		address, port, _ := strings.Cut(c.address, ":")
		one.Address = fmt.Sprintf("traddr=%s,trsvcid=%s", address, port)
		for _, a := range f.Adapters {
			if a.Name == c.adapter {
				one.Transport = a.Transport
			}
		}
		h.Controllers = append(h.Controllers, one)
	}
	return h, err
}

// nicHealth is what a NIC says of pauses. A port without RDMA is not asked for PFC: that it
// has none is as it should be.
func nicHealth(s remote.Seen, n host.NICFacts) host.NICHealth {
	out := host.NICHealth{NICFacts: n, Silent: map[string]string{}}
	d, err := (&DCB{PCI: n.PCI}).Parse(s)
	switch {
	case err != nil:
		out.Silent["pfc"] = err.Error()
	case len(n.RDMA) == 0:
		out.Silent["pfc"] = "no RDMA device runs on it"
	case d.pfc == "false":
		out.PFC = []int{}
	case d.pfc == "true" && d.paused != nil:
		out.PFC = d.paused
	case d.mute != "":
		out.Silent["pfc"] = d.mute
	default:
		out.Silent["pfc"] = "esxcli network nic dcb status get does not tell " + strings.Join(d.silent, ", ")
	}
	if len(out.PFC) > 0 { // which excludes the other
		out.Pause = &host.GlobalPause{}
		return out
	}
	p, err := (&Pause{PCI: n.PCI}).Parse(s)
	if err != nil {
		out.Silent["pause"] = err.Error()
		return out
	}
	out.Pause = &host.GlobalPause{RX: p.RX, TX: p.TX}
	return out
}
