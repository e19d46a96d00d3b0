package load_test

import (
	"context"
	"fmt"
	"math"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"weft/internal/nvme/backend"
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
	disks  []*nvmetest.Lossy
	open   func() (backend.Backend, error) // what it serves
	target *target.Target
	portal fabric.Listener

	mu   sync.Mutex
	addr string // where it is now, "" while the power is off
}

// boot serves what is on the disks.
func (m *machine) boot() {
	m.Helper()
	b, err := m.open()
	if err != nil {
		m.Fatal(err)
	}
	m.target, err = target.New(target.Config{Subsystems: []target.Subsystem{{
		NQN: subNQN, Serial: "WEFT01", AllowHosts: []string{hostNQN}, Namespaces: []target.Namespace{{ID: 1, UUID: [16]byte{1}, Backend: b}},
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

// crash cuts the power: no answer leaves the machine any more, and what the disks
// have not flushed may be lost.
func (m *machine) crash() (lost int) {
	m.Helper()
	m.at("")
	if err := m.portal.Close(); err != nil {
		m.Error(err)
	}
	for _, d := range m.disks {
		lost += d.Cut()
	}
	_ = m.target.Close() // finds the power off
	for _, d := range m.disks {
		d.Restore()
	}
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

// paced is a lane that submits no more once so much was written: the load does
// not run away from who is to cut the power.
type paced struct {
	*initiator.Lane
	disk *nvmetest.Lossy
	most atomic.Int64 // blocks
}

func (p *paced) Submit(slot int, op uint8, lba uint64, blocks int, buf []byte) error {
	for p.disk.Written() >= p.most.Load() {
		time.Sleep(time.Millisecond)
	}
	return p.Lane.Submit(slot, op, lba, blocks, buf)
}

// survive verifies while the power is cut again and again.
func survive(m *machine) load.Check {
	t := m.T
	t.Helper()
	const (
		cuts = 5
		each = 1500 // blocks written between them
	)
	disk := m.disks[0]
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
	held := &paced{Lane: lane, disk: disk}
	held.most.Store(each * 3 / 2)
	defer held.most.Store(math.MaxInt64)
	var result *load.Result
	var runErr error
	done := make(chan struct{})
	go func() {
		defer close(done)
		result, runErr = load.Run(t.Context(), []load.Lane{held}, load.Options{
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
		held.most.Add(each)
		lost += m.crash()
		m.boot()
	}
	held.most.Store(math.MaxInt64)
	<-done
	stats := d.Stats()
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	m.crash()
	if runErr != nil || result.First != nil || stats.Lost == 0 || lost == 0 {
		t.Errorf("%v, %v; paths lost %d times, %d blocks lost", runErr, result.First, stats.Lost, lost)
	}
	t.Logf("%d writes, %d flushes, %d blocks read; power cut %d times, %d blocks lost that were not flushed: %+v",
		result.Write.Done, result.Flush.Done, result.Check.Blocks, cuts, lost, result.Check)
	return result.Check
}

const diskSize, diskBlock = 4 << 20, 4096

// single is a machine with one disk.
func single(t *testing.T, forgets bool) *machine {
	d := nvmetest.NewLossy(diskSize, diskBlock)
	d.Forgets = forgets
	return &machine{T: t, disks: []*nvmetest.Lossy{d}, open: func() (backend.Backend, error) { return d, nil }}
}

// mirrored is one with two.
func mirrored(t *testing.T) *machine {
	m := &machine{T: t, disks: []*nvmetest.Lossy{nvmetest.NewLossy(diskSize, diskBlock), nvmetest.NewLossy(diskSize, diskBlock)}}
	o := backend.MirrorOptions{State: filepath.Join(t.TempDir(), "state")}
	for i, d := range m.disks {
		o.Legs[i] = backend.Leg{Name: fmt.Sprint("disk ", i), Open: func() (backend.Backend, error) { return d, nil }}
	}
	m.open = func() (backend.Backend, error) { return backend.OpenMirror(o) }
	return m
}

// TestPowerLoss: what was acknowledged and flushed is there after a power cut.
func TestPowerLoss(t *testing.T) {
	for name, m := range map[string]func(*testing.T) *machine{
		"disk":   func(t *testing.T) *machine { return single(t, false) },
		"mirror": mirrored,
	} {
		t.Run(name, func(t *testing.T) {
			if c := survive(m(t)); c.Bad() != 0 || c.Blocks < diskSize/diskBlock {
				t.Errorf("%+v", c)
			}
		})
	}
}

// TestPowerLossIsNoticed is the test of the test: a disk that does not flush is
// found out.
func TestPowerLossIsNoticed(t *testing.T) {
	if c := survive(single(t, true)); c.Lost+c.Stale == 0 {
		t.Errorf("flushes that do nothing were not noticed: %+v", c)
	}
}
