//go:build unix

package labctl

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Warning is shown wherever a lab shows itself.
const Warning = "SIMULATED: these devices are weft's lab on this machine"

// VCenterPassword is accepted by the vCenters of a lab besides the first other password that
// is tried, which is taken for that of the files.
const VCenterPassword = "simulated"

// State describes a lab that is up. It is kept in .weft/lab/lab.json.
type State struct {
	Warning string    `json:"warning"`
	Version string    `json:"version"` // of weft-lab
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Control string    `json:"control"` // address on loopback that takes requests
	Token   string    `json:"token"`   // secret that every request carries
	Devices []Device  `json:"devices"`
	Lacks   []string  `json:"lacks,omitempty"` // what the files need and no simulated lab has, for people
}

// Device is one device of a lab.
type Device struct {
	Name    string `json:"name"`             // its host in the inventory
	Kind    string `json:"kind"`             // "server", "switch", "guest" or "vcenter"
	Block   string `json:"block"`            // HCL address
	Address string `json:"address"`          // where it answers SSH, a vCenter its API
	User    string `json:"user,omitempty"`   // the one that may log in with a password; "": any
	Login   string `json:"login,omitempty"`  // user of the files; "": the files name none
	SHA256  string `json:"sha256,omitempty"` // of the certificate of a vCenter
}

// DeviceStatus is the status of one device of a lab that is up.
type DeviceStatus struct {
	Device
	Running bool      `json:"running"`
	Traffic []Traffic `json:"traffic,omitempty"` // of a guest, by card
}

// Traffic counts the frames of one card of a guest.
type Traffic struct {
	Plane  string
	Counts Counts
}

// Counts are frames since the card was plugged in.
type Counts struct {
	In, Out           uint64 // frames from and to the guest
	InBytes, OutBytes uint64 // bytes of those frames
	Lost              uint64 // frames dropped by a cut or a full queue, in either direction
}

// Guests is the number of devices that are guests with real kernels.
func (s *State) Guests() (n int) {
	for _, d := range s.Devices {
		if d.Kind == "guest" {
			n++
		}
	}
	return n
}

// Describe counts the devices of a lab, for people.
func (s *State) Describe() string {
	var parts []string
	if n := s.Guests(); n > 0 {
		parts = append(parts, fmt.Sprintf("%d guests with real kernels", n))
	}
	if n := len(s.Devices) - s.Guests(); n > 0 || parts == nil {
		parts = append(parts, fmt.Sprintf("%d SIMULATED devices", n))
	}
	return strings.Join(parts, " and ")
}

// VCenter is the simulated vCenter of a host name; nil: the lab has none.
func (s *State) VCenter(host string) *Device {
	i := slices.IndexFunc(s.Devices, func(d Device) bool { return d.Kind == "vcenter" && d.Name == host })
	if i < 0 {
		return nil
	}
	return &s.Devices[i]
}
