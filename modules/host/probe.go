package host

import (
	"context"
	"net/netip"
	"time"

	"weft/internal/remote"
	"weft/internal/tally"
	"weft/inventory"
)

// What is asked of a machine to prove that it does what its resources say. None of
// it is kept, and all of it is asked over a login of whoever asks.

// A Meter asks a machine what its NICs have counted. What it cannot tell of one is a
// gap and no error.
type Meter func(ctx context.Context, h remote.Host, nics []NIC) (*tally.Ports, error)

// A Prober asks a machine what its kernel has connected to. It changes nothing.
type Prober struct {
	// Attached is what it has of an initiator.
	Attached func(context.Context, remote.Host, *inventory.Initiator) (*Paths, error)
	// Live are the connections that are live, whoever made them.
	Live func(context.Context, remote.Host) ([]LivePath, error)
	// Uses is what it does with the namespace of a UUID, in words: what is mounted, built
	// on it, or swap, and partitions. nil: it cannot be asked.
	Uses func(ctx context.Context, h remote.Host, uuid string) ([]string, error)
	// Ports are the ports of the kernel's target. nil: the system has no such target.
	Ports func(context.Context, remote.Host) ([]TargetPort, error)
}

// A TargetPort is a port of the target of a kernel.
type TargetPort struct {
	Transport string
	Address   netip.AddrPort // not valid: not set
	NQNs      []string       // of the subsystems that it exports
	Closed    string         // why no host reaches it although it exports some; "": none is known
	Unknown   error          // why it could not be read whether it is open
}

// Paths are what a machine's kernel has of the connections of an initiator.
type Paths struct {
	Live    map[string]int // live paths that give storage, by the NQN of each subsystem it connects to
	Idle    []IdlePath     // live ones that give none
	Devices []string       // block devices that they lead to: nvme0n1
}

// An IdlePath is a live connection that gives no storage.
type IdlePath struct{ NQN, Why string }

// Fewest is how many live paths lead to the subsystem that has fewest.
func (p *Paths) Fewest() int {
	fewest := -1
	for _, n := range p.Live {
		if fewest < 0 || n < fewest {
			fewest = n
		}
	}
	return max(fewest, 0)
}

// A LivePath is a connection of a kernel over which I/O goes.
type LivePath struct {
	HostNQN, NQN string
	Address      netip.AddrPort // of the portal
}

// A Witness asks a machine, on which weft's probes do not run, what it knows of ways that
// its connections take. It changes nothing.
type Witness func(ctx context.Context, h remote.Host, ways []Way) ([]Testimony, error)

// A Way leads from a NIC to a portal of subsystems.
type Way struct {
	NIC    *inventory.RNIC
	Portal netip.AddrPort
	NQNs   []string // of the subsystems
}

// A Testimony is what a machine says of a way, or of its NIC.
type Testimony struct {
	Way    int // of those that were asked for
	OfNIC  bool
	Metric string // controllers, paths, blocks, jumbo, dcb
	Holds  Holding
	Why    string // it does not hold, or is not known
	Note   string // what was looked at
}

// Holding says whether something is as it is to be.
type Holding int

// What is not told is unknown, and never holds; what is not measured holds nothing up either.
const (
	Unknown Holding = iota
	Holds
	Broken
	Unmeasured // there was nothing to tell it by: no traffic, no counter
)

// A Cutter cuts links, to see what becomes of I/O.
type Cutter struct {
	// Cut takes a NIC out of service. Before that it has the machine put it back
	// after a time, whatever becomes of weft; mend does so at once and proves it.
	Cut func(ctx context.Context, h remote.Host, owner string, nic *inventory.RNIC, after time.Duration) (mend func(context.Context) error, err error)
	// How says what becomes of such a NIC, for people.
	How func(*inventory.RNIC) string
}
