package host

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/remote"
	"weft/internal/slice"
)

// A Reading is what NICs of a machine are set to, in one batch. It needs neither a ledger
// nor a lease on the machine, nor what is declared of it. A value that the machine does not report is nil.
type Reading struct {
	NICs []NICReading `json:"nics"`
}

// NICReading is what a port of a NIC is set to.
type NICReading struct {
	Name      string            `json:"name"` // of the rnic block
	PCI       string            `json:"pci"`
	Absent    bool              `json:"absent,omitempty"` // the machine has no such NIC
	Interface string            `json:"interface,omitempty"`
	MTU       int               `json:"mtu,omitempty"`
	PFC       []int             `json:"pfc"`            // lossless priorities
	DSCP      map[int]int       `json:"dscp,omitempty"` // the priority of each
	ETS       *Shares           `json:"ets,omitempty"`
	Classes   *[8]int           `json:"prio_tc,omitempty"` // class of each priority
	Pause     *GlobalPause      `json:"pause,omitempty"`
	ECN       *[8]bool          `json:"ecn,omitempty"`    // whether it answers marks, by priority
	Silent    map[string]string `json:"silent,omitempty"` // what it does not tell, and what it said instead
}

// A Reader reads the settings of NICs.
type Reader struct {
	Looks func(nics []NIC) []remote.Look
	Parse func(s remote.Seen, nics []NIC) (*Reading, error)
}

// Settings is how settings of NICs are read on a system: by its Reading, else as a part of
// its Health. Its error says why they cannot be.
func (os *OS) Settings() (*Reader, error) {
	switch {
	case os.Reading != nil:
		return os.Reading, nil
	case os.Health == nil:
		return nil, fmt.Errorf("how NICs are set on %s cannot be read", os.Name)
	}
	return &Reader{
		Looks: func([]NIC) []remote.Look { return os.Health.Looks() },
		Parse: func(s remote.Seen, nics []NIC) (*Reading, error) {
			h, err := os.Health.Parse(s)
			if err != nil {
				return nil, err
			}
			return h.Reading(nics), nil
		},
	}, nil
}

// Reading is what a machine's health says of settings of some of its NICs.
func (h *Health) Reading(nics []NIC) *Reading {
	return &Reading{NICs: slice.Map(nics, func(n NIC) NICReading {
		pci, _, _ := strings.Cut(n.PCI, "@")
		i := slices.IndexFunc(h.NICs, func(x NICHealth) bool { return x.PCI == pci })
		if i < 0 {
			return NICReading{Name: n.Name, PCI: n.PCI, Absent: true}
		}
		return h.NICs[i].Reading(n.Name)
	})}
}

// Reading is what the health of a NIC says of its settings.
func (n *NICHealth) Reading(name string) NICReading {
	return NICReading{Name: name, PCI: n.PCI, Absent: n.Absent, Interface: n.Interface, MTU: n.MTU, PFC: n.PFC, DSCP: n.DSCP, ETS: n.ETS, Classes: n.Classes, Pause: n.Pause,
		ECN: n.ECN, Silent: n.Silent}
}
