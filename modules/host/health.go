package host

import (
	"context"
	"fmt"
	"time"

	"weft/internal/remote"
	"weft/internal/slice"
)

// Health is what a machine says of itself beyond what is declared on it. What it does
// not tell is nil, or missing from a map: nothing here stands for something good.
type Health struct {
	Facts ServerFacts `json:"facts"` // with all of its NICs
	Name  string      `json:"hostname,omitempty"`

	Bare    bool    `json:"bare,omitempty"` // what it is was read, and not how it is: its system has no more
	Origins Origins `json:"-"`              // what its facts are read with

	System string `json:"system,omitempty"` // its kernel, as it named itself to who logged in

	Clock   *time.Time    `json:"clock,omitempty"`   // its time
	Skew    time.Duration `json:"skew,omitempty"`    // against the machine that asked
	Slack   time.Duration `json:"slack,omitempty"`   // by which Skew may be wrong: how long the answer took
	Uptime  time.Duration `json:"uptime,omitempty"`  // 0: not known
	Cmdline *string       `json:"cmdline,omitempty"` // of the kernel

	Disks      []string       `json:"disks,omitempty"`     // by their stable names; nil: not known
	Governors  []string       `json:"governors,omitempty"` // of its CPUs, each once
	Sysctls    map[string]int `json:"sysctls,omitempty"`   // by their paths
	Memory     map[string]int `json:"memory,omitempty"`    // in KiB, by name
	Modules    map[string]int `json:"modules,omitempty"`   // loaded ones; nil: not known
	Swaps      *int           `json:"swaps,omitempty"`     // KiB in use
	MemoryErrs *int           `json:"memory_errors,omitempty"`
	Multipath  string         `json:"nvme_multipath,omitempty"` // of nvme_core: Y or N; "": not loaded

	Idle      []IdleState       `json:"idle_states,omitempty"` // nil: not known
	Flaws     map[string]string `json:"cpu_flaws,omitempty"`   // what the kernel does about flaws of CPUs, and smt
	Ticks     *Ticks            `json:"ticks,omitempty"`
	Lockdown  string            `json:"lockdown,omitempty"`
	Full      map[string]int    `json:"full,omitempty"`     // percent of file systems; nil: not known
	Units     map[string]string `json:"units,omitempty"`    // states of services that interfere; nil: not known
	Versions  map[string]string `json:"versions,omitempty"` // of modules that have their own: drivers that are not the kernel's
	Netdevs   []Netdev          `json:"netdevs,omitempty"`  // nil: not known
	Rules     *int              `json:"ip_rules,omitempty"`
	Exports   []Export          `json:"exports,omitempty"`
	Sessions  bool              `json:"sessions,omitempty"`   // Connected of Exports was read
	Listens   []string          `json:"listens,omitempty"`    // ports of the kernel's target: "tcp 4420"
	Keepers   map[string]Keeper `json:"keepers,omitempty"`    // by interface; nil: not known
	Firewall  *Firewall         `json:"firewall,omitempty"`   // nil: not known
	Met       map[string]string `json:"neighbours,omitempty"` // MAC addresses by the IP addresses that it has met; nil: not known
	Exported  []string          `json:"exported,omitempty"`   // where the kernel's target is to serve a subsystem: "rdma 10.40.1.11:4420"
	CMListens []string          `json:"cm_listens,omitempty"` // who listens by the connection manager of RDMA: 10.40.1.11:4420; nil: not known
	Mirrored  []string          `json:"mirrored,omitempty"`   // NQNs of what is below mirrors of md; nil: not known
	Agents    []AgentLimits     `json:"agents,omitempty"`     // of weft that run
	Thin      []ThinPool        `json:"thin_pools,omitempty"` // nil: not known, or dm_thin_pool is not loaded
	RoCEToS   map[string]string `json:"roce_tos,omitempty"`   // default_roce_tos, by RDMA device; nil: not known
	Mounts    []Mount           `json:"mounts,omitempty"`
	NFSPorts  []string          `json:"nfs_ports,omitempty"` // that knfsd listens on; nil: it does not run
	NFSRDMA   []int             `json:"nfs_rdma,omitempty"`  // how often each mount over RDMA has connected
	GPUs      *GPUs             `json:"gpus,omitempty"`      // nil: there is no driver of NVIDIA's
	LNet      *LNet             `json:"lnet,omitempty"`      // nil: there is no Lustre
	LNetToS   string            `json:"lnet_tos,omitempty"`
	Lustre    map[string]string `json:"lustre,omitempty"` // states of its targets
	Weka      map[string]string `json:"weka,omitempty"`   // status, io_status, skew; nil: it is not there

	Marks map[int]int `json:"network_direct_marks,omitempty"` // priorities of 802.1p by port of NetworkDirect, as policies in force have them; nil: not known

	NICs        []NICHealth  `json:"nics,omitempty"` // as in Facts
	Controllers []Controller `json:"nvme,omitempty"`
	Subsystems  []Subsystem  `json:"nvme_subsystems,omitempty"`
}

// NICHealth is what a port of a NIC does.
type NICHealth struct {
	NICFacts
	Flaps   *int              `json:"carrier_changes,omitempty"` // since the interface is there
	FEC     string            `json:"fec,omitempty"`             // that is active
	Pause   *GlobalPause      `json:"pause,omitempty"`
	PFC     []int             `json:"pfc"` // lossless priorities; nil: not known
	DSCP    map[int]int       `json:"dscp,omitempty"`
	ETS     *Shares           `json:"ets,omitempty"`
	AER     map[string]uint64 `json:"aer,omitempty"`      // errors of PCIe: fatal, nonfatal, correctable
	Count   map[string]uint64 `json:"counters,omitempty"` // of ethtool -S and hw_counters, in the driver's words
	Optics  *Optics           `json:"optics,omitempty"`
	Above   []Bridge          `json:"above,omitempty"`          // bridges of PCIe, the next one first; nil: not known
	Path    string            `json:"path,omitempty"`           // in the tree of PCI
	Read    int               `json:"max_read,omitempty"`       // bytes of a read request of PCIe; 0: not known
	ASPM    string            `json:"l1_aspm,omitempty"`        // 1: its link may sleep
	Vector  *Vectors          `json:"vectors,omitempty"`        // nil: not known
	DCBX    *DCBX             `json:"dcbx,omitempty"`           // nil: not known
	Flags   map[string]string `json:"flags,omitempty"`          // private ones of the driver
	Lost    *uint64           `json:"fec_lost,omitempty"`       // blocks that FEC could not mend
	GIDs    []GID             `json:"gids,omitempty"`           // nil: not known
	Classes *[8]int           `json:"prio_tc,omitempty"`        // class of each priority; nil: not known
	ECN     *[8]bool          `json:"ecn,omitempty"`            // whether it answers marks, by priority; nil: not known
	Direct  *Direct           `json:"network_direct,omitempty"` // nil: its system is not Windows
	Silent  map[string]string `json:"silent,omitempty"`         // what it does not tell, and what it said instead
}

// A Bridge is one of PCIe.
type Bridge struct{ Now, Max Lanes }

// GlobalPause is what a port does with PAUSE frames of the whole link.
type GlobalPause struct{ RX, TX bool }

// Shares are those of traffic classes in percent; of one that is not ETS it is -1.
type Shares [8]int

// Optics are the readings of a transceiver, and what it says of them itself.
type Optics struct {
	Model  string   `json:"model,omitempty"`
	Alarms []string `json:"alarms,omitempty"` // its own alarms and warnings that are on
	RxDBm  *float64 `json:"rx_dbm,omitempty"`
}

// A Controller is one of NVMe: a drive, or a path to a target.
type Controller struct {
	Name      string            `json:"name"` // nvme0
	Transport string            `json:"transport,omitempty"`
	State     string            `json:"state,omitempty"`
	Address   string            `json:"address,omitempty"`
	NQN       string            `json:"nqn,omitempty"` // of the subsystem
	HostNQN   string            `json:"hostnqn,omitempty"`
	Model     string            `json:"model,omitempty"`
	Firmware  string            `json:"firmware,omitempty"`
	Values    map[string]string `json:"values,omitempty"` // its other files, by name
	Smart     *Smart            `json:"smart,omitempty"`  // of a drive; nil: not known

	Namespaces []Namespace `json:"namespaces,omitzero"` // that it shows; nil: not read
}

// A Namespace is one that a controller shows its host.
type Namespace struct {
	Disk  string `json:"disk"`            // nvme0n1
	State string `json:"state,omitempty"` // by ANA; "": not shown, as where the target has no ANA
}

// Serves reports whether a namespace in an ANA state takes I/O. A state that is not shown says
// nothing against it.
func Serves(state string) bool {
	return state == "" || state == "optimized" || state == "non-optimized"
}

// Smart is what a drive says of its health.
type Smart struct {
	Warning int `json:"critical_warning"`
	Used    int `json:"percent_used"`
	Errors  int `json:"media_errors"`
}

// A Subsystem is what the kernel keeps of the paths to one of NVMe.
type Subsystem struct {
	NQN    string `json:"nqn"`
	Policy string `json:"iopolicy,omitempty"`
}

// An Examiner reads the health of a machine, in one batch.
type Examiner struct {
	Looks func() []remote.Look
	Parse func(remote.Seen) (*Health, error)
}

// Health opens the machine and asks how it is: in the same round trip as who it is, unless
// files say who it has to be.
func (d *Machine) Health(ctx context.Context) (*Health, error) {
	if err := d.os.Lacks(Telling); err != nil {
		return nil, err
	}
	ask := d.os.Health
	if ask == nil && d.os.Facts.Survey == nil {
		return nil, fmt.Errorf("how a machine with %s is cannot be asked", d.os.Name)
	}
	if ask == nil {
		ask = d.os.Facts.bare()
	}
	if err := d.connect(ctx); err != nil {
		return nil, err
	}
	looks := ask.Looks()
	if d.ahead = nil; d.machineID == "" {
		d.ahead = looks
	}
	before := time.Now()
	id, err := d.Open(ctx)
	if err != nil {
		return nil, err
	}
	early := d.early
	if d.early = (remote.Seen{}); d.machineID != "" {
		early, before = remote.Seen{}, time.Now()
	}
	seen, err := remote.ReadRest(ctx, d.host.Read, looks, early)
	after := time.Now()
	if err != nil {
		return nil, fmt.Errorf("ask %s how it is: %w", d.name, err)
	}
	h, err := ask.Parse(seen)
	if err != nil {
		return nil, fmt.Errorf("ask %s how it is: %w", d.name, err)
	}
	h.System, h.Origins = id.System, d.os.Facts.Origins
	if h.Clock != nil {
		h.Slack = after.Sub(before)
		h.Skew = h.Clock.Sub(before.Add(h.Slack / 2))
	}
	return h, nil
}

// bare asks a machine whose system tells no health what it is.
func (t *Teller) bare() *Examiner {
	return &Examiner{Looks: t.Survey, Parse: func(s remote.Seen) (*Health, error) {
		f, err := t.Surveyed(s)
		if err != nil {
			return nil, err
		}
		h := &Health{Facts: *f, Name: f.Name, Bare: true}
		h.NICs = slice.Map(f.NICs, func(n NICFacts) NICHealth { return NICHealth{NICFacts: n} })
		return h, nil
	}}
}
