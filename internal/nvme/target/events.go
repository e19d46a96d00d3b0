package target

import (
	"slices"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

const maxAERs = 4 // event requests that a controller holds

// notices of a controller: what its host is to be told and has been told.
type notices struct {
	aers    []*fabric.Exchange // held until there is something to tell
	enabled uint32             // which events the host wants
	pending []wire.Event       // to be told with the next request
	told    uint32             // events of which the host has not yet read the log
	changed []uint32           // namespaces, ascending; since the host has read their list
}

// holdAER keeps the request until there is an event.
func (c *controller) holdAER(x *fabric.Exchange) {
	c.mu.Lock()
	switch {
	case c.ended:
		c.mu.Unlock()
	case len(c.pending) > 0:
		e := c.pending[0]
		c.pending = slices.Delete(c.pending, 0, 1)
		c.mu.Unlock()
		x.Complete(uint64(e), wire.Success)
	case len(c.aers) == maxAERs:
		c.mu.Unlock()
		x.Complete(0, wire.AERLimitExceeded.WithDNR())
	default:
		c.aers = append(c.aers, x)
		c.mu.Unlock()
	}
}

// tell sends an event, unless the host does not want it, or was told and has
// not read the log since: it will find there what is new.
func (c *controller) tell(e wire.Event) {
	c.mu.Lock()
	bit := e.Notice()
	if c.ended || !c.ready.Load() || c.enabled&bit == 0 || c.told&bit != 0 {
		c.mu.Unlock()
		return
	}
	c.told |= bit
	if len(c.aers) == 0 {
		c.pending = append(c.pending, e)
		c.mu.Unlock()
		return
	}
	x := c.aers[0]
	c.aers = slices.Delete(c.aers, 0, 1)
	c.mu.Unlock()
	x.Complete(uint64(e), wire.Success)
}

// heard notes that the host has read the log of an event.
func (c *controller) heard(e wire.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told &^= e.Notice()
	c.pending = slices.DeleteFunc(c.pending, func(p wire.Event) bool { return p == e })
}

// changedNamespaces adds to the list of changed namespaces and tells the host.
func (c *controller) changedNamespaces(ids []uint32) {
	c.mu.Lock()
	all := append(c.changed, ids...)
	slices.Sort(all)
	c.changed = slices.Compact(all)
	if len(c.changed) > wire.MaxNSList {
		c.changed = c.changed[:wire.MaxNSList+1] // one too many says so
	}
	c.mu.Unlock()
	c.tell(wire.EventNamespaces)
}

// takeChanged is the changed namespace list; it begins anew unless the event
// is kept.
func (c *controller) takeChanged(keep bool) wire.NSList {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := wire.NSList(slices.Clone(c.changed))
	if len(list) > wire.MaxNSList {
		list = wire.NSList{wire.NSIDAll} // more than fit
	}
	if !keep {
		c.changed = c.changed[:0]
	}
	return list
}

// forget drops all notices, as a reset or the end of the controller does. It
// returns the requests that were held. The caller holds mu.
func (n *notices) forget() []*fabric.Exchange {
	held := n.aers
	*n = notices{}
	return held
}
