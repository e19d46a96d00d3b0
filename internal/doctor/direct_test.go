package doctor

import (
	"testing"

	"weft/inventory"
	"weft/modules/host"
)

// direct is the filed rack with Windows on its machines: two NICs of RDMA, and one that
// manages.
func direct() *Site {
	s := filed()
	for _, h := range s.Hosts {
		h.Marks, h.Server.SMB = map[int]int{445: 3}, &inventory.SMB{DirectPort: 445}
		h.NICs = append(h.NICs, host.NICHealth{NICFacts: host.NICFacts{PCI: "0000:01:00.0", Interface: "Ethernet", Speed: 1e9}})
		for i := range h.NICs {
			of := i < len(h.Server.RNICs)
			h.NICs[i].Direct = &host.Direct{On: ptr(of), Technology: "4", VLAN: ptr(711), Bridging: ptr(of), Taken: ptr(""), Version: "24.10"}
			if of {
				h.Server.RNICs[i].VLAN = 711
			}
		}
	}
	return s
}

// windowsTrials are those of the checks of Windows hosts.
func windowsTrials() map[string]tried {
	of := func(change func(*host.Direct)) func(*Site) {
		return nic(func(n *host.NICHealth) { change(n.Direct) })
	}
	beside := func(to *bool) func(*Site) {
		return machine(func(h *Host) { h.NICs[2].Direct.On = to })
	}
	return map[string]tried{
		"WD-WIN-01": {direct, of(func(d *host.Direct) { d.On = ptr(false) }), of(func(d *host.Direct) { d.On = nil })},
		"WD-WIN-02": {direct, of(func(d *host.Direct) { d.Technology = "1" }), of(func(d *host.Direct) { d.Technology = "" })},
		"WD-WIN-03": {direct, of(func(d *host.Direct) { d.VLAN = ptr(0) }), of(func(d *host.Direct) { d.VLAN = nil })},
		"WD-WIN-04": {direct, machine(func(h *Host) { h.Marks = map[int]int{445: 5} }), machine(func(h *Host) { h.Marks = nil })},
		"WD-WIN-05": {direct, of(func(d *host.Direct) { d.Bridging = ptr(false) }), of(func(d *host.Direct) { d.Bridging = nil })},
		"WD-WIN-06": {direct, of(func(d *host.Direct) { d.Taken = ptr("an LBFO team") }), of(func(d *host.Direct) { d.Taken = nil })},
		"WD-WIN-07": {direct, of(func(d *host.Direct) { d.Version = "2.0" }), of(func(d *host.Direct) { d.Version = "" })},
		"WD-WIN-08": {direct, nic(func(n *host.NICHealth) { n.Speed = 1e9 }), nic(func(n *host.NICHealth) { n.Speed = 0 })},
		"WD-WIN-09": {direct, beside(ptr(true)), beside(nil)},
	}
}

// What of a policy, a VLAN and other systems is told apart.
func TestWindowsChecks(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*Site)
		id, wants string
	}{
		"no policy":           {machine(func(h *Host) { h.Marks = map[int]int{4420: 3} }), "WD-WIN-04", "no policy covers NetworkDirect port 445"},
		"another port":        {machine(func(h *Host) { h.Server.SMB.DirectPort = 446 }), "WD-WIN-04", "no policy covers NetworkDirect port 446"},
		"a priority unpaused": {nic(func(n *host.NICHealth) { n.PFC = []int{} }), "WD-WIN-04", "RDMA to port 445 has priority 3, which has no PFC"},
		"another VLAN":        {nic(func(n *host.NICHealth) { n.Direct.VLAN = ptr(712) }), "WD-WIN-03", "its VLAN is 712, declared 711"},
	} {
		s := direct()
		c.change(s)
		if got := by(Examine(s, nil).Findings, c.id); len(got) == 0 || got[0].Text != c.wants {
			t.Errorf("%s: %+v", name, got)
		}
	}
	// Without files only RDMA that is on is judged; machines of other systems are not.
	s := direct()
	s.Model = nil
	for _, h := range s.Hosts {
		h.Server = nil
	}
	s.Hosts[1].NICs[0].Direct.On, s.Hosts[1].NICs[0].Direct.VLAN, s.Hosts[0].NICs[1].Direct.VLAN = ptr(false), ptr(0), ptr(0)
	if got := by(Examine(s, nil).Findings, "WD-WIN-03"); len(got) != 1 || got[0].Place.Device != s.Hosts[0].Name {
		t.Errorf("without files: %+v", got)
	}
	r := Examine(filed(), nil)
	for _, c := range windowsChecks() {
		if len(by(r.Findings, c.ID))+len(by(r.Unknown, c.ID))+r.Fine[c.ID] > 0 {
			t.Errorf("%s judges machines without Windows", c.ID)
		}
	}
}
