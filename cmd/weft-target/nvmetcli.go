package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"weft/internal/agent"
)

// nvmetConfig is what nvmetcli saves, as far as it has a meaning here.
type nvmetConfig struct {
	Hosts      []nvmetHost      `json:"hosts"`
	Ports      []nvmetPort      `json:"ports"`
	Subsystems []nvmetSubsystem `json:"subsystems"`
}

type nvmetHost struct {
	NQN     string `json:"nqn"`
	Key     string `json:"dhchap_key"`
	CtrlKey string `json:"dhchap_ctrl_key"`
}

type nvmetPort struct {
	ID   int `json:"portid"`
	Addr struct {
		Family  string `json:"adrfam"`
		Address string `json:"traddr"`
		Service string `json:"trsvcid"`
		Type    string `json:"trtype"`
	} `json:"addr"`
	Groups []struct {
		ID  uint32 `json:"grpid"`
		ANA struct {
			State string `json:"state"`
		} `json:"ana"`
	} `json:"ana_groups"`
	Referrals  []json.RawMessage `json:"referrals"`
	Subsystems []string          `json:"subsystems"`
}

type nvmetSubsystem struct {
	NQN  string `json:"nqn"`
	Attr struct {
		AllowAny string `json:"allow_any_host"`
		Serial   string `json:"serial"`
	} `json:"attr"`
	Allowed    []string         `json:"allowed_hosts"`
	Namespaces []nvmetNamespace `json:"namespaces"`
}

type nvmetNamespace struct {
	ID     uint32 `json:"nsid"`
	Enable int    `json:"enable"`
	Group  uint32 `json:"ana_grpid"`
	Device struct {
		Path  string `json:"path"`
		NGUID string `json:"nguid"`
		UUID  string `json:"uuid"`
	} `json:"device"`
}

func importCommand(places *agent.Places) *cobra.Command {
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Turn what nvmetcli has saved into a configuration of weft-target",
		Long: `Turn the JSON of nvmetcli (nvmetcli save FILE) into a configuration of
weft-target and print it. What cannot be taken over as it was is refused, or
said on standard error where it does no harm. Sizes are those of the files and
devices as they are on this machine.`,
		Args: cobra.ExactArgs(1),
	}
	im := &importer{places: places}
	c.Flags().StringVar(&im.owner, "owner", "imported", "owner in the configuration")
	c.Flags().StringSliceVar(&im.allow, "allow", nil, "host NQN for subsystems that allow any host, which weft-target never does (repeatable)")
	c.RunE = func(c *cobra.Command, args []string) error {
		return started(func(c *cobra.Command) error {
			text, err := os.ReadFile(args[0])
			if err != nil {
				return err
			}
			out, notes, err := im.convert(text)
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			for _, n := range notes {
				fmt.Fprintln(c.ErrOrStderr(), "note:", n)
			}
			_, err = c.OutOrStdout().Write(out)
			return err
		})(c, args)
	}
	return c
}

// importer turns one configuration into the other.
type importer struct {
	places *agent.Places
	owner  string
	allow  []string
	notes  []string
	errs   []error
}

func (im *importer) note(format string, args ...any) {
	im.notes = append(im.notes, fmt.Sprintf(format, args...))
}

func (im *importer) refuse(format string, args ...any) {
	im.errs = append(im.errs, fmt.Errorf(format, args...))
}

func (im *importer) convert(text []byte) (out []byte, notes []string, err error) {
	var from nvmetConfig
	if err := json.NewDecoder(bytes.NewReader(text)).Decode(&from); err != nil {
		return nil, nil, fmt.Errorf("this is not what nvmetcli saves: %w", err)
	}
	to := &agent.Target{Owner: im.owner}
	for _, p := range from.Ports {
		im.port(to, p)
	}
	for _, s := range from.Subsystems {
		im.subsystem(to, s, from.Ports, from.Hosts)
	}
	if err := errors.Join(im.errs...); err != nil {
		return nil, nil, err
	}
	if err := to.Validate(); err != nil {
		return nil, nil, err
	}
	out, err = to.Encode()
	return out, im.notes, err
}

func (im *importer) port(to *agent.Target, p nvmetPort) {
	if p.Addr.Type != "tcp" && p.Addr.Type != "rdma" {
		im.refuse("port %d: transport %q is described, not yet managed; take the port out", p.ID, p.Addr.Type)
		return
	}
	if ip := net.ParseIP(p.Addr.Address); ip != nil && ip.IsUnspecified() {
		im.refuse("port %d listens on %s, all addresses; name each of them that hosts may use", p.ID, p.Addr.Address)
	}
	if len(p.Referrals) > 0 {
		im.note("port %d: referrals to other discovery services are not taken over", p.ID)
	}
	address := p.address()
	to.Portals = append(to.Portals, agent.Portal{Transport: p.Addr.Type, Address: address})
	for _, g := range p.Groups {
		if g.ANA.State != "" && g.ANA.State != "optimized" {
			to.Access = append(to.Access, agent.Access{Portal: address, Group: g.ID, State: g.ANA.State})
		}
	}
}

// address of a port, as a portal has it.
func (p nvmetPort) address() string { return net.JoinHostPort(p.Addr.Address, p.Addr.Service) }

// at names the portals that serve a subsystem: none where all do.
func (im *importer) at(nqn string, ports []nvmetPort) (addresses []string) {
	all := true
	for _, p := range ports {
		switch serves := slices.Contains(p.Subsystems, nqn); {
		case !serves:
			all = false
		case !slices.Contains(addresses, p.address()):
			addresses = append(addresses, p.address())
		}
	}
	if all {
		return nil
	}
	for _, p := range ports {
		// Served at a port more than before, it might reach hosts it must not.
		if slices.Contains(addresses, p.address()) && !slices.Contains(p.Subsystems, nqn) {
			im.refuse("port %d does not serve %s, and weft-target serves it over every transport of an address: %s", p.ID, nqn, p.address())
		}
	}
	return addresses
}

func (im *importer) subsystem(to *agent.Target, s nvmetSubsystem, ports []nvmetPort, hosts []nvmetHost) {
	out := agent.Subsystem{NQN: s.NQN, Serial: s.Attr.Serial, AllowHosts: s.Allowed, Portals: im.at(s.NQN, ports)}
	if out.Portals == nil && !slices.ContainsFunc(ports, func(p nvmetPort) bool { return slices.Contains(p.Subsystems, s.NQN) }) {
		im.note("%s is served at no port: left out", s.NQN)
		return
	}
	if out.Serial == "" {
		out.Serial = strings.ToUpper(agent.Sum([]byte(s.NQN))[:16])
		im.note("%s: it has no serial number; it gets %s", s.NQN, out.Serial)
	}
	if any, _ := strconv.Atoi(s.Attr.AllowAny); any != 0 {
		if out.AllowHosts = im.allow; len(im.allow) == 0 {
			im.refuse("%s allows any host, which weft-target never does; name the hosts with --allow", s.NQN)
		}
	}
	for _, h := range hosts {
		if h.Key != "" && slices.Contains(out.AllowHosts, h.NQN) {
			out.Auth = append(out.Auth, agent.Auth{Host: h.NQN, Key: h.Key, SubsystemKey: h.CtrlKey})
		}
	}
	for _, n := range s.Namespaces {
		if n.Enable == 0 {
			im.note("%s namespace %d is not enabled: left out", s.NQN, n.ID)
			continue
		}
		out.Namespaces = append(out.Namespaces, im.namespace(s.NQN, n))
	}
	to.Subsystems = append(to.Subsystems, out)
}

func (im *importer) namespace(nqn string, n nvmetNamespace) agent.Namespace {
	out := agent.Namespace{ID: n.ID, UUID: n.Device.UUID, Path: n.Device.Path, Backend: "file", BlockSize: nvmetFileBlock}
	if n.Group > 1 {
		out.ANAGroup = n.Group
	}
	if id, err := uuid.Parse(n.Device.UUID); err != nil || id == uuid.Nil {
		out.UUID = uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s/%d", nqn, n.ID)).String()
		im.note("%s namespace %d has no UUID; it gets %s", nqn, n.ID, out.UUID)
	}
	if strings.Trim(n.Device.NGUID, "0-") != "" {
		out.NGUID = strings.ToLower(strings.ReplaceAll(n.Device.NGUID, "-", ""))
	}
	if agent.IsDevice(n.Device.Path) {
		out.Backend = "device"
		out.BlockSize = im.deviceBlock(n.Device.Path)
		return out
	}
	info, err := os.Stat(im.places.Path(n.Device.Path))
	if err != nil {
		im.refuse("%s namespace %d: its size: %w", nqn, n.ID, err)
		return out
	}
	out.Size = info.Size() / nvmetFileBlock * nvmetFileBlock
	return out
}

// nvmetFileBlock is the block size of the kernel's target on a file.
const nvmetFileBlock = 4096

// deviceBlock is the block size of a device, which the kernel's target hands
// on.
func (im *importer) deviceBlock(path string) int {
	name := filepath.Base(path)
	if real, err := filepath.EvalSymlinks(im.places.Path(path)); err == nil {
		name = filepath.Base(real)
	}
	text, err := os.ReadFile(im.places.Path("/sys/class/block/" + name + "/queue/logical_block_size"))
	if n, nerr := strconv.Atoi(strings.TrimSpace(string(text))); err == nil && nerr == nil {
		return n
	}
	im.note("%s: its block size cannot be read on this machine; 512 is assumed", path)
	return 512
}
