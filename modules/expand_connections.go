package modules

import (
	"cmp"
	"slices"
	"time"

	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/plan"
)

// connections expands what kernels connect to: one connection for each
// subsystem and each path, that is each portal of the target that a NIC of the
// initiator shares a plane with.
func (x *expansion) connections() {
	for _, i := range x.model.Initiators {
		x.ownConnections(i)
		d, ok := x.machine(i.Server)
		if i.Engine != "kernel" || !ok {
			continue
		}
		for c, t := range i.Reaches() {
			x.connect(d, i, c, t)
		}
	}
}

func (x *expansion) connect(d *host.Machine, i *inventory.Initiator, c *inventory.Connect, t *inventory.Target) {
	for _, p := range t.Portals {
		port := nicFor(i.Server, p)
		if port == nil && t.Server != nil && p.Plane != nil {
			continue // a plane that the initiator has no part in
		}
		transport, instead, ok := x.carried(t, p)
		if !ok {
			return // the target is refused
		}
		for _, sub := range t.Subsystems {
			want := &nvme.NVMeConnection{
				NQN: sub.NQN, Transport: transport, Instead: instead, Address: p.Address, HostNQN: i.HostNQN, HostID: cmp.Or(i.HostID, nvme.HostID(i.HostNQN)),
				AnyID: i.HostID == "", DisconnectFirst: c.DisconnectFirst,
				Written:   nvme.Written{IOPolicy: c.Writes("iopolicy"), CtrlLoss: c.Writes("ctrl_loss_tmo"), FastFail: c.Writes("fast_io_fail_tmo"), ReconnectDelay: c.Writes("reconnect_delay")},
				KeepAlive: seconds(c.KeepAliveTMO), ReconnectDelay: seconds(c.ReconnectDelay), CtrlLoss: c.CtrlLossTMO, FastFail: c.FastIOFailTMO, Queues: c.IOQueues, ToS: -1, IOPolicy: c.IOPolicy,
			}
			var needs []plan.ID
			if port != nil {
				want.From = port.Address.Addr()
				x.mark(want, t, port.Fabric)
				needs = slices.Clone(x.nics[port])
			}
			for _, by := range []string{transport, instead} {
				if id, ok := x.exports[export{t, by, p.Address}]; ok && !slices.Contains(needs, id) {
					needs = append(needs, id)
				}
			}
			needs = append(needs, x.proves(d, want, i, t)...)
			if want.FastFail == 0 && mirrors(sub) {
				want.FastFail = mirrorFastFail
			}
			name := inventory.NameOnDevice(t.Origin(), i.Server.Origin()) + "." + sub.Name + "@" + p.Address.String()
			id := x.thing(plan.ID{Device: d.Address(), Kind: "nvme_connection", Name: name}, nvme.NVMeConnectionKind().Want(d, want), c.Range, needs...)
			x.stand(&i.Block, id)
			x.paths[reached{i, sub}] = append(x.paths[reached{i, sub}], id)
			x.access.users[sub] = append(x.access.users[sub], id)
		}
	}
}

// mark gives a connection over a fabric the type of service of its class.
func (x *expansion) mark(want *nvme.NVMeConnection, t *inventory.Target, f *inventory.Fabric) {
	class := f.ClassOf(want.Transport)
	if class == nil {
		return
	}
	want.ToS, want.Class = class.ToS(), "class "+class.Name+" of "+f.Addr
	want.Unassigned = want.Transport == inventory.TCP && !f.Assigns()
}

// carried is the transport that a kernel connects with: the first one declared
// that the target is there with, and what does where RDMA does not connect.
func (x *expansion) carried(t *inventory.Target, p inventory.Portal) (first, instead string, ok bool) {
	list := offers(t, p)
	if t.Engine == "nvmet" {
		list = x.transports(t)
	}
	if len(list) == 0 {
		return "", "", false
	}
	if list[0] == "rdma" && slices.Contains(list, "tcp") {
		instead = "tcp"
	}
	return list[0], instead, true
}

// offers are the transports of a target at one of its portals, in the declared
// order: those that the fabric there can carry.
func offers(t *inventory.Target, p inventory.Portal) []string {
	return slices.DeleteFunc(slices.Clone(t.Transport), func(transport string) bool {
		return transport == "rdma" && p.RNIC != nil && p.RNIC.Fabric != nil && p.RNIC.Fabric.Transport == "tcp"
	})
}

// nicFor is the NIC of a server from which a path to a portal begins.
func nicFor(s *inventory.Server, p inventory.Portal) *inventory.RNIC {
	for _, r := range s.RNICs {
		if r.Address.IsValid() && (p.Plane != nil && r.Plane == p.Plane || r.Address.Masked().Contains(p.Address.Addr())) {
			return r
		}
	}
	return nil
}

func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
