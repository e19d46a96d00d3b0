// Package switches reads and changes switches through their command line.
package switches

import "strings"

// An Intent is what is wished of a switch, in no vendor's words. The zero value of a
// field is "not there". One with neither Classes nor Ports removes every object that
// carries its Name.
type Intent struct {
	// Name is the prefix of every object weft creates on the switch: see ObjectName.
	Name string

	Classes []Class // by priority; the class "default" is all other traffic
	Ports   []Port

	// Watchdog is what happens to the packets of a queue that stays paused,
	// "drop" or "forward"; "" leaves the system's watchdog as it is.
	Watchdog string

	// LLDP says that the switch tells and hears who is at the other end of its
	// cables; false leaves it as it is.
	LLDP bool

	// Tagged says that some port is classified by the priority in VLAN tags, which
	// needs objects of its own on some systems.
	Tagged bool

	Owner Owner // whose the wish is; what it had under other names is its own
	Adopt bool  // what another owner has in the way is replaced
}

// A Reading is what a switch has printed: what is configured, in the words of an
// Intent, and what else was observed.
type Reading struct {
	// Name is the prefix of the policies that are attached, or "" when none of
	// weft's is.
	Name    string
	Classes []Class
	// Ports are every port; after For those that the intent names, in its order,
	// and any others that carry something of its name.
	Ports    []Port
	Watchdog string
	LLDP     bool
	Tagged   bool
	Facts    Facts

	Foreign  []string // policies of another owner that stand where ours must go
	Starved  []string // queues that have a share now, are filled by another owner, and have none in the intent
	Warnings []string // what a reader of the plan must know
	// NotUnderstood are lines that belong to QoS, PFC, ECN, buffers, watchdog, MTU
	// or LLDP, or to a port of the intent, and that weft does not know, each with
	// the places it stands in.
	NotUnderstood []string

	// Running is what PFC does, by port, where Observe made the reading; a port that the
	// switch does not list is missing. Mute says why it is not known of any port.
	Running map[string]Running
	Mute    string

	read *Text // to the letter
}

// A Difference leads from what a switch reads to what is wished of a part of it.
type Difference struct {
	Before, After Intent   // of that part
	Send, Undo    []string // lines that lead there, and back to the letter
}

// A Class is one traffic class end to end through the switch. Its queue
// (NX-OS qos-group, Comware local precedence) has the number of its priority.
type Class struct {
	// Name is that of the HCL block: "rdma". Where the OS does not keep names
	// a parsed class that no wish names is called priority-<n>.
	Name      string
	DSCP      []int     // ascending; empty for "default"
	Priority  int       // 802.1p priority, PFC class and queue
	Bandwidth int       // ETS share in percent; 0 with Strict
	Strict    bool      // strict priority
	PFC       bool      // lossless
	ECN       *ECN      // nil: no marking
	Headroom  *Headroom // nil: what the switch gives a lossless class by itself

	read bool // it was read from a switch, not wished
}

// ECN is a RED curve that marks.
type ECN struct {
	Min, Max    int64 // queue depth in bytes
	Probability int   // percent at Max
}

// Headroom is the ingress buffer of a lossless class on each port, in bytes.
type Headroom struct {
	Size int64
	Xoff int64 // a pause is sent when so much is filled
	Xon  int64 // and ends when no more than this is
}

// A Port is one switch port that carries the fabric.
type Port struct {
	Name     string // canonical long name: Ethernet1/11, HundredGigE1/0/11
	MTU      int    // in bytes, at least; a larger one is left alone; observed 0: the default of the OS
	PFC      bool   // priority flow control forced on for the lossless classes
	Classify bool   // classification into the classes is in force on the port: by DSCP, unless
	ByTag    bool   // it is by the 802.1p priority in VLAN tags, each that of a class
	// VLAN is wished with ByTag: the one whose frames must be tagged there. The switch
	// has it, or the port is refused.
	VLAN int
	// Queueing and marking are per port on Comware and system-wide on NX-OS;
	// true when the port schedules and marks as Classes says.
	Queue bool
	// Watchdog says that the port watches for queues that stay paused.
	Watchdog bool
	// Headroom says that the port has the ingress buffers that Classes have.
	Headroom bool
	// Exists is observed: the switch has such a port.
	Exists bool
	// Frame is observed: the longest frame the port takes by its own word, in
	// bytes; 0 where the OS was not asked.
	Frame int
	// Bundle is observed: the port-channel or aggregation group that the port is
	// a member of. What a member itself carries is not known to have an effect.
	Bundle string
	// Classes are observed where queueing is per port: what the port itself
	// does with each priority (no names, no DSCP).
	Classes []Class

	read bool // it was read from a switch, not wished
}

// Facts are what a switch says about itself.
type Facts struct {
	Hostname string
	Model    string
	Serial   string
	Version  string // of the OS

	// CellBytes is the unit in which the OS counts queue depths, in bytes; 0
	// where it takes bytes, or where the unit of this model is not known.
	CellBytes int
	// CellAssumed says that CellBytes comes from a related model, not from a
	// document about this one.
	CellAssumed bool
}

// A ForeignError is configuration of another owner that stands where ours
// must go. Nothing is rendered over it.
type ForeignError struct {
	Lines []string // as they stand, each after the place it stands in
}

func (e *ForeignError) Error() string {
	return "configuration that weft did not write is in the way: " + strings.Join(e.Lines, "; ")
}
