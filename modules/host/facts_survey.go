package host

import "net/netip"

// A Bundle is an interface that others are part of: a bond, a bridge, a team.
type Bundle struct {
	Name       string         `json:"name"`
	Bond       bool           `json:"bond,omitempty"` // else it is not known what it is
	Interfaces []string       `json:"interfaces"`
	Addresses  []netip.Prefix `json:"addresses,omitempty"`
}

// Tuning is what somebody else than weft has tuned in a kernel, for good.
type Tuning struct {
	KernelLine []string `json:"kernel_line,omitempty"` // words of it that have to do with speed
	Sysctls    []Sysctl `json:"sysctls,omitempty"`
	Unread     []string `json:"unread,omitempty"` // files with such settings that only root may read
}

// A Sysctl is a setting of the kernel that a file sets at each start.
type Sysctl struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	File  string `json:"file"`
}

// VolumeFacts are the volumes that a server's drives are cut into, whoever did it.
type VolumeFacts struct {
	Groups []VolumeGroup `json:"groups"`
}

// A VolumeGroup is drives that volumes are cut from.
type VolumeGroup struct {
	Name    string   `json:"name"`
	Volumes []string `json:"volumes,omitempty"`
}
