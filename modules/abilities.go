package modules

import (
	"context"
	"time"

	"weft/internal/remote"
	"weft/internal/tally"
	"weft/modules/host"
	"weft/modules/leaf"
	"weft/modules/vcenter"
	"weft/plan"
	"weft/switches"
)

// What some devices can do besides what the engine asks of all. Whoever needs it
// asks with plan.As, which refuses by name what a device cannot do.
type (
	// A Commander runs commands.
	Commander interface {
		// RunCommand runs a command; the device is open. With hold nobody else
		// changes the device meanwhile: a *plan.HeldError says who already does.
		RunCommand(ctx context.Context, cmd remote.Cmd, hold bool) (remote.Output, error)
	}

	// A Hosted device is a machine with a host system.
	Hosted interface {
		// OS is that system; what it can do is asked of it.
		OS() *host.OS
	}

	// A Terminal takes lines that only show.
	Terminal interface {
		// OnlyShows refuses a line that may do more than print.
		OnlyShows(line string) error
		// Show types a line that only shows, and returns what was printed; the
		// device is open.
		Show(ctx context.Context, line string) (string, error)
	}

	// A Counter has ports that count.
	Counter interface {
		// Counters are those of ports. A device that was not spoken to yet is
		// opened, which proves that it is the declared one.
		Counters(ctx context.Context, ports []string) (*tally.Ports, error)
	}

	// An Emptier is a machine that is emptied before it is restarted; it is open.
	Emptier interface {
		Empties() bool
		Stands(ctx context.Context) (*host.Standing, error)
		NoteEmptying(ctx context.Context, n host.Emptying) error
		NoteEmptied(ctx context.Context) error
		Empty(ctx context.Context) error
		Fill(ctx context.Context) error
		Restart(ctx context.Context) error
		Up(ctx context.Context) (time.Duration, error)
	}

	// A VSANTeller knows what the hosts of clusters speak to each other.
	VSANTeller interface {
		// VSAN asks about the clusters that are to use RDMA; the session is one of its own.
		VSAN(ctx context.Context) ([]vcenter.VSANState, error)
	}

	// A VCenterTeller is a vCenter that says what it is and has.
	VCenterTeller interface {
		// Facts opens it and asks.
		Facts(ctx context.Context) (*vcenter.Facts, error)
	}

	// A VCenterPatient is a vCenter that says how what weft keeps there is.
	VCenterPatient interface {
		Health(ctx context.Context) (*vcenter.Health, error)
	}

	// A Listener hears its neighbours with LLDP.
	Listener interface {
		// Heard are those that it hears now; it is opened where it is not. With a
		// *switches.UnclearError there may be others.
		Heard(ctx context.Context) ([]switches.Neighbour, error)
	}

	// A Recorder makes test cases.
	Recorder interface {
		// Record asks for everything that weft reads of the device, and writes that
		// as a test case that tells no more than it should.
		Record(ctx context.Context, discreet switches.Discretion) (string, error)
	}

	// A ServerTeller is a server that says what it is.
	ServerTeller interface {
		// ServerFacts opens it and asks; findings are what of that speaks against
		// the files or the catalogue.
		ServerFacts(ctx context.Context) (_ *host.ServerFacts, findings []host.Finding, _ error)
	}

	// A ServerPatient is a server that says how it is.
	ServerPatient interface {
		Health(ctx context.Context) (*host.Health, error)
	}

	// A SwitchPatient is a switch that says how it is.
	SwitchPatient interface {
		Health(ctx context.Context) (*leaf.Health, error)
	}

	// A SwitchReader is a switch that says what it is set to.
	SwitchReader interface {
		// Reading logs in where that was not done, and reads in one pass; it needs no lease.
		Reading(ctx context.Context) (*switches.Reading, error)
	}

	// A SwitchTeller is a switch that says what it is.
	SwitchTeller interface {
		// SwitchFacts opens it and asks.
		SwitchFacts(ctx context.Context) (*leaf.Facts, error)
	}
)

// Facts are what a device says of itself: a server, a switch or a vCenter, and what
// of it speaks against the files or the catalogue.
type Facts struct {
	Server   *host.ServerFacts `json:"server,omitempty"`
	Switch   *leaf.Facts       `json:"switch,omitempty"`
	VCenter  *vcenter.Facts    `json:"vcenter,omitempty"`
	Findings []host.Finding    `json:"findings,omitempty"`
}

// ReadFacts opens the device at an address and asks what it is.
func ReadFacts(ctx context.Context, devices map[string]plan.Device, address string) (*Facts, error) {
	if s, ok := devices[address].(ServerTeller); ok {
		facts, findings, err := s.ServerFacts(ctx)
		if err != nil {
			return nil, err
		}
		return &Facts{Server: facts, Findings: findings}, nil
	}
	if v, ok := devices[address].(VCenterTeller); ok {
		facts, err := v.Facts(ctx)
		if err != nil {
			return nil, err
		}
		return &Facts{VCenter: facts}, nil
	}
	s, err := plan.As[SwitchTeller](devices, address, "tells no facts")
	if err != nil {
		return nil, err
	}
	facts, err := s.SwitchFacts(ctx)
	if err != nil {
		return nil, err
	}
	return &Facts{Switch: facts}, nil
}
