package host

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"weft/internal/bundle"
	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/claim"
	"weft/plan"
)

// An OS is one host system: how machines of it are read, changed and guarded. No
// other package asks which one it is. What a system lacks is nil, and Without says
// why: it is then refused by name where it is needed.
type OS struct {
	Name   string // as in the files and in ledgers
	Title  string // as people write it: ESXi
	Method string // how changes are made and kept, for people

	Sudo bool // become = "sudo" is for it: elsewhere who logs in has the rights, or has not

	// Open makes a transport of a login.
	Open func(remote.Host) Transport
	// Refused says more about a login that failed; nil: nothing is known.
	Refused func(error) error
	// Who is who answers: its Looks, and what they say.
	Who Identity
	// Kinds are all kinds of resources of it, which ledgers may name.
	Kinds func() []AnyKind

	Memory Memory // nil: nothing can be kept there, so nothing is changed
	Guard  Guard  // nil: what could cut the machine off is not changed
	// Last makes what a transaction has proven outlast the machine's next start; nil:
	// it does by itself.
	Last   func(context.Context, Transport) error
	Fence  *Fence    // nil: what comes too late is not refused by the machine
	Facts  *Teller   // nil: it does not say what it is
	Health *Examiner // nil: nor how it is
	// Reading reads what its NICs are set to; nil: Health tells it.
	Reading *Reader

	Counters Meter   // nil: what its NICs count is not measured
	Probe    *Prober // nil: what its kernel has connected is not known
	Witness  Witness // nil: weft's probes run there as on Linux
	Cut      *Cutter // nil: no link of it is cut to see what becomes of I/O

	Restart *Restarter // nil: nothing leaves it before a restart

	// Port makes what a port of a NIC is to have, each after the one before it, and
	// Connect a connection from it to a subsystem at a portal, where the system has
	// kinds of its own for that; nil: see Intents. Their errors say what it cannot do.
	Port    func(*Machine, *inventory.RNIC) ([]Wanted, error)
	Connect func(*Machine, *inventory.Initiator, *inventory.Connect, *inventory.Target, *inventory.Subsystem, inventory.Portal, *inventory.RNIC) (Wanted, error)
	// Declares is Port and Connect the other way round: what the ledger of an owner says of
	// a machine, as files declare it; nil: nothing is told of it.
	Declares func(owner string, entries []plan.Entry) (*Declared, error)
	// Agent makes the resource that keeps weft-initiator there, where the system has a kind
	// of its own for it: over a Transport it is run by the path that it has on Linux, reads
	// over TCP only, and marks nothing. nil: see Intents; with a Witness, none runs there.
	Agent func(*Machine, *bundle.Bundle) Wanted
	// Uplinks says that NICs of it may be uplinks of distributed switches.
	Uplinks bool
	// Intents says that Expand has kinds for what fabrics, pools, targets and
	// initiators ask of a machine.
	Intents bool

	Without map[Feature]string // of what is nil: why
}

// A Wanted is a resource that a system makes of what files ask for.
type Wanted struct {
	Kind, Name string
	Resource   Thing
}

// A Feature is something that not every host system has.
type Feature string

// The features that a system may lack.
const (
	Memories Feature = "a ledger"
	Guards   Feature = "a timer that reverts changes"
	Fencing  Feature = "a check of tokens"
	Telling  Feature = "facts"
	Intents  Feature = "fabrics and storage"
	Counting Feature = "counters of NICs"
	Probing  Feature = "connections of the kernel"
	Cutting  Feature = "a link that is cut and comes back by itself"
)

// how says how changes are made there, and what becomes of its guard.
func (os *OS) how() string {
	switch {
	case os.Guard == nil:
		return os.Method
	case os.Guard.Restarts():
		return os.Method + "; that outlasts a restart of the machine"
	}
	return os.Method + "; that does not outlast a restart of the machine"
}

// Lacks is an error that says why the system has no such thing; nil: it has.
func (os *OS) Lacks(f Feature) error {
	has := map[Feature]bool{Memories: os.Memory != nil, Guards: os.Guard != nil, Fencing: os.Fence != nil, Telling: os.Facts != nil, Intents: os.Intents,
		Counting: os.Counters != nil, Probing: os.Probe != nil, Cutting: os.Cut != nil}
	if has[f] {
		return nil
	}
	why := cmp.Or(os.Without[f], "weft does not know how")
	return hint.Wrap(fmt.Errorf("weft does without %s on %s: %s", f, os.Name, why), "it is described, not yet managed on %s", os.Name)
}

// A Transport reads and does on one machine. What looks, steps and commands mean
// is its system's affair: it refuses those that it does not know.
type Transport interface {
	remote.Host
	// Read takes all looks in one round trip.
	Read(context.Context, []remote.Look) (remote.Seen, error)
	Do(context.Context, remote.Step) error
}

// An Identity is how a machine says which one it is, and what runs on it.
type Identity struct {
	Looks func() []remote.Look
	Parse func(remote.Seen) plan.Identity
}

// A Keepsake is one thing that weft keeps on a machine.
type Keepsake int

// What is kept: of each owner a ledger and, apart from it, what was secret before
// weft came; and once on a machine the mark of a run and the lease.
const (
	KeptLedger Keepsake = iota
	KeptSecrets
	KeptMark
	KeptLease
)

// A Memory is where a system keeps what weft must find again. What is put is there
// whole or not at all.
type Memory interface {
	// Place names where it is kept, for people. Without an owner it is the place of
	// all owners'.
	Place(k Keepsake, owner string) string
	// Looks read all of it, and what an apply that did not end has left beside the
	// files that places look at.
	Looks(owner string, places []remote.Look) []remote.Look
	Parse(s remote.Seen, owner string, places []remote.Look) (Memorized, error)

	Put(ctx context.Context, t Transport, k Keepsake, owner string, raw []byte) error
	// Remove takes away what is kept for an owner.
	Remove(ctx context.Context, t Transport, owner string, kept ...Keepsake) error
	// Tidy removes the folders of an owner that weft has made. Those in which anybody
	// keeps something stay.
	Tidy(ctx context.Context, t Transport, owner string) error
	// Sweep removes files that were left.
	Sweep(ctx context.Context, t Transport, files []string) error

	// Take takes the lease and, under it, leaves the mark m in place of one of the
	// same run. It returns the mark and the owner's ledger as they are then. Held says
	// who has the lease instead.
	Take(ctx context.Context, t Transport, c Claim, m Note, owner string) (mark string, ledger []byte, held *Held, err error)
	// Mark leaves a mark under the lease, in place of one that holds old, and lets go
	// of the lease. other is another owner's mark that stands there instead. A mark that
	// was left is told the system's log, as say puts it, where there is one.
	Mark(ctx context.Context, t Transport, c Claim, text, old, say string) (other string, held *Held, err error)
	// Marked is the look at the mark, and what it saw.
	Marked() remote.Look
	// Unmark takes away a mark that holds needle, and tells the log.
	Unmark(ctx context.Context, t Transport, needle, say string) error

	Renew(ctx context.Context, t Transport, c Claim) error
	Release(ctx context.Context, t Transport, text string) error
	// Lease is who holds it; nil: nobody.
	Lease(ctx context.Context, t Transport) (*Held, error)
	// Break takes it from that holder; broken: that one still had it.
	Break(ctx context.Context, t Transport, h *Held) (broken bool, err error)
}

// Memorized is all that a machine was seen to keep.
type Memorized struct {
	Files  []Memo
	Broken error    // the rest of the files could not be told apart
	Unable error    // why nothing can be kept on this very machine, so that nothing is changed there
	Leases []Held   // as seen more than once while Left was looked for
	Left   []string // files, half or whole, that were on their way to their place
	Token  string   // that stands, for people: EPOCH.REVISION; "": none does
}

// A Memo is a ledger, or the secrets beside it.
type Memo struct {
	Kept  Keepsake
	Place string // for people
	Mine  bool   // of the owner that was asked for
	Raw   []byte
}

// A Claim asks for the lease of a machine.
type Claim struct {
	Text string // says whose it is; no two are the same
	Time time.Duration
	// Token is kept by the machine in place of a lesser one. Where a higher one stands
	// nothing is taken: Held.Past says so.
	Token  claim.Token
	ByHand bool  // for one command that people give: no token keeps it out
	Over   *Held // a lease whose holder is gone, which is taken over; nil: none is
}

// A Note is the text of a mark, and a part of it that no other mark has; "" is none.
type Note struct{ Text, Needle string }

// Held is a lease that another has.
type Held struct {
	Text  string
	Name  string        // of the lease and its end, where the system knows it by one
	Left  time.Duration // until it ends by itself
	Known bool          // else it is just being taken

	Past string // the token that stands, where it is what refuses; nobody may hold the lease
}

// A Fence keeps out who was overtaken without knowing it: a weft that slept through
// its lease and goes on.
type Fence struct {
	// Behind is a transport over which nothing is changed once another weft has the
	// lease of the claim, or has left a higher token: each command and file is refused
	// by the machine itself, in the same round trip, with a FencedError.
	Behind func(t Transport, c Claim) Transport
	// Token is what stands on the machine; "": none does.
	Token func(ctx context.Context, t Transport) (string, error)
	// Yield takes it away: whoever comes next begins anew.
	Yield func(ctx context.Context, t Transport) error
}

// A FencedError is a change that a machine refuses to who was overtaken.
type FencedError struct{ By string }

func (e *FencedError) Error() string { return e.By + " has been there meanwhile" }

// A Guard reverts changes by itself, unless they are proven in time: a timer, a
// task, a snapshot. It is what brings a machine back that nobody can reach.
type Guard interface {
	Name(owner string) string // of the timer, for people
	// Look sees which owners have one armed.
	Look() remote.Look
	Armed(remote.Seen) (Armed, error)
	// Arm has the steps taken after a while, and after them those that the owner's
	// is armed with already.
	Arm(ctx context.Context, t Transport, owner string, after time.Duration, back []remote.Step) error
	Disarm(ctx context.Context, t Transport, owner string) error
	// Restarts reports whether it is still armed after a restart of the machine.
	Restarts() bool
}

// Armed is where guards are armed on a machine.
type Armed struct {
	Owners []string
	Unable error // why none can be armed there; nil: it can
}

// A Teller asks a machine what it is.
type Teller struct {
	Origins Origins
	// Looks are at the machine and its NICs, all of it or what something is compared
	// with.
	Looks func(all bool, nics []NIC) []remote.Look
	Parse func(s remote.Seen, all bool, nics []NIC) (*ServerFacts, error)
	// Check compares a declared NIC with what was told.
	Check func(e Expectation, s *ServerFacts, have NICFacts) []Finding

	// Survey looks at a machine of which nothing is declared: all that it tells of
	// itself, and every port of its network cards with the addresses that it has.
	Survey   func() []remote.Look
	Surveyed func(remote.Seen) (*ServerFacts, error)
}

// A NIC is a port of a network card by its name in the files.
type NIC struct{ Name, PCI string }
