package doctor

import (
	"slices"

	"weft/internal/slice"
)

// windowsChecks are made on Windows hosts: those of Validate-DCB that no other check makes.
func windowsChecks() []*Check {
	const validate = "microsoft/Validate-DCB, modal tests"
	return []*Check{
		{ID: "WD-WIN-01", Title: "RDMA is disabled on a NIC", Severity: Error, Reads: "Get-NetAdapterRdma, Get-NetOffloadGlobalSetting", Limit: "enabled on the NIC and its host, if the fabric uses RDMA", Source: validate,
			Remedy: "Apply the rnic of the fabric; for the whole host run Set-NetOffloadGlobalSetting -NetworkDirect Enabled.", Mends: []string{"adapter"}, judge: each((*Site).networkDirect, directOn)},
		{ID: "WD-WIN-02", Title: "the RDMA protocol of a NIC differs from its fabric", Severity: Error, Reads: "*NetworkDirectTechnology", Limit: "4 (RoCEv2) in a rocev2 fabric", Source: validate,
			Remedy: "Apply the rnic of the fabric.", Mends: []string{"adapter"}, judge: each((*Site).networkDirect, directTechnology)},
		{ID: "WD-WIN-03", Title: "RDMA has no VLAN tag for its priority", Severity: Error, Reads: "VlanID", Limit: "vlan of the rnic; without files any VLAN", Source: validate + "; windowsserverdocs, conv-nic: the priority is part of the VLAN tag",
			Remedy: "Set vlan of the rnic block, and apply.", Mends: []string{"adapter"}, judge: each((*Site).networkDirect, directTag)},
		{ID: "WD-WIN-04", Title: "no policy gives SMB Direct a lossless priority", Severity: Error, Reads: "Get-NetQosPolicy -PolicyStore ActiveStore; Get-NetAdapterQos", Limit: "the NetworkDirect port has a priority with PFC on each RDMA NIC", Source: validate,
			Remedy: "Apply the smb block of the server, which has the policy, and the fabric, which has the class.", Mends: []string{"qos_policy", "dcb"}, judge: each((*Site).networkDirect, directMark)},
		{ID: "WD-WIN-05", Title: "data centre bridging is off on an RDMA NIC", Severity: Error, Reads: "Get-NetAdapterQos", Limit: "enabled", Source: validate,
			Remedy: "Apply the rnic of the fabric.", Mends: []string{"adapter_qos"}, judge: each((*Site).networkDirect, directBridging)},
		{ID: "WD-WIN-06", Title: "an RDMA NIC belongs to a team or a virtual switch", Severity: Error, Reads: "Get-NetAdapterBinding: ms_implat, vms_pp", Limit: "none", Source: validate + ": native adapters",
			Remedy: "Remove it from the team or switch, or from the fabric; weft manages neither.", judge: each((*Site).networkDirect, directTaken)},
		{ID: "WD-WIN-07", Title: "cards of one model have different drivers", Severity: Warn, Reads: "Get-NetAdapter: DriverVersion", Limit: "the majority of the same model", Source: validate + ": symmetric members",
			Remedy: "Install the same version on all; read its release notes first.", judge: directDriver},
		{ID: "WD-WIN-08", Title: "an RDMA NIC is slow", Severity: Error, Reads: "Get-NetAdapter: ReceiveLinkSpeed", Limit: "10 Gbit/s", Source: validate,
			Remedy: "Check the cable and the port on the other end.", judge: each((*Site).networkDirect, directSpeed)},
		{ID: "WD-WIN-09", Title: "RDMA is enabled on a NIC outside the fabrics", Severity: Warn, Reads: "Get-NetAdapterRdma", Limit: "off on NICs outside RDMA fabrics, because SMB Multichannel may choose them", Source: validate,
			Remedy: "Run Disable-NetAdapterRdma for the NIC, unless another service needs it.", judge: each((*Site).hosts, directBeside)},
	}
}

// networkDirect are the ends that RDMA of Windows is about: those of fabrics of RDMA; without files
// those whose RDMA is on.
func (s *Site) networkDirect() []end {
	return slices.DeleteFunc(s.ethernet(), func(e end) bool {
		switch {
		case e.nic.Direct == nil:
			return true
		case s.Model != nil:
			return e.fabric() == nil || e.fabric().Transport == "tcp"
		}
		return e.nic.Direct.On == nil || !*e.nic.Direct.On
	})
}

func directOn(e end, r *ruling) {
	if r.knows(e.nic.Direct.On != nil, e.place(), "its RDMA state could not be read%s", said(e, "rdma")) {
		r.unless(!*e.nic.Direct.On, e.place(), "RDMA of %s is disabled, or disabled for the whole host", e.nic.Interface)
	}
}

// technologies are as drivers number them.
func technologies() map[string]string {
	return map[string]string{"1": "iWARP", "2": "InfiniBand", "3": "RoCE", "4": "RoCEv2"}
}

func directTechnology(e end, r *ruling) {
	is := technologies()[e.nic.Direct.Technology]
	switch f := e.fabric(); {
	case is == "":
		r.unknown(e.place(), "its RDMA protocol could not be read%s", said(e, "technology"))
	case f == nil: // whatever it is
		r.fine()
	default:
		r.unless(f.Transport == "rocev2" && is != "RoCEv2", e.place(), "it uses %s, but %s is %s", is, f.Addr, f.Transport)
	}
}

func directTag(e end, r *ruling) {
	switch have := e.nic.Direct.VLAN; {
	case have == nil:
		r.unknown(e.place(), "its VLAN could not be read%s", said(e, "vlan"))
	case *have == 0:
		r.bad(e.place(), "it has no VLAN, so its RDMA traffic has no priority")
	default:
		r.unless(e.rnic != nil && e.rnic.VLAN != 0 && e.rnic.VLAN != *have, e.place(), "its VLAN is %d, declared %d", *have, vlanOf(e))
	}
}

func vlanOf(e end) int {
	if e.rnic == nil {
		return 0
	}
	return e.rnic.VLAN
}

// smbDirect is the port of NetworkDirect that SMB Direct has, unless files say another.
const smbDirect = 445

func directMark(e end, r *ruling) {
	port := smbDirect
	if e.host.Server != nil && e.host.Server.SMB != nil {
		port = e.host.Server.SMB.DirectPort
	}
	priority, marked := e.host.Marks[port]
	switch {
	case e.host.Marks == nil:
		r.unknown(e.place(), "the policies in force could not be read")
	case !marked:
		r.bad(e.place(), "no policy covers NetworkDirect port %d", port)
	case e.nic.PFC == nil:
		r.unknown(e.place(), "its PFC priorities are unknown%s", said(e, "pfc"))
	default:
		r.unless(!slices.Contains(e.nic.PFC, priority), e.place(), "RDMA to port %d has priority %d, which has no PFC", port, priority)
	}
}

func directBridging(e end, r *ruling) {
	if r.knows(e.nic.Direct.Bridging != nil, e.place(), "the state of data centre bridging is unknown%s", said(e, "pfc")) {
		r.unless(!*e.nic.Direct.Bridging, e.place(), "data centre bridging of %s is off", e.nic.Interface)
	}
}

func directTaken(e end, r *ruling) {
	if r.knows(e.nic.Direct.Taken != nil, e.place(), "its team and virtual switch could not be read") {
		r.unless(*e.nic.Direct.Taken != "", e.place(), "%s belongs to %s", e.nic.Interface, *e.nic.Direct.Taken)
	}
}

func directDriver(s *Site, r *ruling) {
	for _, group := range slice.Group(s.networkDirect(), func(e end) string { return e.nic.ID }) {
		usual, _ := common(group, func(e end) string { return e.nic.Direct.Version })
		for _, e := range group {
			is := e.nic.Direct.Version
			if r.knows(is != "", e.place(), "the version of its driver could not be read") {
				r.unless(is != usual, e.place(), "its driver is %s; most %s cards have %s", is, e.nic.ID, usual)
			}
		}
	}
}

// slow is what Validate-DCB takes for less than 10 Gbit/s.
const slow = 9e9

func directSpeed(e end, r *ruling) {
	if r.knows(e.nic.Speed > 0, e.place(), "it does not report its link speed") {
		r.unless(e.nic.Speed <= slow, e.place(), "%s runs at %s", e.nic.Interface, gigabit(e.nic.Speed))
	}
}

// directBeside looks at the NICs of no fabric of RDMA, whether or not they matter elsewhere.
func directBeside(h *Host, r *ruling) {
	for i := range h.NICs {
		n := &h.NICs[i]
		e := end{h, n, h.declared(n.NICFacts)}
		if h.Server == nil || n.Direct == nil || e.fabric() != nil && e.fabric().Transport != "tcp" {
			continue
		}
		if r.knows(n.Direct.On != nil, e.place(), "its RDMA state could not be read%s", said(e, "rdma")) {
			r.unless(*n.Direct.On, e.place(), "RDMA of %s is enabled, but it is in no RDMA fabric", n.Interface)
		}
	}
}
