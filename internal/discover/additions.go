package discover

import (
	"slices"
	"time"

	"weft/plan"
)

// AdditionsFile is what a second run writes beside files that stand already.
const AdditionsFile = "discovered.weft.hcl"

// additions renders what the files that stand already do not declare: new switches and
// servers, what these carry, and the cables of them. Nothing that stands is renamed or
// written again.
func (d *draft) additions(when time.Time) (map[string][]byte, error) {
	w := &printer{}
	for _, f := range d.fabrics {
		if !f.declared {
			w.block(d.fabric(f), nil, nil)
			w.out.WriteString("\n")
		}
	}
	var list []instance
	for _, l := range d.switches() {
		if !l.declared {
			list = append(list, d.leaf(l))
		}
	}
	if len(list) > 0 && len(d.base.Credentials) == 0 {
		w.block(credential("switch", "", SwitchPassword), nil, nil)
		w.out.WriteString("\n")
	}
	for _, c := range d.credentials(Login{}) { // there are no vCenters
		w.block(c, nil, nil)
		w.out.WriteString("\n")
	}
	for _, n := range d.ordered() {
		if !n.declared {
			list = append(list, d.node(n))
		}
	}
	unmanaged, cables, at := d.subnet()
	list = slices.Concat(list, unmanaged, d.links(d.cables, d.leaves), d.links(cables, at), d.between(), d.direct())
	d.newStorage()
	if err := w.all(list); err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	d.keep(out, AdditionsFile, w, when)
	return out, nil
}

// newStorage tells what new servers carry: it is not added, as blocks of that label may
// stand in files already.
func (d *draft) newStorage() {
	for _, n := range d.ordered() {
		if n.declared {
			continue
		}
		for _, kind := range []string{"volume_group", "nvmet_subsystem", "nvme_connection"} {
			for _, e := range n.entries(d.owner, kind) {
				d.site.found(Error, n.Host, "write it by hand, or discover into an empty directory and compare", "%s of its ledger is not added: a second run adds devices and cables, and no storage", e.Key())
			}
		}
		if n.Facts.NVMe == nil {
			continue
		}
		for _, e := range n.Facts.NVMe.Exports {
			d.site.found(Warn, n.Host, "write a target by hand", "its kernel exports %s: a second run adds devices and cables, and no storage", e.NQN)
		}
	}
}

// old reports whether a step is about a device that stands in files already.
func (d *draft) old(id plan.ID) bool {
	if d.base == nil {
		return false
	}
	for _, sw := range d.base.Switches {
		if sw.Addr == id.Device {
			return true
		}
	}
	for _, m := range d.base.Servers {
		if m.Addr == id.Device {
			return true
		}
	}
	return false
}
