package plan

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"

	"weft/internal/hint"
	"weft/internal/selector"
)

// A Keeper is the part of a Device that remembers, on the device, what weft did to it: its
// ledger. What the ledger holds and the files no longer declare is pruned.
type Keeper interface {
	// Kept is what the device remembered when it was last opened. It does no
	// I/O.
	Kept() Kept

	// Restore returns the resource that leads from what an entry says was
	// applied back to what was there before. Its Diff refuses nothing: what
	// has drifted is left alone, see Diff.Left. nil: it goes with another entry.
	Restore(Entry) (Resource, error)

	// Drifted reports whether what was last read is not what the entry says was
	// applied, or found as wanted. The state is as the resource observed it that is
	// declared now, which may speak of other settings than the entry.
	Drifted(Entry, State) bool

	// Unchanged reports whether the resource still wants what the entry says
	// was applied.
	Unchanged(Entry, Resource) bool

	// Pending returns the resource that proves and keeps what a run that died
	// left to be reverted by the device itself; converged where there is none.
	Pending() Resource

	// Belongs returns the resource that keeps the roster on the device, which
	// entries are protected where that changes, by key, and from which the entries
	// of released go, by key. Of a nil roster it is the one that removes the
	// ledger.
	Belongs(roster []Member, protect map[string]bool, released []string) Resource
}

// Kept is what a ledger says.
type Kept struct {
	Roster  []Member          // the devices of the owner, as last told to this one
	Entries []Entry           // in the order in which they came about
	Foreign map[string]string // by kind.name: what belongs to another owner, and to whom
}

// A Member is one device of an owner.
type Member struct {
	Device     string `json:"device"` // HCL address
	Kind       string `json:"kind"`   // server, switch or vcenter
	Host       string `json:"host"`   // what is dialled
	Connection string `json:"connection,omitempty"`

	OS         string `json:"os,omitempty"`         // its system; "" of a server: linux, which older ledgers do not name
	Credential string `json:"credential,omitempty"` // of a switch or a vCenter: as whom it is spoken to
	SHA256     string `json:"tls_sha256,omitempty"` // of the certificate of a vCenter; "": authorities vouch for it
}

// An Entry is one resource in a ledger. It holds states, never commands.
type Entry struct {
	Kind    string          `json:"kind"`
	Name    string          `json:"name"`
	State   EntryState      `json:"state"`
	Former  json.RawMessage `json:"former,omitempty"`  // what was there before weft; none: nothing
	Applied json.RawMessage `json:"applied,omitempty"` // what weft made of it
	Needs   []ID            `json:"needs,omitempty"`   // what it rests on
	Place   string          `json:"place,omitempty"`   // where it was declared
	Protect bool            `json:"protect,omitempty"` // never pruned

	Run    string          `json:"run,omitempty"`    // the last one that touched it
	By     string          `json:"by,omitempty"`     // user@host that began it
	Commit string          `json:"commit,omitempty"` // of the files that it carried out
	Before json.RawMessage `json:"before,omitempty"` // what that found; none: nothing
	Prior  *Entry          `json:"prior,omitempty"`  // the entry as that found it; nil: there was none
}

// Key is kind.name.
func (e Entry) Key() string { return e.Kind + "." + e.Name }

// EntryState says how sure a ledger is of an entry.
type EntryState string

// The states of an entry.
const (
	EntryCreating EntryState = "creating" // was about to be applied; may not have been
	EntryCreated  EntryState = "created"  // applied and proven
	EntryAdopted  EntryState = "adopted"  // found as wanted: weft never reverts it
)

// LedgerKind is the kind of the resources that keep the books of a device: what
// weft writes about itself.
const LedgerKind = "ledger"

// Removed says what becomes of devices that are not declared any more.
type Removed struct {
	From   string // HCL address of a device, of all its instances, or of a module
	Forget bool   // leave it as it is; otherwise everything of ours is pruned
	Range  hcl.Range
}

// A Rename says how a device was called that is declared, or all those of a block.
type Rename struct{ From, To string }

// Renames are all of them.
type Renames []Rename

// Now is how a device is called that ledgers call by that address.
func (r Renames) Now(device string) string {
	for _, one := range r {
		if rest, ok := strings.CutPrefix(device, one.From); ok && selector.Covers(one.From, device) {
			return one.To + rest
		}
	}
	return device
}

func (in *Input) removed(device string) *Removed {
	for i, r := range in.Removed {
		if selector.Covers(r.From, device) {
			return &in.Removed[i]
		}
	}
	return nil
}

// ownership is what the ledgers say next to what is declared.
type ownership struct {
	declared map[ID]bool
	members  map[string]bool // devices that are declared
}

func newOwnership(in *Input) *ownership {
	o := &ownership{declared: make(map[ID]bool, len(in.Items)), members: make(map[string]bool, len(in.Roster))}
	if in.Destroy {
		return o
	}
	for _, item := range in.Items {
		o.declared[item.ID] = true
	}
	for _, m := range in.Roster {
		o.members[m.Device] = true
	}
	return o
}

// orphans returns the items that prune what the device's ledger holds and
// nobody declares, the latest first.
func (o *ownership) orphans(address string, k Device) ([]*Item, error) {
	var items []*Item
	entries := k.Kept().Entries
	for i := len(entries) - 1; i >= 0; i-- {
		e := entries[i]
		id := ID{address, e.Kind, e.Name}
		if e.State == EntryAdopted || o.declared[id] {
			continue
		}
		r, err := k.Restore(e)
		if err != nil {
			return nil, fmt.Errorf("the ledger's entry %s: %w", e.Key(), err)
		}
		if r == nil {
			continue
		}
		items = append(items, &Item{ID: id, Resource: r, prune: &entries[i]})
	}
	return items, nil
}

// released lists the entries of what was found as wanted and nobody declares any
// more: what becomes of it from now on is no drift, and to declare it again is to
// find it anew.
func (o *ownership) released(address string, kept Kept) []string {
	var keys []string
	for _, e := range kept.Entries {
		if e.State == EntryAdopted && !o.declared[ID{address, e.Kind, e.Name}] {
			keys = append(keys, e.Key())
		}
	}
	slices.Sort(keys) // the same on all devices on which it is the same
	return keys
}

// protects lists the entries whose protection is not as declared.
func protects(items []*Item, kept Kept) map[string]bool {
	want := make(map[string]bool, len(items))
	for _, item := range items {
		want[item.ID.Kind+"."+item.ID.Name] = item.Protect
	}
	var changed map[string]bool
	for _, e := range kept.Entries {
		if protect, ok := want[e.Key()]; ok && protect != e.Protect && e.State != EntryAdopted {
			if changed == nil {
				changed = map[string]bool{}
			}
			changed[e.Key()] = protect
		}
	}
	return changed
}

// foreign refuses what belongs to another owner.
func foreign(kept Kept, id ID) error {
	owner, ok := kept.Foreign[id.Kind+"."+id.Name]
	if !ok {
		return nil
	}
	return hint.Wrap(fmt.Errorf("it belongs to the owner %q, whose ledger is on the device", owner),
		"declare it in one place only: take it out here, or there and apply")
}

// lost lists the devices that some ledger knows and nobody declares.
func (s *survey) lost(in *Input, o *ownership) (refusals []Refusal, recall []Member) {
	seen := map[string]bool{}
	for _, d := range s.devices {
		if d.err != nil {
			continue
		}
		for _, m := range d.device.Kept().Roster {
			if m.Device = in.Moved.Now(m.Device); seen[m.Device] || o.members[m.Device] || in.Destroy && in.Devices[m.Device] != nil {
				continue
			}
			seen[m.Device] = true
			switch r := in.removed(m.Device); {
			case r == nil:
				refusals = append(refusals, lostRefusal(m, d.address, s.renamed(in, m)))
			case !r.Forget:
				recall = append(recall, m)
			}
		}
	}
	return refusals, recall
}

// lostRefusal refuses a device that ledgers list and nobody declares; now is what it is
// declared as, where only its name was changed.
func lostRefusal(m Member, from, now string) Refusal {
	r := Refusal{
		ID:   ID{m.Device, LedgerKind, "roster"},
		Text: fmt.Sprintf("the device (%s) is not declared any more, and %s still lists it as one of this owner's", m.Host, from),
		Hint: "to remove what weft did to it write this, or mode = \"forget\" to leave it as it is:\n" +
			fmt.Sprintf("removed {\n  from = %s\n  mode = \"prune\"\n}", m.Device),
	}
	if now != "" {
		r.Text = fmt.Sprintf("the device (%s) is not declared any more under this name, and %s still lists it; it is the machine that is declared as %s", m.Host, from, now)
		r.Hint = "if the block got another name write this, which changes nothing on devices:\n" + movedBlock(m.Device, now)
	}
	return r
}

// movedBlock is as it is written in files.
func movedBlock(from, to string) string {
	return fmt.Sprintf("moved {\n  from = %s\n  to   = %s\n}", from, to)
}

// renamed is the device that a lost one is declared as now: one that no ledger lists
// yet, at the same address, or which holds a ledger of this owner that lists the lost
// one and not itself; "": there is none, or more than one.
func (s *survey) renamed(in *Input, lost Member) string {
	listed := map[string]bool{}
	for _, d := range s.devices {
		if d.err == nil {
			for _, m := range d.device.Kept().Roster {
				listed[in.Moved.Now(m.Device)] = true
			}
		}
	}
	var hosts, holders []string
	for _, m := range in.Roster {
		if listed[m.Device] || m.Kind != lost.Kind {
			continue
		}
		if m.Host == lost.Host {
			hosts = append(hosts, m.Device)
		} else if s.holds(m.Device, lost.Device) {
			holders = append(holders, m.Device)
		}
	}
	switch {
	case len(hosts) == 1:
		return hosts[0]
	case len(hosts) == 0 && len(holders) == 1:
		return holders[0]
	}
	return ""
}

// holds reports whether the ledger on a device lists another one.
func (s *survey) holds(address, other string) bool {
	i := slices.IndexFunc(s.devices, func(d *surveyed) bool { return d.address == address })
	if i < 0 || s.devices[i].err != nil {
		return false
	}
	return slices.ContainsFunc(s.devices[i].device.Kept().Roster, func(m Member) bool { return m.Device == other })
}

// linkPrunes orders what is pruned: after everything that rested on it, unless that comes
// after it to take over what it holds.
func linkPrunes(items []Item, devices []*surveyed, moves Renames, after following) {
	at := make(map[ID]int)
	all := make(map[ID]bool, len(items))
	closes := map[ID][]int{} // the items that end access to others
	for i, item := range items {
		all[item.ID] = true
		if item.prune != nil {
			at[item.ID] = i
		}
		for _, id := range item.Closes {
			closes[id] = append(closes[id], i)
		}
	}
	if len(at) == 0 {
		return
	}
	for _, d := range devices {
		if d.err != nil {
			continue
		}
		for _, e := range d.device.Kept().Entries {
			id := ID{d.address, e.Kind, e.Name}
			if !all[id] {
				continue
			}
			for _, need := range e.Needs {
				need.Device = moves.Now(need.Device)
				n, pruned := at[need]
				if pruned && need != id && !after[need][id] {
					items[n].Needs = append(items[n].Needs, id)
				}
				for _, c := range closes[id] { // the host of a subsystem goes when the subsystem admits it no more
					if pruned {
						items[n].Needs = append(items[n].Needs, items[c].ID)
					}
				}
				for _, c := range closes[need] {
					if _, goes := at[id]; goes {
						items[c].Needs = append(slices.Clip(items[c].Needs), id)
					}
				}
			}
		}
	}
}
