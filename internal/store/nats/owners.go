package nats

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// Owners lists whose stores there are beside this one, in their order.
func (s *Store) Owners(ctx context.Context) (list []string, err error) {
	err = s.ask(ctx, func(ctx context.Context) error {
		list = nil
		names := s.js.StreamNames(ctx)
		for name := range names.Name() {
			if owner, ok := strings.CutPrefix(name, "KV_weft-"); ok && !strings.HasSuffix(owner, leaseSuffix) {
				list = append(list, owner)
			}
		}
		return names.Err()
	})
	slices.Sort(list)
	return list, err
}

// RemoveStrays removes consumers that no list or watch of weft makes: those that stay when
// they are not used, keep their state on disk, or deliver to a subject. It returns how
// many there were.
func (s *Store) RemoveStrays(ctx context.Context) (n int, err error) {
	for _, stream := range []jetstream.Stream{s.table.stream, s.leases.stream, s.blobs} {
		strays, err := s.strays(ctx, stream)
		if err != nil {
			return n, err
		}
		for _, name := range strays {
			err := s.ask(ctx, func(ctx context.Context) error { return stream.DeleteConsumer(ctx, name) })
			if err != nil && !errors.Is(err, jetstream.ErrConsumerNotFound) {
				return n, err
			}
			n++
		}
	}
	return n, nil
}

func (s *Store) strays(ctx context.Context, stream jetstream.Stream) (list []string, err error) {
	err = s.ask(ctx, func(ctx context.Context) error {
		list = nil
		all := stream.ListConsumers(ctx)
		for c := range all.Info() {
			if o := c.Config; o.Durable != "" || o.DeliverSubject != "" || !o.MemoryStorage || o.InactiveThreshold > unused {
				list = append(list, c.Name)
			}
		}
		return all.Err()
	})
	return list, err
}

// A State is how a store is kept.
type State struct {
	Documents uint64        `json:"documents"` // and deletions
	Leases    uint64        `json:"leases"`    // also such as have ended
	Bytes     uint64        `json:"bytes"`
	Synced    bool          `json:"synced"` // made on a server that syncs each change; else nobody knows
	Streams   []StreamState `json:"streams"`
}

// A StreamState is how a stream is kept.
type StreamState struct {
	Name     string         `json:"name"`
	Leader   string         `json:"leader,omitempty"` // "" where there is one server
	Replicas int            `json:"replicas"`
	Bytes    uint64         `json:"bytes"`
	MaxBytes int64          `json:"max_bytes,omitempty"` // 0 is no limit
	Behind   []ReplicaState `json:"behind,omitempty"`    // replicas that do not have all
}

// A ReplicaState is a copy that lacks something.
type ReplicaState struct {
	Server  string `json:"server"`
	Lag     uint64 `json:"lag"`
	Offline bool   `json:"offline,omitempty"`
}

// State asks the leaders how the store is kept.
func (s *Store) State(ctx context.Context) (State, error) {
	out := State{Synced: true}
	for _, stream := range []jetstream.Stream{s.table.stream, s.leases.stream, s.blobs} {
		var info *jetstream.StreamInfo
		err := s.ask(ctx, func(ctx context.Context) (err error) {
			info, err = stream.Info(ctx)
			return err
		})
		if err != nil {
			return out, err
		}
		out.Synced = out.Synced && info.Config.Metadata[syncName] == syncAlways
		out.Bytes += info.State.Bytes
		switch stream {
		case s.table.stream:
			out.Documents = info.State.Msgs
		case s.leases.stream:
			out.Leases = info.State.Msgs
		}
		one := StreamState{Name: info.Config.Name, Replicas: info.Config.Replicas, Bytes: info.State.Bytes, MaxBytes: max(info.Config.MaxBytes, 0)}
		if info.Cluster != nil {
			one.Leader = info.Cluster.Leader
			for _, r := range info.Cluster.Replicas {
				if !r.Current || r.Offline {
					one.Behind = append(one.Behind, ReplicaState{Server: r.Name, Lag: r.Lag, Offline: r.Offline})
				}
			}
		}
		out.Streams = append(out.Streams, one)
	}
	return out, nil
}
