// Package plan is the engine: it compares what is wanted with what devices
// report, orders the difference, shows it, saves it, and carries it out.
package plan

import (
	"context"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
)

// A Resource is one thing on one device that weft keeps as declared.
type Resource interface {
	// Diff compares what is wanted with what was observed. It is pure.
	// have is nil when nothing is there yet; an empty Diff means converged.
	Diff(have State) Diff

	// Verify proves the effect of the resource on the live device and changes
	// nothing. It is called after the device has committed.
	Verify(context.Context) error
}

// A State is what a Device observed of one Resource: by convention a pointer
// to the resource's own struct type. nil means that nothing is there.
type State any

// A Diff is the difference between a resource and its observed state.
type Diff struct {
	Changes []Change `json:"changes"`        // what would change; none: converged
	Send    []string `json:"send,omitempty"` // what will be typed, as shown to people
	Undo    []string `json:"undo,omitempty"` // what would take it back; none with Changes: cannot be undone
	Err     error    `json:"-"`              // why the resource cannot be applied here; refuses the plan
	Alone   bool     `json:"-"`              // hosts miss something meanwhile that no other device may miss at the same time
	Left    string   `json:"-"`              // why nothing is done about it although it is not as wanted: it has drifted
	Fails   bool     `json:"-"`              // what Left says: hosts do not get what it was applied for
	// Degraded says of Left: hosts get what is declared, in a lesser way.
	Degraded bool     `json:"-"`
	Sweeps   []string `json:"-"` // paths of changes that only remove what an apply that did not end has left: more or less of it makes no plan stale
}

// Empty reports whether the resource is converged.
func (d Diff) Empty() bool { return len(d.Changes) == 0 && d.Err == nil }

// Impact is the worst impact of the changes.
func (d Diff) Impact() Impact {
	worst := ImpactNone
	for _, c := range d.Changes {
		worst = max(worst, c.Impact)
	}
	return worst
}

// A Change is one attribute that would change.
type Change struct {
	Path   string `json:"path"`   // the attribute, dotted: "classes.rdma.dscp"
	Before string `json:"before"` // as shown to people; "" is absent
	After  string `json:"after"`
	Impact Impact `json:"impact"`

	// Digest identifies what Before and After only count, such as the lines of a new file: a plan
	// is stale where it differs. "" where Before and After are the whole values.
	Digest string `json:"digest,omitempty"`
}

// Changed is the difference of one attribute, if there is one.
func Changed[V comparable](path string, before, after V, impact Impact) []Change {
	if before == after {
		return nil
	}
	return []Change{{Path: path, Before: fmt.Sprint(before), After: fmt.Sprint(after), Impact: impact}}
}

// Impact says what carrying out a change does to live traffic.
type Impact int

// The impacts, from harmless to worst.
const (
	ImpactNone Impact = iota
	ImpactTraffic
	ImpactLinkFlap
	ImpactReboot
	ImpactDataLoss
)

var impactNames = [...]string{"none", "traffic", "link-flap", "reboot", "data-loss"}

func (i Impact) String() string { return impactNames[i] }

// MarshalText writes the name of the impact.
func (i Impact) MarshalText() ([]byte, error) { return []byte(i.String()), nil }

// UnmarshalText reads the name of an impact.
func (i *Impact) UnmarshalText(b []byte) error {
	for n, name := range impactNames {
		if name == string(b) {
			*i = Impact(n)
			return nil
		}
	}
	return fmt.Errorf("impact %q is not known", b)
}

// An ID names a resource: the address of its device, its kind and its name
// there. It is printed and parsed as device/kind.name, for example
// server.node["st1"]/mtu.p0.
type ID struct {
	Device string // HCL address of the device's block
	Kind   string
	Name   string // may contain dots and slashes
}

func (id ID) String() string { return id.Device + "/" + id.Kind + "." + id.Name }

// MarshalText writes the ID as String does.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what String writes.
func (id *ID) UnmarshalText(b []byte) (err error) {
	*id, err = ParseID(string(b))
	return err
}

// ParseID reads what ID.String writes.
func ParseID(s string) (ID, error) {
	// The device's address may hold slashes inside quoted index keys only.
	quoted, escaped := false, false
	for i, r := range s {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quoted:
			escaped = true
		case r == '"':
			quoted = !quoted
		case r == '/' && !quoted:
			kind, name, ok := strings.Cut(s[i+1:], ".")
			if !ok || i == 0 || kind == "" || name == "" {
				return ID{}, fmt.Errorf("%q is not device/kind.name", s)
			}
			return ID{s[:i], kind, name}, nil
		}
	}
	return ID{}, fmt.Errorf("%q is not device/kind.name", s)
}

// An Item is a resource with its place in the whole.
type Item struct {
	ID       ID
	Resource Resource
	Needs    []ID      // must be converged before this one is touched
	After    []ID      // what hosts use instead of what this takes from them: committed and proven before
	Closes   []ID      // whose access this ends, the one that it is a part of first: what rests on them and is pruned goes before this
	Range    hcl.Range // the block it was written in
	Protect  bool      // never pruned, nor changed at the cost of data

	IgnoreDrift bool // what others made of it stays, until the declaration changes

	Blocks []string // HCL addresses of what it is a part of, the most specific first, the device last
	Plane  string   // whose traffic changing it may disturb; "" is none, or all

	rests   []ID   // all that it needs, also what is not among the items
	prune   *Entry // of the ledger, which this prunes
	last    bool   // after everything else
	late    bool   // what it follows is committed and proven before it begins
	ends    bool   // hosts lose what it provides
	reverse bool   // reverts what a run did
}

// Prunes reports whether the item prunes what is no longer declared.
func (i Item) Prunes() bool { return i.prune != nil }

// A Note says what a block describes but weft does not do yet, or anything
// else a reader of the plan must know.
type Note struct {
	Range hcl.Range `json:"range"`
	Block string    `json:"block"` // HCL address
	Text  string    `json:"text"`
}
