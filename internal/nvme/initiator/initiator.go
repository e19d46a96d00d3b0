// Package initiator is the host's side of NVMe over Fabrics: discovery,
// controllers with their queues, blocking reads and writes, and a load
// generator.
package initiator

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/wire"
)

// Defaults of Options.
const (
	DefaultKATO    = 5 * time.Second
	DefaultTimeout = 30 * time.Second
	DefaultDepth   = 127
)

// adminDepth is how many commands an admin queue holds: one less than the 32
// entries that every controller has.
const adminDepth = 31

// Options say what to connect to, and as whom.
type Options struct {
	Addr      string        // logical address of the portal
	SubNQN    string        // of the subsystem
	HostNQN   string        // the host's own name
	HostID    [16]byte      // the host's identity; zero: HostIDOf(HostNQN)
	KATO      time.Duration // keep alive timeout; 0 is DefaultKATO, negative is none
	Queues    int           // I/O queues wished for; the controller may grant fewer; 0 is 1
	QueueSize int           // commands outstanding on each; the controller may grant fewer; 0 is DefaultDepth
	Timeout   time.Duration // for the answer to one command; 0 is DefaultTimeout

	// What the host proves to have where the target asks for it (DH-HMAC-CHAP),
	// and what the target must prove then; both may be empty.
	Secret    dhchap.Secret
	SubSecret dhchap.Secret

	HeaderDigest bool // checksums of TCP on all queues, of headers
	DataDigest   bool // and of data
}

func (o Options) withDefaults() Options {
	if o.HostID == [16]byte{} {
		o.HostID = HostIDOf(o.HostNQN)
	}
	o.KATO = cmp.Or(o.KATO, DefaultKATO)
	o.KATO = max(o.KATO, 0)
	o.Queues = cmp.Or(o.Queues, 1)
	o.QueueSize = cmp.Or(o.QueueSize, DefaultDepth)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	return o
}

// adminTimeout is how long an admin command may take: a target that is silent
// for longer than the keep alive timeout is lost.
func (o Options) adminTimeout() time.Duration {
	if o.KATO == 0 {
		return o.Timeout
	}
	return min(o.Timeout, max(o.KATO, DefaultKATO))
}

func (o Options) validate() error {
	if err := wire.ValidNQN(o.SubNQN); err != nil {
		return fmt.Errorf("subsystem: %w", err)
	}
	if err := wire.ValidNQN(o.HostNQN); err != nil {
		return fmt.Errorf("host: %w", err)
	}
	switch {
	case o.Queues < 1 || o.Queues > 1<<16-2:
		return fmt.Errorf("%d I/O queues", o.Queues)
	case o.QueueSize < 1 || o.QueueSize > 1<<16-1:
		return fmt.Errorf("queues of %d commands", o.QueueSize)
	case o.KATO.Milliseconds() > 1<<32-1:
		return fmt.Errorf("keep alive timeout of %v", o.KATO)
	case o.Secret.Empty() && !o.SubSecret.Empty():
		return errors.New("a secret that the target is to prove, and none of this host")
	}
	return nil
}

// HostIDOf is a host identifier that belongs to a name: its UUID where it ends
// in one, else the beginning of its SHA-256.
func HostIDOf(hostNQN string) (id [16]byte) {
	if i := strings.LastIndex(hostNQN, ":uuid:"); i >= 0 {
		text := strings.ReplaceAll(hostNQN[i+len(":uuid:"):], "-", "")
		if raw, err := hex.DecodeString(text); err == nil && len(raw) == len(id) {
			return [16]byte(raw)
		}
	}
	sum := sha256.Sum256([]byte(hostNQN))
	return [16]byte(sum[:])
}
