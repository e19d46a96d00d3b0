package host

import (
	"context"
	"maps"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/internal/slice"
	"weft/internal/text"
	"weft/inventory/catalogue"
	"weft/plan"
)

// Belongs implements plan.Keeper.
func (d *Machine) Belongs(roster []plan.Member, protect map[string]bool, released []string) plan.Resource {
	released = slices.DeleteFunc(slices.Clone(released), func(key string) bool {
		kind, _, _ := strings.Cut(key, ".")
		return d.fleeting(plan.Entry{Kind: kind}) // it goes with what it is a part of
	})
	return &belongs{d, roster, protect, released}
}

// belongs keeps the roster in the ledger of a server.
type belongs struct {
	dev      *Machine
	want     []plan.Member   // nil: the ledger itself goes
	protect  map[string]bool // by the keys of entries: those where it changes
	released []string        // keys of the entries that go
}

// Diff implements plan.Resource.
func (b *belongs) Diff(plan.State) plan.Diff {
	if b.dev.os.Memory == nil {
		return plan.Diff{} // nothing is kept there, and nothing changed
	}
	path := b.dev.ledgerPlace()
	have := b.dev.ledgers.own.Roster
	if b.want == nil {
		if b.dev.ledgers.raw == nil {
			return plan.Diff{}
		}
		return plan.Diff{Changes: []plan.Change{{Path: "ledger", Before: "kept"}}, Send: []string{"remove " + path}}
	}
	var d plan.Diff
	if gone, came := changed(have, b.want); gone != "" || came != "" {
		if gone == "" && len(have) == 1 && have[0].Device == b.dev.member.Device {
			// A transaction without the roster lists its own device, as that which ends what a
			// killed weft has begun. A plan from before it stays true: it is the same change.
			came = missing(b.want, nil)
		}
		d.Changes = append(d.Changes, plan.Change{Path: "devices", Before: gone, After: came})
	}
	if len(b.protect) > 0 {
		var free, safe []string
		for _, key := range slices.Sorted(maps.Keys(b.protect)) {
			if b.protect[key] {
				safe = append(safe, key)
			} else {
				free = append(free, key)
			}
		}
		d.Changes = append(d.Changes, plan.Change{Path: "protected", Before: text.List(free, mostNamed), After: text.List(safe, mostNamed)})
	}
	if len(b.released) > 0 {
		d.Changes = append(d.Changes, plan.Change{Path: "adopted", Before: text.List(b.released, mostNamed)})
	}
	if len(d.Changes) > 0 {
		d.Send, d.Undo = []string{"put " + path + " (0600)"}, []string{"put " + path + " (0600)"}
	}
	return d
}

// changed names what of a roster goes, and what comes; of devices that stay, what differs.
func changed(have, want []plan.Member) (gone, came string) {
	if gone, came = missing(have, want), missing(want, have); gone == came && gone != "" {
		return apart(have, want)
	}
	return gone, came
}

// missing names what of list is not in other. Rosters are as long as the fleet,
// and each device has one: mostly they are equal, or differ in one place.
func missing(list, other []plan.Member) string {
	for len(list) > 0 && len(other) > 0 && same(list[0], other[0]) {
		list, other = list[1:], other[1:]
	}
	for len(list) > 0 && len(other) > 0 && same(list[len(list)-1], other[len(other)-1]) {
		list, other = list[:len(list)-1], other[:len(other)-1]
	}
	// On every device that weft comes to for the first time, one of them is empty.
	if len(list) == 0 {
		return ""
	}
	if len(other) == 0 {
		names := slice.Map(list[:min(len(list), mostNamed)], func(m plan.Member) string { return m.Device })
		return strings.Join(names, ", ") + text.More(len(list)-len(names))
	}
	there := make(map[plan.Member]bool, len(other))
	for _, m := range other {
		there[plain(m)] = true
	}
	var names []string
	count := 0
	for _, m := range list {
		if there[plain(m)] {
			continue
		}
		if count++; count <= mostNamed {
			names = append(names, m.Device)
		}
	}
	return strings.Join(names, ", ") + text.More(count-len(names))
}

// apart says of devices that stand in both lists what differs of them, as each list has it.
func apart(have, want []plan.Member) (before, after string) {
	old := make(map[string]plan.Member, len(have))
	for _, m := range have {
		old[m.Device] = plain(m)
	}
	var was, is []string
	for _, m := range want {
		w, h := plain(m), old[m.Device]
		if w == h {
			continue
		}
		var then, now []string
		for _, f := range []struct{ name, was, is string }{
			{"kind", h.Kind, w.Kind}, {"host", h.Host, w.Host}, {"connection", h.Connection, w.Connection},
			{"os", h.OS, w.OS}, {"credential", h.Credential, w.Credential}, {"tls_sha256", h.SHA256, w.SHA256},
		} {
			if f.was != f.is {
				then, now = append(then, valued(f.name, f.was)), append(now, valued(f.name, f.is))
			}
		}
		was = append(was, m.Device+" with "+strings.Join(then, ", "))
		is = append(is, m.Device+" with "+strings.Join(now, ", "))
	}
	return text.List(was, mostNamed), text.List(is, mostNamed)
}

// valued names a value, where that does not name itself: credential.netops.
func valued(name, value string) string {
	switch {
	case value == "":
		return "no " + name
	case strings.HasPrefix(value, name+"."):
		return value
	}
	return name + " " + value
}

func same(a, b plan.Member) bool { return plain(a) == plain(b) }

// plain is a device as the ledgers of before have it, in which no server has a system:
// there was only the first one.
func plain(m plan.Member) plan.Member {
	if m.Kind == "server" && m.OS == catalogue.UsualHostSystem() {
		m.OS = ""
	}
	return m
}

// mostNamed is how many names are listed in full.
const mostNamed = 4

// Verify implements plan.Resource.
func (b *belongs) Verify(context.Context) error { return nil }

func (b *belongs) looks() []remote.Look           { return nil }
func (b *belongs) parse(remote.Seen) plan.State   { return nil }
func (b *belongs) steps(plan.State) []remote.Step { return nil } // the ledger is written by the transaction
func (b *belongs) restored(_, _ plan.State) error { return nil }

// A machine reads all resources of a plan as its own: who lacks a method of them is found
// when weft is built.
var _ Resource = (*belongs)(nil)
