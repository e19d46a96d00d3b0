package target

import (
	"bytes"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// TestReloadUnderLoad: while one reload follows the other, and namespaces come
// and go, every command on the namespaces that stay succeeds.
func TestReloadUnderLoad(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		_, q := r.both()
		stop, stopped := make(chan struct{}), make(chan struct{})
		var rounds atomic.Int64
		go func() {
			defer close(stopped)
			data, got := make([]byte, 4096), make([]byte, 4096)
			for n := 0; ; rounds.Add(1) {
				select {
				case <-stop:
					return
				default:
				}
				for i := range data {
					data[i] = byte(n)
				}
				for _, c := range []struct {
					cmd  wire.Command
					data []byte
				}{{blocks(wire.OpWrite, 3, uint64(n%256), 1), data}, {blocks(wire.OpRead, 3, uint64(n%256), 1), got}, {wire.Command{Opcode: wire.OpFlush, NSID: wire.NSIDAll}, nil}} {
					done, err := fabric.Do(q, &c.cmd, c.data)
					if err != nil || done.Status != wire.Success {
						t.Errorf("command %#x: %v %v", c.cmd.Opcode, done.Status, err)
						return
					}
				}
				if !bytes.Equal(data, got) {
					t.Error("other bytes than were written")
				}
				n++
			}
		}()
		c := r.another()
		for i := 0; i < 100 || rounds.Load() == 0 && !t.Failed(); i++ {
			s := &c.Subsystems[0]
			s.Namespaces = slices.Clone(s.Namespaces[:2])
			s.Namespaces[1].Limits = Limits{IOPS: uint64(i%3) * 1_000_000}
			if i%2 == 0 {
				b, err := backend.OpenFile(filepath.Join(t.TempDir(), "volume"), 1<<20, 512)
				if err != nil {
					t.Fatal(err)
				}
				s.Namespaces = append(s.Namespaces, Namespace{ID: 9, UUID: [16]byte{9}, Backend: b})
			}
			c.Subsystems = slices.Clone(c.Subsystems)
			r.reload(c)
		}
		close(stop)
		<-stopped
	})
}
