package modules

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/agent"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/nvme"
	"weft/plan"
)

// access is what hosts get from targets, as the expansion comes to it: what is declared no
// more is ended by resources of their own, after the connections that replace it.
type access struct {
	users      map[*inventory.Subsystem][]plan.ID // connections to a subsystem, of all initiators
	ports      map[*inventory.Server][]*nvme.NVMeTPort
	subsystems []exported
	agents     []served
}

func newAccess() access {
	return access{users: map[*inventory.Subsystem][]plan.ID{}, ports: map[*inventory.Server][]*nvme.NVMeTPort{}}
}

// exported is a subsystem of a kernel's target, served what a weft-target serves.
type exported struct {
	id  plan.ID
	on  *host.Machine
	of  *inventory.Target
	sub *inventory.Subsystem
}

type served struct {
	id      plan.ID
	on      *host.Machine
	targets []*inventory.Target
	want    *nvme.Agent
}

// endAccess expands what ends access.
func (x *expansion) endAccess() {
	for _, e := range x.access.subsystems {
		want := &nvme.NVMeTAccess{NQN: e.sub.NQN, Hosts: slices.Sorted(slices.Values(e.sub.AllowHosts))}
		for _, p := range x.access.ports[e.of.Server] {
			if !slices.Contains(p.Subsystems, e.sub.NQN) {
				p.Elsewhere, want.Ports = append(p.Elsewhere, e.sub.NQN), append(want.Ports, p.Number)
			}
		}
		kind := nvme.NVMeTAccessKind()
		closes := []plan.ID{e.id}
		for key, id := range x.exports {
			if key.target == e.of {
				closes = append(closes, id)
			}
		}
		slices.SortFunc(closes[1:], func(a, b plan.ID) int { return strings.Compare(a.String(), b.String()) })
		x.closing(closes, plan.ID{Device: e.id.Device, Kind: kind.Name, Name: e.sub.NQN}, kind.Want(e.on, want), e.sub.Range, x.access.users[e.sub], e.of)
	}
	for _, a := range x.access.agents {
		var users []plan.ID
		for _, t := range a.targets {
			for _, sub := range t.Subsystems {
				users = append(users, x.access.users[sub]...)
			}
		}
		kind := nvme.AgentAccessKind()
		want := &nvme.AgentAccess{Config: a.want.Config, Yields: a.want.Yields, Unassigned: a.want.Unassigned}
		x.closing([]plan.ID{a.id}, plan.ID{Device: a.id.Device, Kind: kind.Name, Name: a.id.Name}, kind.Want(a.on, want), a.targets[0].Range, users, a.targets...)
	}
}

// closing adds the resource that ends access to others, after their users.
func (x *expansion) closing(of []plan.ID, id plan.ID, is host.Thing, at hcl.Range, users []plan.ID, targets ...*inventory.Target) {
	x.thing(id, is, at, of[0])
	for _, t := range targets {
		x.stand(&t.Block, id)
	}
	item := &x.fleet.Items[len(x.fleet.Items)-1]
	item.Closes, item.After = of, users
}

// yields are the portals that another engine has on a server.
func (x *expansion) yields(s *inventory.Server) (list []agent.Portal) {
	for _, t := range x.model.Targets {
		if t.Server != s || t.Engine == "weft" {
			continue
		}
		for _, p := range t.Portals {
			for _, transport := range x.transports(t) {
				list = append(list, agent.Portal{Transport: transport, Address: p.Address.String()})
			}
		}
	}
	return list
}
