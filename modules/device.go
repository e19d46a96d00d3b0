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

// A Device is a plan.Device with the operations that only modules know. An operation that the
// device does not have returns an error that wraps errors.ErrUnsupported.
type Device interface {
	plan.Device

	// Facts opens the device and reads what it is.
	Facts(ctx context.Context) (*Facts, error)

	// Health reads the state that doctor judges.
	Health(ctx context.Context) (*Health, error)

	// HostOS is the host system of a server.
	HostOS() (*host.OS, error)

	// VCenter is the vCenter itself, for the maintenance mode of its hosts.
	VCenter() (*vcenter.Device, error)

	// VSAN reads the transport between the hosts of clusters that are to use RDMA, in a session of
	// its own.
	VSAN(ctx context.Context) ([]vcenter.VSANState, error)

	// CheckCommand refuses a command that the device does not accept. A switch accepts only
	// commands that print.
	CheckCommand(line string) error

	// RunCommand runs a command on a server; the device is open. With exclusive no other weft
	// changes the device meanwhile: a *plan.HeldError names the one that already does.
	RunCommand(ctx context.Context, cmd remote.Cmd, exclusive bool) (remote.Output, error)

	// Show types a line that only prints at a switch and returns the output; the device is open.
	Show(ctx context.Context, line string) (string, error)

	// Counters reads the counters of switch ports. A device that is not open is opened, which
	// proves that it is the declared one.
	Counters(ctx context.Context, ports []string) (*tally.Ports, error)

	// Neighbours reads the LLDP neighbours of a switch, and opens it where it is not open. With a
	// *switches.UnclearError the list may be incomplete.
	Neighbours(ctx context.Context) ([]switches.Neighbour, error)

	// Reading reads the configuration of a switch in one pass, and logs in where needed; it takes no
	// lease.
	Reading(ctx context.Context) (*switches.Reading, error)

	// Record reads everything that weft reads of a switch, and returns it as a test case. discreet
	// says what is removed from it.
	Record(ctx context.Context, discreet switches.Discretion) (string, error)

	// Maintenance are the operations of a host that is emptied before it restarts.
	Maintenance() (Maintenance, error)
}

// Maintenance empties a host of virtual machines, restarts it and fills it again; the device is
// open.
type Maintenance interface {
	Stands(ctx context.Context) (*host.Standing, error)
	NoteEmptying(ctx context.Context, n host.Emptying) error
	NoteEmptied(ctx context.Context) error
	Empty(ctx context.Context) error
	Fill(ctx context.Context) error
	Restart(ctx context.Context) error
	Up(ctx context.Context) (time.Duration, error)
}

// Facts are what a device is: one of server, switch and vCenter, and what of it contradicts the
// files or the catalogue.
type Facts struct {
	Server   *host.ServerFacts `json:"server,omitempty"`
	Switch   *leaf.Facts       `json:"switch,omitempty"`
	VCenter  *vcenter.Facts    `json:"vcenter,omitempty"`
	Findings []host.Finding    `json:"findings,omitempty"`
}

// Health is the state of a device: one of server, switch and vCenter.
type Health struct {
	Server  *host.Health
	Switch  *leaf.Health
	VCenter *vcenter.Health
}

// Unsupported implements the operations that Device adds to plan.Device by refusing them.
type Unsupported struct {
	Reason string // such as "server.st1 is a server"
}

func (u Unsupported) refuse(operation string) error {
	return &plan.UnsupportedError{Operation: operation, Reason: u.Reason}
}

// Facts is not supported.
func (u Unsupported) Facts(context.Context) (*Facts, error) { return nil, u.refuse("read facts") }

// Health is not supported.
func (u Unsupported) Health(context.Context) (*Health, error) { return nil, u.refuse("read the state") }

// HostOS is not supported.
func (u Unsupported) HostOS() (*host.OS, error) { return nil, u.refuse("use a host system") }

// VCenter is not supported.
func (u Unsupported) VCenter() (*vcenter.Device, error) { return nil, u.refuse("use vCenter") }

// VSAN is not supported.
func (u Unsupported) VSAN(context.Context) ([]vcenter.VSANState, error) {
	return nil, u.refuse("read the state of vSAN")
}

// CheckCommand is not supported.
func (u Unsupported) CheckCommand(string) error { return u.refuse("run commands") }

// RunCommand is not supported.
func (u Unsupported) RunCommand(context.Context, remote.Cmd, bool) (remote.Output, error) {
	return remote.Output{}, u.refuse("run commands")
}

// Show is not supported.
func (u Unsupported) Show(context.Context, string) (string, error) {
	return "", u.refuse("type at a switch terminal")
}

// Counters is not supported.
func (u Unsupported) Counters(context.Context, []string) (*tally.Ports, error) {
	return nil, u.refuse("read port counters")
}

// Neighbours is not supported.
func (u Unsupported) Neighbours(context.Context) ([]switches.Neighbour, error) {
	return nil, u.refuse("read LLDP neighbours")
}

// Reading is not supported.
func (u Unsupported) Reading(context.Context) (*switches.Reading, error) {
	return nil, u.refuse("read the configuration of a switch")
}

// Record is not supported.
func (u Unsupported) Record(context.Context, switches.Discretion) (string, error) {
	return "", u.refuse("record a test case")
}

// Maintenance is not supported.
func (u Unsupported) Maintenance() (Maintenance, error) {
	return nil, u.refuse("use maintenance mode")
}

// missing puts the methods of Unsupported below those of the device that is embedded beside it.
type missing struct{ Unsupported }

func newMissing(d interface{ Address() string }, class string) missing {
	return missing{Unsupported{Reason: d.Address() + " is a " + class}}
}

// unknown is an address without a device.
type unknown struct {
	plan.Unsupported
	missing
}

func newUnknown(address string) unknown {
	reason := address + " is not a device of these files"
	return unknown{plan.Unsupported{Reason: reason}, missing{Unsupported{reason}}}
}

// A Server is a machine as a Device.
type Server struct {
	*host.Machine
	missing
}

func newServer(m *host.Machine) Server { return Server{m, newMissing(m, "server")} }

// Facts implements Device.
func (s Server) Facts(ctx context.Context) (*Facts, error) {
	facts, findings, err := s.ServerFacts(ctx)
	if err != nil {
		return nil, err
	}
	return &Facts{Server: facts, Findings: findings}, nil
}

// Health implements Device.
func (s Server) Health(ctx context.Context) (*Health, error) {
	h, err := s.Machine.Health(ctx)
	if err != nil {
		return nil, err
	}
	return &Health{Server: h}, nil
}

// HostOS implements Device.
func (s Server) HostOS() (*host.OS, error) { return s.OS(), nil }

// CheckCommand implements Device: a server runs every command.
func (s Server) CheckCommand(string) error { return nil }

// Maintenance implements Device.
func (s Server) Maintenance() (Maintenance, error) {
	if !s.Empties() {
		return s.missing.Maintenance()
	}
	return s.Machine, nil
}

// switchNode is a switch as a Device.
type SwitchNode struct {
	*leaf.Device
	missing
}

func newSwitchNode(d *leaf.Device) SwitchNode { return SwitchNode{d, newMissing(d, "switch")} }

// Facts implements Device.
func (s SwitchNode) Facts(ctx context.Context) (*Facts, error) {
	facts, err := s.SwitchFacts(ctx)
	if err != nil {
		return nil, err
	}
	return &Facts{Switch: facts}, nil
}

// Health implements Device.
func (s SwitchNode) Health(ctx context.Context) (*Health, error) {
	h, err := s.Device.Health(ctx)
	if err != nil {
		return nil, err
	}
	return &Health{Switch: h}, nil
}

// CheckCommand implements Device.
func (s SwitchNode) CheckCommand(line string) error { return s.OnlyShows(line) }

// Neighbours implements Device.
func (s SwitchNode) Neighbours(ctx context.Context) ([]switches.Neighbour, error) {
	return s.Heard(ctx)
}

// A VCenter is a vCenter as a Device.
type VCenter struct {
	*vcenter.Device
	missing
}

func newVCenter(d *vcenter.Device) VCenter { return VCenter{d, newMissing(d, "vCenter")} }

// Facts implements Device.
func (v VCenter) Facts(ctx context.Context) (*Facts, error) {
	facts, err := v.Device.Facts(ctx)
	if err != nil {
		return nil, err
	}
	return &Facts{VCenter: facts}, nil
}

// Health implements Device.
func (v VCenter) Health(ctx context.Context) (*Health, error) {
	h, err := v.Device.Health(ctx)
	if err != nil {
		return nil, err
	}
	return &Health{VCenter: h}, nil
}

// VCenter implements Device.
func (v VCenter) VCenter() (*vcenter.Device, error) { return v.Device, nil }

var _ = []Device{Server{}, SwitchNode{}, VCenter{}, unknown{}}
