package target

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/wire"
)

func (r *rig) connect(host string) (*initiator.Controller, error) {
	return initiator.Connect(r.Context(), r.carrier, initiator.Options{
		Addr: r.portal.Addr(), SubNQN: subNQN, HostNQN: host, KATO: time.Minute, Queues: 2, Timeout: patience,
	})
}

// TestWithInitiator is the whole way: discover, connect, write, flush, read.
func TestWithInitiator(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		log, err := initiator.Discover(t.Context(), r.carrier, r.portal.Addr(), hostNQN)
		if err != nil || len(log) != 3 || log[1].SubNQN != subNQN {
			t.Fatalf("%+v %v", log, err)
		}
		c, err := r.connect(hostNQN)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if len(c.Queues()) != 2 || len(c.Namespaces()) != 2 || c.Identity().MN != "weft" {
			t.Errorf("%d queues, %d namespaces, %+v", len(c.Queues()), len(c.Namespaces()), c.Identity())
		}
		for i, ns := range c.Namespaces() {
			if ns.Size() != 1<<20 || ns.UUID == [16]byte{} {
				t.Errorf("%+v", ns)
			}
			data := bytes.Repeat([]byte{0x11, 0x22, 0x33, byte(i)}, 256<<10/4) // two commands
			if err := errors.Join(c.Queues()[0].Write(ns, 8, data), c.Queues()[0].Flush(ns)); err != nil {
				t.Fatal(err)
			}
			got := make([]byte, len(data))
			if err := c.Queues()[1].Read(ns, 8, got); err != nil || !bytes.Equal(got, data) {
				t.Errorf("namespace %d: what was written is not read (%v)", ns.ID, err)
			}
			if err := c.Queues()[0].Read(ns, ns.Blocks, got[:ns.BlockSize]); !errors.Is(err, wire.LBAOutOfRange) {
				t.Errorf("beyond the end: %v", err)
			}
			var took []time.Duration
			load := initiator.LoadOptions{Namespace: ns, Op: initiator.Read, Size: 4096, Depth: 16, Samples: 200, Random: true}
			before := r.target.Stats()[0].BytesRead
			res, err := initiator.Load(t.Context(), c.Queues()[1], load, func(d time.Duration) { took = append(took, d) })
			if err != nil || res.Done != 200 || len(took) != 200 || r.target.Stats()[0].BytesRead-before != res.Bytes {
				t.Errorf("%+v, %d samples, %v", res, len(took), err)
			}
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := r.connect(stranger); !errors.Is(err, wire.ConnectInvalidHost) {
			t.Errorf("a stranger connects: %v", err)
		}
	})
}

// TestInitiatorAuthenticates: every queue proves the host's secret, and where
// the host wants it the target's.
func TestInitiatorAuthenticates(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		k, other := keys(t), keys(t)
		connect := func(host, sub dhchap.Secret) error {
			c, err := initiator.Connect(t.Context(), r.carrier, initiator.Options{
				Addr: r.portal.Addr(), SubNQN: subNQN, HostNQN: hostNQN, KATO: time.Minute, Queues: 2, Timeout: patience, Secret: host, SubSecret: sub,
			})
			if err != nil {
				return err
			}
			ns := c.Namespaces()[0]
			return errors.Join(c.Queues()[1].Read(ns, 0, make([]byte, ns.BlockSize)), c.Close())
		}
		none := dhchap.Secret{}
		if err := connect(k.Host, none); err != nil {
			t.Errorf("a target that asks for nothing: %v", err)
		}
		if err := connect(k.Host, k.Sub); err == nil || !strings.Contains(err.Error(), "offers no authentication") {
			t.Errorf("a target that does not say who it is: %v", err)
		}
		r.guarded(k)
		for _, sub := range []dhchap.Secret{none, k.Sub} {
			if err := connect(k.Host, sub); err != nil {
				t.Error(err)
			}
		}
		if err := connect(none, none); !errors.Is(err, initiator.ErrNoSecret) {
			t.Errorf("without a secret: %v", err)
		}
		if err := connect(other.Host, none); !errors.Is(err, wire.AuthFailed) {
			t.Errorf("with another secret: %v", err)
		}
		if err := connect(k.Host, other.Sub); !errors.Is(err, wire.AuthFailed) {
			t.Errorf("with another secret of the target: %v", err)
		}
		if err := connect(none, k.Sub); err == nil {
			t.Error("only the target was to prove something")
		}
	})
}
