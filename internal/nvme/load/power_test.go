package load_test

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/initiator"
	"weft/internal/nvme/load"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/target"
	"weft/internal/nvme/tcp"
)

const (
	subNQN   = "nqn.2026-11.net.example:pilot:st1"
	hostNQN  = "nqn.2026-11.net.example:pilot:h1"
	patience = time.Minute
)

// A machine is a target whose power can be cut.
type machine struct {
	*testing.T
	disk   *nvmetest.Lossy
	target *target.Target
	portal fabric.Listener

	mu   sync.Mutex
	addr string // where it is now, "" while the power is off
}

// boot serves the disk.
func (m *machine) boot() {
	m.Helper()
	var err error
	m.target, err = target.New(target.Config{Subsystems: []target.Subsystem{{
		NQN: subNQN, Serial: "WEFT01", AllowHosts: []string{hostNQN}, Namespaces: []target.Namespace{{ID: 1, UUID: [16]byte{1}, Backend: m.disk}},
	}}})
	if err != nil {
		m.Fatal(err)
	}
	m.portal, err = new(tcp.Transport).Listen(m.Context(), fabric.ListenParams{
		Addr: "127.0.0.1:0", MaxDepth: target.MaxDepth, InCapsule: target.InCapsule, MaxTransfer: target.MaxTransfer,
	}, m.target.Accept)
	if err != nil {
		m.Fatal(err)
	}
	m.at(m.portal.Addr())
}

func (m *machine) at(addr string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.addr = addr
}

// crash cuts the power: no answer leaves the machine any more, and what the disk
// has not flushed may be lost.
func (m *machine) crash() (lost int) {
	m.Helper()
	m.at("")
	if err := m.portal.Close(); err != nil {
		m.Error(err)
	}
	lost = m.disk.Cut()
	_ = m.target.Close() // finds the power off
	m.disk.Restore()
	return lost
}

// dial reaches the machine wherever it is.
func (m *machine) dial(ctx context.Context, _ string) (net.Conn, error) {
	m.mu.Lock()
	addr := m.addr
	m.mu.Unlock()
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}

// survive verifies while the power is cut again and again.
func survive(t *testing.T, disk *nvmetest.Lossy, cuts int) load.Result {
	t.Helper()
	const each = 1500 // blocks written between cuts
	m := &machine{T: t, disk: disk}
	m.boot()
	d, err := initiator.OpenDevice(t.Context(), initiator.DeviceOptions{
		Options: initiator.Options{SubNQN: subNQN, HostNQN: hostNQN, QueueSize: 32},
		Portals: []initiator.Portal{{Addr: "10.40.1.11:4420", Transport: &tcp.Transport{DialAddr: m.dial}}},
		NSID:    1, First: 2 * time.Millisecond, Most: 20 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	lane, err := d.Lane()
	if err != nil {
		t.Fatal(err)
	}
	var result load.Result
	var runErr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, runErr = load.Run(t.Context(), []load.Lane{lane}, load.Options{
			Pattern: load.RandMix, ReadShare: 40, Size: 8192, Depth: 32, Count: int64(cuts+2) * each, FlushEach: 20, Seed: 7,
			BlockSize: 4096, Capacity: uint64(disk.Info().Size), Verify: true, PowerLoss: true,
		})
	}()
	lost := 0
	for i := range cuts {
		for next := int64(i+1) * each; disk.Written() < next; time.Sleep(time.Millisecond) {
			select {
			case <-done:
				t.Fatalf("the load ended after %d cuts: %v", i, runErr)
			default:
			}
		}
		lost += m.crash()
		m.boot()
	}
	<-done
	stats := d.Stats()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	m.crash()
	if runErr != nil || result.First != nil || stats.Lost < cuts || lost == 0 {
		t.Errorf("%v, %v; paths lost %d times, %d blocks lost", runErr, result.First, stats.Lost, lost)
	}
	t.Logf("%d writes, %d flushes, %d blocks read; power cut %d times, %d blocks lost that were not flushed: %+v",
		result.Write.Done, result.Flush.Done, result.Check.Blocks, cuts, lost, result.Check)
	return result
}

// TestPowerLoss: what was acknowledged and flushed is there after a power cut.
func TestPowerLoss(t *testing.T) {
	if c := survive(t, nvmetest.NewLossy(4<<20, 4096), 5).Check; c.Bad() != 0 || c.Blocks < 1024 {
		t.Errorf("%+v", c)
	}
}

// TestPowerLossIsNoticed is the test of the test: a disk that does not flush is
// found out.
func TestPowerLossIsNoticed(t *testing.T) {
	disk := nvmetest.NewLossy(4<<20, 4096)
	disk.Forgets = true
	if c := survive(t, disk, 5).Check; c.Lost+c.Stale == 0 {
		t.Errorf("flushes that do nothing were not noticed: %+v", c)
	}
}
