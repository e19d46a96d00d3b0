package modules

import (
	"strings"

	"weft/plan"
)

// An apart is a kind whose resources are called after blocks, but are about
// something that the block only points at: About names it. The same thing under
// another block's name is the same resource; another thing under the same name
// is another one, and the first is taken back.
type apart interface{ About() string }

// About implements apart.
func (m *MTU) About() string { return m.PCI }

// About implements apart.
func (a *Address) About() string { return a.PCI + "," + a.CIDR.String() }

// About implements apart.
func (r *RDMALink) About() string { return r.PCI }

// About implements apart.
func (r *RoCE) About() string { return r.PCI }

// About implements apart.
func (e *ECN) About() string { return e.PCI }

// About implements apart.
func (b *Buffers) About() string { return b.PCI }

// About implements apart.
func (p *PFC) About() string { return p.PCI }

// About implements apart.
func (d *DCBX) About() string { return d.PCI }

// About implements apart.
func (p *Pause) About() string { return p.PCI }

// About implements apart.
func (e *ETS) About() string { return e.PCI }

// About implements apart.
func (d *DSCP) About() string { return d.PCI }

// About implements apart.
func (n *NVMeConnection) About() string {
	return strings.Join([]string{n.NQN, n.Transport, n.Address.String(), n.HostNQN}, ",")
}

// things are what the declared resources of a server are about.
type things struct {
	name  map[thing]string  // under which a thing is declared
	about map[string]string // by kind.name
}

type thing struct{ kind, about string }

// declare notes what a resource is about, if its name does not say that.
func (t *things) declare(id plan.ID, want any) {
	a, ok := want.(apart)
	if !ok {
		return
	}
	if t.name == nil {
		t.name, t.about = map[thing]string{}, map[string]string{}
	}
	t.name[thing{id.Kind, a.About()}] = id.Name
	t.about[id.Kind+"."+id.Name] = a.About()
}

// name is what an entry of a ledger is called today: as what it is about is
// declared; otherwise as before, or, where that name is another thing's now, so
// that it is not taken for that.
func (d *server) nameToday(e plan.Entry) string {
	restore, ok := kinds()[e.Kind]
	if !ok {
		return e.Name
	}
	r, err := restore(d, e)
	if err != nil {
		return e.Name
	}
	about := r.(interface{ about() string }).about()
	if about == "" {
		return e.Name
	}
	if name, ok := d.things.name[thing{e.Kind, about}]; ok {
		return name
	}
	if now, ok := d.things.about[e.Key()]; ok && now != about {
		return e.Name + "@" + about
	}
	return e.Name
}

// rename calls the entries of a ledger as they are called today.
func (d *server) rename(l *ledger) {
	names, taken := make([]string, len(l.Entries)), map[string]bool{}
	today := map[plan.ID]string{}
	for i, e := range l.Entries {
		names[i] = d.nameToday(e)
		if key := e.Kind + "." + names[i]; taken[key] { // two of one thing: only a broken ledger has them
			names[i] = e.Name
		}
		taken[e.Kind+"."+names[i]] = true
		today[plan.ID{Device: d.name, Kind: e.Kind, Name: e.Name}] = names[i]
	}
	for i := range l.Entries {
		e := &l.Entries[i]
		e.Name = names[i]
		for n, need := range e.Needs {
			if name, ok := today[need]; ok {
				e.Needs[n].Name = name
			}
		}
	}
}

func (r *restoration[T, K]) about() string {
	a, ok := any(r.basis()).(apart)
	if !ok {
		return ""
	}
	return a.About()
}
