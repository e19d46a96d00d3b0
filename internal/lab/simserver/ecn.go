//go:build unix

package simserver

import (
	"path"
	"strconv"
	"syscall"
)

// ecnState is congestion control of RoCE on a port, as mlx5 of MLNX_OFED shows
// it: by what answers marks (np) and what slows down (rp).
type ecnState struct {
	np, rp            [8]bool // by priority
	cnpDSCP, cnpClass int
}

// ecnAtBoot is what the firmware begins with.
func ecnAtBoot() ecnState {
	all := [8]bool{true, true, true, true, true, true, true, true}
	return ecnState{np: all, rp: all, cnpDSCP: 48, cnpClass: 6}
}

// renderECN shows it in the folder of the network interface of a card for RoCE.
func (s *Server) renderECN(r rendered, i *iface) {
	if i.virtual() || i.rdmaModule() != "mlx5_ib" || i.kind().layer != "Ethernet" {
		return
	}
	base := r.netdevAt(i) + "/ecn/"
	change := func(set func(*ecnState)) { s.setIface(i.Name, func(i *iface) { set(&i.ecn) }) }
	for prio := range 8 {
		for side, of := range map[string]func(*ecnState) *[8]bool{
			"roce_np": func(e *ecnState) *[8]bool { return &e.np },
			"roce_rp": func(e *ecnState) *[8]bool { return &e.rp },
		} {
			now := "0"
			if of(&i.ecn)[prio] {
				now = "1"
			}
			r.attribute(base+side+"/enable/"+strconv.Itoa(prio), now, 0o644, func(value string) error {
				if value != "0" && value != "1" {
					return syscall.EINVAL
				}
				change(func(e *ecnState) { of(e)[prio] = value == "1" })
				return nil
			})
		}
	}
	for name, of := range map[string]struct {
		below uint64
		field func(*ecnState) *int
	}{
		"cnp_dscp":      {64, func(e *ecnState) *int { return &e.cnpDSCP }},
		"cnp_802p_prio": {8, func(e *ecnState) *int { return &e.cnpClass }},
	} {
		r.attribute(base+"roce_np/"+name, strconv.Itoa(*of.field(&i.ecn)), 0o644, func(value string) error {
			n, err := strconv.ParseUint(value, 0, 8)
			if err != nil || n >= of.below {
				return syscall.EINVAL
			}
			change(func(e *ecnState) { *of.field(e) = int(n) })
			return nil
		})
	}
}

// netdevAt is the folder of a network interface.
func (r rendered) netdevAt(i *iface) string {
	return path.Join("/sys/class/net", r["/sys/class/net/"+i.Name].content)
}
