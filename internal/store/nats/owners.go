package nats

import (
	"context"
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
	Behind   []ReplicaState `json:"behind,omitempty"` // replicas that do not have all
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
		one := StreamState{Name: info.Config.Name, Replicas: info.Config.Replicas}
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
