package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"weft/internal/hint"
	"weft/inventory/catalogue"
	"weft/plan"
)

// ledgerFormat is the number of the ledger's format.
const ledgerFormat = 1

// A ledger is what a server remembers of what weft did to it for one owner.
// It is readable by root only: states may hold what files held.
type ledger struct {
	Format  int           `json:"format"`
	Owner   string        `json:"owner"`
	OS      string        `json:"os,omitempty"` // of the machine; "": catalogue.UsualHostSystem
	Serial  int           `json:"serial"`       // counts writes
	Roster  []plan.Member `json:"roster"`
	Entries []plan.Entry  `json:"entries"`
	Pruned  []plan.Entry  `json:"pruned,omitempty"` // what the last run took back

	gone bool // it is to be removed; what is left alone is nobody's
}

// A Remembrance is what the ledger of one owner says, for who reads a machine of
// which nothing is declared.
type Remembrance struct {
	Owner   string
	Roster  []plan.Member
	Entries []plan.Entry
}

// Remembrances are what the ledgers among what a machine keeps say, and which of them
// cannot be read. Secrets stay sealed.
func Remembrances(m Memorized) (list []Remembrance, unread []error) {
	for _, memo := range m.Files {
		if memo.Kept != KeptLedger {
			continue
		}
		var one ledger
		switch err := json.Unmarshal(memo.Raw, &one); {
		case err != nil:
			unread = append(unread, fmt.Errorf("the ledger %s cannot be read: %w", memo.Place, err))
		case one.Format != ledgerFormat:
			unread = append(unread, fmt.Errorf("the ledger %s has format %d, this weft knows %d", memo.Place, one.Format, ledgerFormat))
		default:
			list = append(list, Remembrance{one.Owner, one.Roster, one.Entries})
		}
	}
	if m.Broken != nil {
		unread = append(unread, m.Broken)
	}
	return list, unread
}

// ledgers is what a server remembers.
type ledgers struct {
	own     ledger
	raw     []byte        // of own, as it stands; nil: there is none
	former  formerSecrets // that own names
	unsure  bool          // whether the machine keeps former: to write them has failed
	foreign map[string]string
	warning string
	unknown error // what one says is not known: nothing is changed
}

// ledgersOf are the ledgers among what a machine keeps. One that cannot be read owns
// nothing, and the warning says so. name says what an entry of another owner would be
// called here.
func ledgersOf(owner string, m Memorized, known KindSet, name func(plan.Entry) string) ledgers {
	l := ledgers{own: ledger{Format: ledgerFormat, Owner: owner}, foreign: map[string]string{}}
	for _, memo := range m.Files {
		if memo.Kept == KeptLedger {
			l.add(owner, memo, name)
		} else if memo.Mine {
			var err error
			if l.former, err = parseFormer(memo.Raw); err != nil {
				l.warning = fmt.Sprintf("%s cannot be used: %v", memo.Place, err)
			}
		}
	}
	if m.Broken != nil {
		l.warning = m.Broken.Error()
		return l
	}
	l.own = l.own.outspoken(l.former, known)
	return l
}

func (l *ledgers) add(owner string, memo Memo, name func(plan.Entry) string) {
	raw, path, mine := memo.Raw, memo.Place, memo.Mine
	var one ledger
	err := json.Unmarshal(raw, &one)
	var format struct{ Format int }
	switch {
	case json.Unmarshal(raw, &format) == nil && format.Format != ledgerFormat: // its other fields may be of other types
		l.unknown = hint.Wrap(fmt.Errorf("the ledger %s has format %d, this weft knows %d: nothing on this server is changed", path, format.Format, ledgerFormat),
			"another weft wrote it: use that one")
		return
	case err == nil && mine && one.Owner != owner:
		err = fmt.Errorf("it is that of owner %q", one.Owner)
	}
	if mine {
		l.raw = raw
	}
	switch {
	case err != nil:
		l.warning = fmt.Sprintf("the ledger %s cannot be used and owns nothing: %v; what weft did here before is not known", path, err)
	case mine:
		l.own = one
		l.own.OS = cmp.Or(one.OS, catalogue.UsualHostSystem())
	default:
		for _, e := range one.Entries {
			if e.State != plan.EntryAdopted {
				l.foreign[e.Kind+"."+name(e)] = one.Owner
			}
		}
	}
}

// Kept implements plan.Keeper.
func (d *Machine) Kept() plan.Kept {
	return plan.Kept{Roster: d.ledgers.own.Roster, Entries: d.ledgers.own.Entries, Foreign: d.ledgers.foreign}
}

// Restore implements plan.Keeper.
func (d *Machine) Restore(e plan.Entry) (plan.Resource, error) {
	r, err := d.restore(e)
	if err != nil || d.fleeting(e) {
		return nil, err
	}
	return r, nil
}

// fleeting reports whether an entry is of a part of something else, which goes with that.
func (d *Machine) fleeting(e plan.Entry) bool {
	k := d.Known()[e.Kind]
	return k != nil && k.fleeting()
}

func (d *Machine) restore(e plan.Entry) (Thing, error) {
	k, ok := d.Known()[e.Kind]
	if !ok {
		return nil, hint.Wrap(fmt.Errorf("this weft knows no kind %q", e.Kind), "a later weft wrote it: use that one")
	}
	return k.restore(d, e)
}

// known are the kinds that ledgers of the server may name.
func (d *Machine) Known() KindSet {
	if d.kinds == nil {
		d.kinds = NewKindSet(d.os.Kinds())
	}
	return d.kinds
}

// Drifted implements plan.Keeper. What was seen is judged as the entry speaks of
// it: what is declared now may speak of other settings. Where that asks other
// questions of the server than the entry, nobody has seen anything change.
func (d *Machine) Drifted(e plan.Entry, _ plan.State) bool {
	r, err := d.restore(e)
	if err != nil || !d.sights.Has(r.looks()) {
		return false
	}
	have := r.parse(d.sights)
	if _, unseen := have.(refused); unseen {
		return false
	}
	return r.moved(have)
}

// Unchanged implements plan.Keeper.
func (d *Machine) Unchanged(e plan.Entry, r plan.Resource) bool {
	return r.(Thing).sameApplied(e.Applied, nil)
}

// next returns the ledger as it is to be while the steps are carried out: with
// an intent for each. done turns intents into facts.
func (l ledger) next(steps []plan.Step) ledger {
	n := l
	n.Serial++
	n.Entries = slices.Clone(l.Entries)
	for _, s := range steps {
		if b, ok := s.Resource.(*belongs); ok {
			n.Roster, n.gone = b.want, b.want == nil
			n.Entries = slices.DeleteFunc(n.Entries, func(e plan.Entry) bool {
				return e.State == plan.EntryAdopted && slices.Contains(b.released, e.Key())
			})
			for i, e := range n.Entries {
				n.Entries[i].Needs = b.dev.renamed(e.Needs)
				if protect, ok := b.protect[e.Key()]; ok {
					n.Entries[i].Protect = protect
				}
			}
			continue
		}
		r, ok := s.Resource.(Thing)
		if !ok {
			continue
		}
		key := s.ID.Kind + "." + s.ID.Name
		at := slices.IndexFunc(n.Entries, func(e plan.Entry) bool { return e.Key() == key })
		switch {
		case s.Prune || s.Reverse:
			continue // the entry stays until it is done
		case at >= 0 && n.Entries[at].State == plan.EntryAdopted && s.Have != nil && r.sameApplied(n.Entries[at].Applied, s.Have):
			// An operator changed what was found as wanted: putting that back makes it none of
			// ours. What is not there any more is made by weft, and its own.
			n.Entries[at] = within(s, n.Entries[at], n.Entries[at:at+1])
			continue
		}
		e := plan.Entry{Kind: s.ID.Kind, Name: s.ID.Name}
		if at >= 0 && n.Entries[at].State != plan.EntryAdopted {
			e.Former = r.since(n.Entries[at], s.Have) // before weft ever came
		} else {
			e.Former = r.first(s.Have, l.Entries)
		}
		e.State, e.Applied, e.Needs, e.Place, e.Protect = plan.EntryCreating, r.applied(s.Have), s.Needs, s.Place, s.Protect
		if at >= 0 {
			n.Entries[at] = within(s, e, n.Entries[at:at+1])
		} else {
			n.Entries = append(n.Entries, within(s, e, nil))
		}
	}
	return n
}

// within is an entry with what taking the run back needs: what the run found
// when it first came to it.
func within(s plan.Step, e plan.Entry, was []plan.Entry) plan.Entry {
	if s.Run == "" {
		return e
	}
	e.Run, e.Before, e.Prior = s.Run, s.Resource.(Thing).formerly(s.Have), nil
	if s.Mark != nil {
		e.By, e.Commit = s.Mark.Who, s.Mark.Commit
	}
	if len(was) == 0 {
		return e
	}
	if was[0].Run == s.Run {
		e.Before, e.Prior = was[0].Before, was[0].Prior
		return e
	}
	prior := was[0]
	prior.Run, prior.By, prior.Commit, prior.Before, prior.Prior = "", "", "", nil, nil
	e.Prior = &prior
	return e
}

// done is the ledger after the steps are proven: what was reverted is gone,
// also what was found gone, and what is as wanted without weft is marked as
// adopted.
func (l ledger) done(steps []plan.Step, seen []observation) ledger {
	n := l
	n.Serial++
	n.Entries = slices.Clone(l.Entries)
	n.Pruned = slices.DeleteFunc(slices.Clone(l.Pruned), func(e plan.Entry) bool { return len(steps) > 0 && e.Run != steps[0].Run })
	drop := func(key string) {
		n.Entries = slices.DeleteFunc(n.Entries, func(e plan.Entry) bool { return e.Key() == key })
	}
	for _, s := range steps {
		key := s.ID.Kind + "." + s.ID.Name
		switch {
		case s.Reverse:
			n.reversed(key, s.Run)
			continue
		case s.Prune:
			n.pruned(key, s)
			drop(key)
			continue
		}
		for i := range n.Entries {
			if n.Entries[i].Key() == key && n.Entries[i].State != plan.EntryAdopted { // what was found, and put back, is none of ours still
				n.Entries[i] = s.Resource.(Thing).settled(n.Entries[i])
				n.Entries[i].State = plan.EntryCreated
			}
		}
	}
	for _, o := range seen {
		r, ok := o.resource.(Thing)
		if !ok {
			continue
		}
		if e, ok := r.adopted(o.state); ok {
			n.found(r, e, o.state)
		}
		switch gone := r.gone(o.state); {
		case gone && r.reversing() && len(steps) > 0: // the run never came to it
			n.reversed(r.key(), steps[0].Run)
		case gone:
			drop(r.key())
		}
	}
	return n
}

// found takes in what is as wanted without a step: by itself, or by an apply that was
// cut off after it.
func (l *ledger) found(r Thing, as plan.Entry, have plan.State) {
	at := slices.IndexFunc(l.Entries, func(e plan.Entry) bool { return e.Key() == as.Key() })
	switch {
	case at < 0:
		l.Entries = append(l.Entries, as)
	case l.Entries[at].State == plan.EntryCreated && r.additive(): // what it is to give no more is ended by another
		l.Entries[at].Applied = as.Applied
	case l.Entries[at].State == plan.EntryCreating && r.sameApplied(l.Entries[at].Applied, have):
		l.Entries[at] = r.settled(l.Entries[at])
		l.Entries[at].State = plan.EntryCreated
	}
}

// write replaces the ledger on the server, whole and synced.
func (d *Machine) write(ctx context.Context, l ledger, host Transport) error {
	memory, name, host := d.os.Memory, d.ledgerPlace(), d.behind(host)
	had := d.made(d.ledgers.own)
	if l.gone {
		if err := memory.Remove(ctx, host, d.owner, KeptLedger, KeptSecrets); err != nil {
			return fmt.Errorf("remove the ledger %s: %w", name, err)
		}
		d.ledgers.own, d.ledgers.raw, d.ledgers.former = ledger{Format: ledgerFormat, Owner: d.owner}, nil, nil
		return d.tidy(ctx, host)
	}
	l.OS = d.os.Name
	written, kept := l.discreet(d.ledgers.former, d.Known())
	raw, err := json.Marshal(written)
	if err != nil {
		return fmt.Errorf("write the ledger %s: %w", name, err)
	}
	// What either ledger names is there whichever of them stands.
	both := maps.Clone(kept)
	maps.Copy(both, d.ledgers.former)
	if err := d.keepFormer(ctx, both, host); err != nil {
		return err
	}
	// Whole or not at all: a connection that breaks, or a full disk, leaves the
	// old one.
	if err := memory.Put(ctx, host, KeptLedger, d.owner, raw); err != nil {
		return fmt.Errorf("write the ledger %s: %w", name, err)
	}
	d.ledgers.own, d.ledgers.raw = l, raw
	if err := d.keepFormer(ctx, kept, host); err != nil {
		return err
	}
	if had && !d.made(l) {
		return d.tidy(ctx, host)
	}
	return nil
}

func (d *Machine) ledgerPlace() string { return d.os.Memory.Place(KeptLedger, d.owner) }

func (d *Machine) tidy(ctx context.Context, host Transport) error {
	if err := d.os.Memory.Tidy(ctx, host, d.owner); err != nil {
		return fmt.Errorf("remove the folders of %s: %w", d.owner, err)
	}
	return nil
}

// made reports whether anything that weft made is there: what it found as wanted
// needs no folder.
func (d *Machine) made(l ledger) bool {
	return slices.ContainsFunc(l.Entries, func(e plan.Entry) bool { return e.State != plan.EntryAdopted && !d.fleeting(e) })
}

// renamed are what entries rest on, by the names that devices have now.
func (d *Machine) renamed(needs []plan.ID) []plan.ID {
	if d.now == nil {
		return needs
	}
	needs = slices.Clone(needs)
	for i := range needs {
		needs[i].Device = d.now(needs[i].Device)
	}
	return needs
}

var errMoved = errors.New("the ledger on the device changed since it was read: another weft was at work")
