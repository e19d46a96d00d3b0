package host

import (
	"context"
	"fmt"
	"time"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/plan"
)

// An OS is one host system: how machines of it are read, changed and guarded. No
// other package asks which one it is. What a system lacks is nil, and Without says
// why: it is then refused by name where it is needed.
type OS struct {
	Name   string // as in the files and in ledgers
	Method string // how changes are made and kept, for people

	// Open makes a transport of a login.
	Open func(remote.Host) Transport
	// Who is who answers: its Looks, and what they say.
	Who Identity
	// Kinds are all kinds of resources of it, which ledgers may name.
	Kinds func() []AnyKind

	Memory Memory  // nil: nothing can be kept there, so nothing is changed
	Guard  Guard   // nil: what could cut the machine off is not changed
	Facts  *Teller // nil: it does not say what it is

	// Intents says that Expand has kinds for what fabrics, pools, targets and
	// initiators ask of a machine.
	Intents bool

	Without map[Feature]string // of what is nil: why
}

// A Feature is something that not every host system has.
type Feature string

// The features that a system may lack.
const (
	Memories Feature = "a ledger"
	Guards   Feature = "a timer that reverts changes"
	Telling  Feature = "facts"
	Intents  Feature = "fabrics and storage"
)

// Lacks is an error that says why the system has no such thing; nil: it has.
func (os *OS) Lacks(f Feature) error {
	has := map[Feature]bool{Memories: os.Memory != nil, Guards: os.Guard != nil, Telling: os.Facts != nil, Intents: os.Intents}
	if has[f] {
		return nil
	}
	why := os.Without[f]
	if why == "" {
		why = "weft does not know how"
	}
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
	// of the lease. other is somebody else's mark that stands there instead.
	Mark(ctx context.Context, t Transport, c Claim, text, old string) (other string, held *Held, err error)
	// Marked is the look at the mark, and what it saw.
	Marked() remote.Look
	// Unmark takes away a mark that holds needle.
	Unmark(ctx context.Context, t Transport, needle string) error

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
	Leases []Held   // as seen more than once while Left was looked for
	Left   []string // files, half or whole, that were on their way to their place
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
	Over *Held // a lease whose holder is gone, which is taken over; nil: none is
}

// A Note is the text of a mark, and a part of it that no other mark has; "" is none.
type Note struct{ Text, Needle string }

// Held is a lease that somebody has.
type Held struct {
	Text  string
	Name  string        // of the lease and its end, where the system knows it by one
	Left  time.Duration // until it ends by itself
	Known bool          // else it is just being taken
}

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
	// Look is at the machine and its NICs, all of it or what something is compared
	// with.
	Look  func(all bool, nics []NIC) remote.Look
	Parse func(s remote.Seen, l remote.Look, nics []NIC) (*ServerFacts, error)
	// Check compares a declared NIC with what was told.
	Check func(e Expectation, s *ServerFacts, have NICFacts) []Finding
}

// A NIC is a port of a network card by its name in the files.
type NIC struct{ Name, PCI string }
