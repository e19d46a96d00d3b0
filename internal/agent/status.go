package agent

import "time"

// TargetStatus is what weft-target says about itself (JSON).
type TargetStatus struct {
	Version     string             `json:"version"`
	Binary      string             `json:"binary"` // SHA-256 of the running executable
	Config      string             `json:"config"` // SHA-256 of the configuration in force
	PID         int                `json:"pid"`
	Root        string             `json:"root,omitempty"`
	Started     time.Time          `json:"started"`
	UserTime    time.Duration      `json:"cpu_user_ns"` // processor time since the start
	SystemTime  time.Duration      `json:"cpu_system_ns"`
	Reloads     int                `json:"reloads"`                // of the configuration, also those that failed
	ReloadError string             `json:"reload_error,omitempty"` // of the last one
	KeysChanged bool               `json:"keys_changed,omitempty"` // files hold other keys than those that are asked for: a reload is due
	Generation  uint64             `json:"discovery_generation"`
	Metrics     string             `json:"metrics,omitempty"` // where Prometheus reads
	Portals     []PortalStatus     `json:"portals"`
	Subsystems  []SubsystemStatus  `json:"subsystems"`
	Controllers []ControllerStatus `json:"controllers"`
	Refused     RefusedStatus      `json:"refused"`
}

// Hosts counts the controllers that hosts have of subsystems.
func (s *TargetStatus) Hosts() int {
	n := 0
	for _, c := range s.Controllers {
		if c.Subsystem != DiscoveryNQN {
			n++
		}
	}
	return n
}

// PortalStatus is a portal and where it really listens.
type PortalStatus struct {
	Portal
	Bound string `json:"bound"`           // differs from Address with --map
	Error string `json:"error,omitempty"` // why it is not open; hosts find what else there is
}

// SubsystemStatus counts what a subsystem has served.
type SubsystemStatus struct {
	NQN          string            `json:"nqn"`
	Controllers  int               `json:"controllers"`
	BytesRead    uint64            `json:"bytes_read"`
	BytesWritten uint64            `json:"bytes_written"`
	Namespaces   []NamespaceStatus `json:"namespaces"`
}

// NamespaceStatus is a namespace and what it has served.
type NamespaceStatus struct {
	ID           uint32        `json:"id"`
	UUID         string        `json:"uuid"`
	Backend      string        `json:"backend"`
	Path         string        `json:"path,omitempty"`
	Size         int64         `json:"size"`
	BlockSize    int           `json:"block_size"`
	ANAGroup     uint32        `json:"ana_group"`
	ReadOnly     bool          `json:"read_only,omitempty"`
	IOPS         uint64        `json:"iops_limit,omitempty"`
	Bandwidth    uint64        `json:"bandwidth_limit,omitempty"`
	Reads        uint64        `json:"reads"` // commands that succeeded
	Writes       uint64        `json:"writes"`
	Others       uint64        `json:"others"`
	BytesRead    uint64        `json:"bytes_read"`
	BytesWritten uint64        `json:"bytes_written"`
	Errors       uint64        `json:"errors"`
	Throttled    uint64        `json:"throttled"` // commands that limits have delayed
	ThrottleTime time.Duration `json:"throttle_ns"`
	Mirror       *MirrorStatus `json:"mirror,omitempty"`
}

// MirrorStatus is how the halves of a mirror are.
type MirrorStatus struct {
	Legs   []string `json:"legs"`   // of each path: "in sync", "rebuilding" or "failed"
	Behind int64    `json:"behind"` // bytes that one half still lacks
	Error  string   `json:"error,omitempty"`
}

// ControllerStatus is what one host has of one subsystem.
type ControllerStatus struct {
	ID            uint16        `json:"id"`
	Subsystem     string        `json:"subsystem"` // DiscoveryNQN for discovery
	Host          string        `json:"host"`
	Portal        string        `json:"portal"`
	From          string        `json:"from"`      // address of its admin queue
	IOQueues      int           `json:"io_queues"` // connected
	KeepAlive     time.Duration `json:"keep_alive_ns"`
	Authenticated bool          `json:"authenticated,omitempty"`
}

// RefusedStatus counts what was turned away since the start.
type RefusedStatus struct {
	Connects        uint64 `json:"connects"`
	Authentications uint64 `json:"authentications"`
	KeepAlives      uint64 `json:"keep_alive_timeouts"` // controllers that fell silent
	LogLines        uint64 `json:"log_lines"`           // about peers, that were left out as there were too many
}
