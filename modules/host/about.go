package host

import (
	"iter"

	"weft/plan"
)

// things are what the declared resources of a server are about.
type Things struct {
	name  map[topic]string  // under which a thing is declared
	about map[string]string // by kind.name
}

type topic struct{ kind, about string }

// declare notes what a resource is about, if its name does not say that.
func (t *Things) declare(id plan.ID, about string) {
	if t.name == nil {
		t.name, t.about = map[topic]string{}, map[string]string{}
	}
	t.name[topic{id.Kind, about}] = id.Name
	t.about[id.Kind+"."+id.Name] = about
}

// name is what an entry of a ledger is called today: as what it is about is
// declared; otherwise as before, or, where that name is another thing's now, so
// that it is not taken for that.
func (d *Machine) nameToday(e plan.Entry) string {
	r, err := d.restore(e)
	if err != nil || r.about() == "" {
		return e.Name
	}
	about := r.about()
	if name, ok := d.things.name[topic{e.Kind, about}]; ok {
		return name
	}
	if now, ok := d.things.about[e.Key()]; ok && now != about {
		return e.Name + "@" + about
	}
	return e.Name
}

// rename calls the entries of a ledger as they are called today.
func (d *Machine) rename(l *ledger) {
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

// of are what the resources of a kind are about.
func (t *Things) Of(kind string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for it := range t.name {
			if it.kind == kind && !yield(it.about) {
				return
			}
		}
	}
}

// Follows implements plan.Follower.
func (r *resource[T]) Follows() []string {
	if r.kind.Follows == nil || r.want == nil {
		return nil
	}
	return r.kind.Follows(r.want)
}
