package inventory

import (
	"fmt"
	"iter"
	"net/netip"
	"time"
)

// A Pool is drives of one server, by stable id.
type Pool struct {
	Block
	Server         *Server
	Drives         []string // names below /dev/disk/by-id
	OnExistingData string   // refuse, keep or wipe
}

// A Volume is a named slice of a pool.
type Volume struct {
	Block
	Name   string // label and key, unique in its pool: fast
	Pool   *Pool
	Size   int64 // bytes
	Mirror []*Pool
}

// Across reports whether its halves lie on two servers: then the host that uses
// it keeps them the same.
func (v *Volume) Across() bool {
	return len(v.Mirror) == 1 && v.Pool != nil && v.Pool.Server != nil && v.Mirror[0].Server != nil && v.Mirror[0].Server != v.Pool.Server
}

// On is the pool of a server that holds the volume, or a half of it; nil: none.
func (v *Volume) On(s *Server) *Pool {
	switch {
	case v.Pool != nil && v.Pool.Server == s:
		return v.Pool
	case v.Across() && v.Mirror[0].Server == s:
		return v.Mirror[0]
	}
	return nil
}

// A Target exports subsystems through portals.
type Target struct {
	Block
	Server        *Server // nil with engine external
	Engine        string  // weft, nvmet or external
	Transport     []string
	AllowDegraded bool
	Portals       []Portal
	Subsystems    []*Subsystem

	// DH-HMAC-CHAP, of hosts that have a key.
	CtrlKey *Secret // that the target proves to them; nil: it proves nothing
	Hash    string  // "" is what the engine chooses
	DHGroup string  // "" is what the engine chooses

	DemandAuth bool // no host may come without a key

	TLS bool // its portals take hosts with TLS and a key of theirs, and no others
}

// A Portal is an address of a target.
type Portal struct {
	RNIC    *RNIC          // nil with engine external
	Address netip.AddrPort // resolved, also for an RNIC
	Plane   *Plane         // nil: in no plane
}

// A Subsystem is what initiators connect to.
type Subsystem struct {
	Block
	Name       string
	NQN        string
	Serial     string   // derived from the NQN where it is not set; at most 20 characters
	AllowHosts []string // host NQNs: those given, else of the initiators that connect
	Namespaces []*Namespace
}

// A Scratch is a namespace that validations may write to.
type Scratch struct {
	Addr      string // as --i-will-write names it: target.nvme/namespace.luns.2
	Subsystem *Subsystem
	Namespace *Namespace
}

// Scratch are the namespaces of a target that validations may write to.
func (t *Target) Scratch() (out []Scratch) {
	for _, s := range t.Subsystems {
		for _, n := range s.Namespaces {
			if n.Scratch {
				out = append(out, Scratch{fmt.Sprintf("%s/namespace.%s.%d", t.Addr, s.Name, n.ID), s, n})
			}
		}
	}
	return out
}

// A Namespace is one block device of a subsystem.
type Namespace struct {
	Block
	ID      uint32
	From    *Volume
	UUID    string
	Scratch bool // validation may write here
	Limits  *Limits
}

// Limits of a namespace; 0 is none.
type Limits struct {
	IOPS      int64
	Bandwidth int64 // bytes a second
}

// An Initiator connects a server to targets.
type Initiator struct {
	Block
	Server   *Server
	Engine   string  // kernel or none
	HostNQN  string  // given, or derived from owner and server
	HostID   string  // a UUID; "": it follows from the host NQN
	ProbeNQN string  // of weft's own probe on that server
	Key      *Secret // that it proves to targets with DH-HMAC-CHAP, under both names; nil: it proves nothing
	TLSKey   *Secret // by which it speaks TLS with targets that do, under both names; nil: it does not
	Connects []*Connect
}

// Reaches are the targets that an initiator connects to, each with the block that says so.
func (i *Initiator) Reaches() iter.Seq2[*Connect, *Target] {
	return func(yield func(*Connect, *Target) bool) {
		for _, c := range i.Connects {
			for _, t := range c.To {
				if !yield(c, t) {
					return
				}
			}
		}
	}
}

// A Connect is one set of connections of an initiator.
type Connect struct {
	Block
	To             []*Target
	Paths          string // all-planes
	IOPolicy       string
	IOQueues       int // of each path; 0: the kernel chooses
	CtrlLossTMO    int // seconds; -1: never
	FastIOFailTMO  int // seconds; 0: what fits what it leads to
	ReconnectDelay time.Duration
	KeepAliveTMO   time.Duration

	DisconnectFirst bool // an outage is accepted where another identity of the host cannot connect beside the former one
}
