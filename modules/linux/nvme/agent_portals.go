package nvme

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"weft/internal/agent"
	"weft/internal/hint"
	"weft/internal/slice"
)

// unreached are the closed portals that have nothing open in their place.
func (a *Agent) unreached() (list []agent.PortalStatus) {
	return slice.Filter(a.closed, func(p agent.PortalStatus) bool {
		return !slices.ContainsFunc(a.open, func(o agent.Portal) bool { return o.Address == p.Address })
	})
}

// shut says of closed portals that no host reaches them.
func shut(list []agent.PortalStatus) string {
	at := slice.Map(list, func(p agent.PortalStatus) string { return p.Address + " of " + strings.ToUpper(p.Transport) })
	return fmt.Sprintf("closed, with nothing open in place: portals %s: %s", strings.Join(at, ", "), list[0].Error)
}

// unopened are portals that a change was to open, and that no host reaches; nil: none.
func (a *Agent) unopened(now *Agent) error {
	fresh := slice.Filter(now.unreached(), func(p agent.PortalStatus) bool {
		return !slices.ContainsFunc(a.unreached(), func(o agent.PortalStatus) bool { return o.Same(p.Portal) })
	})
	if len(fresh) == 0 {
		return nil
	}
	return hint.Wrap(errors.New(shut(fresh)), `bring RDMA about on the server (rdma link show), or let TCP stand in for it: transport = ["rdma", "tcp"]`)
}
