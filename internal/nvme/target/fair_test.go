package target

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weft/internal/nvme/backend"
	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
	"weft/internal/require"
)

const neighbour = "nqn.2026-11.net.example:neighbour"

// slow is a backend on which everything waits until it may go on.
type slow struct {
	backend.Backend
	cached  bool
	may     chan struct{} // one thing goes on for each value, all when closed
	inside  atomic.Int32
	most    atomic.Int32 // that were inside at once
	longest atomic.Uint64
}

func newSlow(t *testing.T, size int64) *slow {
	t.Helper()
	null, err := backend.NewNull(size, 4096)
	if err != nil {
		t.Fatal(err)
	}
	return &slow{Backend: null, may: make(chan struct{})}
}

func (s *slow) Info() backend.Info {
	i := s.Backend.Info()
	i.MayBlock, i.Cached = true, s.cached
	return i
}

func (s *slow) wait() {
	n := s.inside.Add(1)
	for was := s.most.Load(); n > was && !s.most.CompareAndSwap(was, n); was = s.most.Load() {
	}
	<-s.may
	s.inside.Add(-1)
}

func (s *slow) ReadBlocks(p []byte, lba uint64) error {
	s.wait()
	return s.Backend.ReadBlocks(p, lba)
}

func (s *slow) WriteBlocks([]byte, uint64) error { s.wait(); return nil }
func (s *slow) Flush() error                     { s.wait(); return nil }

func (s *slow) ZeroBlocks(_, n uint64, _ bool) error {
	s.wait()
	for was := s.longest.Load(); n > was && !s.longest.CompareAndSwap(was, n); was = s.longest.Load() {
	}
	return nil
}

// crowd is a rig whose namespace 1 is b, for hostNQN and others.
func crowd(t *testing.T, carrier fabric.Transport, b backend.Backend, others ...string) *rig {
	t.Helper()
	c := config(t)
	if err := c.Subsystems[0].Namespaces[0].Backend.Close(); err != nil {
		t.Fatal(err)
	}
	c.Subsystems[0].Namespaces[0].Backend = b
	c.Subsystems[0].AllowHosts = append(c.Subsystems[0].AllowHosts, others...)
	return newRig(t, carrier, c)
}

// carriers are the transports, one of which has one poller for all connections.
func carriers(t *testing.T, run func(*testing.T, fabric.Transport)) {
	t.Run("memory", func(t *testing.T) { run(t, &nvmetest.Memory{}) })
	t.Run("tcp", func(t *testing.T) { run(t, &tcp.Transport{}) })
	t.Run("polled", func(t *testing.T) { run(t, &tcp.Transport{Pollers: onePoller(t)}) })
}

// deallocate is a Dataset Management of whole ranges from block 0 on.
func deallocate(nsid uint32, blocks ...uint32) (wire.Command, []byte) {
	var data []byte
	for _, n := range blocks {
		r := wire.DSMRange{Blocks: n}
		data, _ = r.AppendBinary(data)
	}
	return wire.DSMCommand{NSID: nsid, Ranges: len(blocks), Deallocate: true}.Command(), data
}

// send submits a command n times, which stay outstanding, each with data of its own.
func send(t *testing.T, q fabric.Queue, n int, cmd wire.Command, data []byte) {
	t.Helper()
	for tag := range uint16(n) {
		if err := q.Submit(tag, &cmd, fabric.Buffer{Bytes: slices.Clone(data)}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := q.Poll(make([]wire.Completion, 1)); err != nil || n != 0 {
		t.Fatalf("%d commands have completed, %v", n, err)
	}
}

// finish waits until n commands have completed.
func finish(t *testing.T, q fabric.Queue, n int) {
	t.Helper()
	done := make([]wire.Completion, n)
	for n > 0 {
		k, err := q.Wait(done)
		if err != nil {
			t.Fatalf("%d commands have not completed: %v", n, err)
		}
		for _, c := range done[:k] {
			if c.Status != wire.Success {
				t.Errorf("command %d: %v", c.CID, c.Status)
			}
		}
		n -= k
	}
}

// TestHostsDoNotHoldUpOthers: whatever one host has outstanding, and though none
// of it moves, another host's commands are done, on memory and on a disk.
func TestHostsDoNotHoldUpOthers(t *testing.T) {
	const queues, each = 3, 30 // of the busy host: more than there are workers
	long, ranges := deallocate(1, 1<<20, 1<<20, 1<<20)
	through := blocks(wire.OpWrite, 1, 0, 1)
	through.CDW12 |= fua
	page := make([]byte, 4096)
	for name, c := range map[string]struct {
		cmd    wire.Command
		data   []byte
		most   int32
		cached bool
	}{
		"deallocate":    {cmd: long, data: ranges, most: 4},
		"write zeroes":  {cmd: blocks(wire.OpWriteZeroes, 1, 0, 65536), most: 4},
		"flush":         {cmd: wire.Command{Opcode: wire.OpFlush, NSID: 1}, most: hostFlushers},
		"flush all":     {cmd: wire.Command{Opcode: wire.OpFlush, NSID: wire.NSIDAll}, most: hostFlushers},
		"write through": {cmd: through, data: page, most: hostMovers + hostFlushers},
		"compare":       {cmd: blocks(wire.OpCompare, 1, 0, 1), data: page, most: hostMovers},
		"read":          {cmd: blocks(wire.OpRead, 1, 0, 1), data: page, most: hostMovers},
		"write":         {cmd: blocks(wire.OpWrite, 1, 0, 1), data: page, most: hostMovers},
		"cached write":  {cmd: blocks(wire.OpWrite, 1, 0, 1), data: page, most: hostStorers, cached: true},
	} {
		t.Run(name, func(t *testing.T) {
			carriers(t, func(t *testing.T, carrier fabric.Transport) {
				disk := newSlow(t, 1<<40)
				disk.cached = c.cached
				r := crowd(t, carrier, disk, neighbour)
				t.Cleanup(func() {
					select {
					case <-disk.may:
					default:
						close(disk.may)
					}
				})
				admin, id := r.admin(subNQN, hostNQN, 0)
				var busy []fabric.Queue
				for i := range queues {
					q := r.io(subNQN, hostNQN, id, uint16(1+i))
					send(t, q, each, c.cmd, c.data)
					busy = append(busy, q)
				}
				_, other := r.admin(subNQN, neighbour, 0)
				q := r.io(subNQN, neighbour, other, 1)
				trim, one := deallocate(3, 1)
				for range 50 {
					r.want(wire.Success, q, blocks(wire.OpWrite, 3, 0, 1), page)
					r.want(wire.Success, q, blocks(wire.OpRead, 3, 0, 1), page)
					r.want(wire.Success, q, blocks(wire.OpCompare, 3, 0, 1), page)
					r.want(wire.Success, q, wire.Command{Opcode: wire.OpFlush, NSID: 3}, nil)
					r.want(wire.Success, q, blocks(wire.OpWriteZeroes, 3, 0, 1), nil)
					r.want(wire.Success, q, trim, one)
				}
				r.want(wire.Success, admin, wire.Command{Opcode: wire.OpKeepAlive}, nil)
				for _, q := range busy {
					if n, err := q.Poll(make([]wire.Completion, 1)); n != 0 || err != nil {
						t.Errorf("%d commands of the busy host have completed, %v", n, err)
					}
				}
				close(disk.may)
				for _, q := range busy {
					finish(t, q, each)
				}
				if n := disk.most.Load(); n > c.most {
					t.Errorf("%d commands of a host were under way at once, want at most %d", n, c.most)
				}
				if n := disk.longest.Load() * 4096; n > zeroTurn {
					t.Errorf("%d bytes were zeroed at once", n)
				}
			})
		})
	}
}

// TestLongCommandsTakeTurns: where others have all workers for long commands, a
// host's short one is done after one part of each of theirs at most.
func TestLongCommandsTakeTurns(t *testing.T) {
	zeroers, hostZeroers := computers(runtime.GOMAXPROCS(0))
	hosts := zeroers / hostZeroers
	disk := newSlow(t, 1<<40)
	names := []string{neighbour}
	for i := range hosts {
		names = append(names, fmt.Sprintf("%s-%d", hostNQN, i))
	}
	r := crowd(t, &nvmetest.Memory{}, disk, names...)
	t.Cleanup(func() { close(disk.may) })
	long, ranges := deallocate(1, 1<<27, 1<<27)
	for _, name := range names[1:] {
		_, id := r.admin(subNQN, name, 0)
		send(t, r.io(subNQN, name, id, 1), hostZeroers, long, ranges)
	}
	until(t, "all workers are busy", func() bool { return int(disk.inside.Load()) == zeroers })
	_, id := r.admin(subNQN, neighbour, 0)
	q := r.io(subNQN, neighbour, id, 1)
	short, one := deallocate(3, 1)
	send(t, q, 1, short, one)
	until(t, "it waits", func() bool {
		r.target.computing.mu.Lock()
		defer r.target.computing.mu.Unlock()
		return r.target.computing.lines.count == 1
	})
	disk.may <- struct{}{} // one part of one of theirs
	finish(t, q, 1)
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

// TestLongCommandsEndWithTheirQueue: nothing of a queue that is gone goes on, and
// it leaves nothing behind.
func TestLongCommandsEndWithTheirQueue(t *testing.T) {
	carriers(t, func(t *testing.T, carrier fabric.Transport) {
		const all = 30
		disk := newSlow(t, 1<<40)
		r := crowd(t, carrier, disk)
		end := sync.OnceFunc(func() { close(disk.may) })
		t.Cleanup(end)
		_, id := r.admin(subNQN, hostNQN, 0)
		q := r.io(subNQN, hostNQN, id, 1)
		long, ranges := deallocate(1, 1<<27, 1<<27)
		send(t, q, all, long, ranges)
		_, most := computers(runtime.GOMAXPROCS(0))
		until(t, "some are under way, and the others have come", func() bool {
			r.target.computing.mu.Lock()
			defer r.target.computing.mu.Unlock()
			return int(disk.inside.Load()) == most && r.target.computing.lines.count == all-most
		})
		if err := q.Close(); err != nil {
			t.Fatal(err)
		}
		until(t, "nothing waits", func() bool {
			r.target.computing.mu.Lock()
			defer r.target.computing.mu.Unlock()
			return r.target.computing.lines.count == 0
		})
		for range most {
			disk.may <- struct{}{} // the parts under way
		}
		until(t, "the rest is not done", func() bool {
			r.target.gate.mu.Lock()
			defer r.target.gate.mu.Unlock()
			return r.target.gate.inside == 0 && disk.inside.Load() == 0
		})
		end()
	})
}

// peeked is a slow backend some of whose blocks are at hand.
type peeked struct{ *slow }

func (p peeked) TryRead(b []byte, lba uint64) (bool, error) {
	return lba < 8, p.Backend.ReadBlocks(b, lba)
}

// TestWhatIsAtHandDoesNotWait: reads that need no device are done though all workers
// wait for it, and those of the rest are not.
func TestWhatIsAtHandDoesNotWait(t *testing.T) {
	carriers(t, func(t *testing.T, carrier fabric.Transport) {
		disk := newSlow(t, 1<<20)
		r := crowd(t, carrier, peeked{disk})
		end := sync.OnceFunc(func() { close(disk.may) })
		t.Cleanup(end)
		_, id := r.admin(subNQN, hostNQN, 0)
		const each = 30 // on each of two queues: more than there are workers for the host
		busy := []fabric.Queue{r.io(subNQN, hostNQN, id, 1), r.io(subNQN, hostNQN, id, 2)}
		for _, q := range busy {
			send(t, q, each, blocks(wire.OpRead, 1, 8, 1), make([]byte, 4096))
		}
		q := r.io(subNQN, hostNQN, id, 3)
		for range 20 {
			r.want(wire.Success, q, blocks(wire.OpRead, 1, 0, 1), make([]byte, 4096))
		}
		end()
		for _, q := range busy {
			finish(t, q, each)
		}
	})
}

// locked is memory whose blocks others hold.
type locked struct {
	backend.Lender
	may chan struct{}
}

func (l *locked) Lend(uint64, int) ([]byte, bool)       { return nil, false }
func (l *locked) TryWrite([]byte, uint64) (bool, error) { return false, nil }
func (l *locked) ReadBlocks(p []byte, lba uint64) error { <-l.may; return l.Lender.ReadBlocks(p, lba) }
func (l *locked) WriteBlocks(p []byte, lba uint64) error {
	<-l.may
	return l.Lender.WriteBlocks(p, lba)
}

// TestLocksDoNotHoldUpConnections: a command on memory that must wait for another
// holds up nothing that comes after it on its connection.
func TestLocksDoNotHoldUpConnections(t *testing.T) {
	for name, op := range map[string]uint8{"read": wire.OpRead, "write": wire.OpWrite, "compare": wire.OpCompare} {
		t.Run(name, func(t *testing.T) {
			carriers(t, func(t *testing.T, carrier fabric.Transport) {
				m, err := backend.NewMemory(1<<20, 512)
				if err != nil {
					t.Fatal(err)
				}
				l := &locked{m.(backend.Lender), make(chan struct{})}
				r := crowd(t, carrier, l)
				_, q := r.both()
				cmd, data := blocks(op, 1, 0, 1), make([]byte, 512)
				for tag := range uint16(8) {
					if err := q.Submit(1+tag, &cmd, fabric.Buffer{Bytes: data}); err != nil {
						t.Fatal(err)
					}
				}
				for range 20 {
					r.want(wire.Success, q, blocks(wire.OpRead, 3, 0, 1), make([]byte, 4096))
				}
				close(l.may)
				finish(t, q, 8)
			})
		})
	}
}

// TestHostsShareLimitsInTurn: where one host has filled the line of a limit, the
// first command of another is the next or the one after.
func TestHostsShareLimitsInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // set and a timer may let commands go at the same time
		var order []string
		l := newLimiter(func(j job) {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, j.host())
		})
		l.set(Limits{IOPS: 100})
		of := func(host string) job {
			return job{queue: &queue{ctrl: &controller{host: wire.ConnectData{HostNQN: host}}}, x: new(fabric.Exchange)}
		}
		for range 200 {
			l.take(of(hostNQN), 0)
		}
		l.take(of(neighbour), 0)
		time.Sleep(100 * time.Millisecond)
		l.set(Limits{})
		synctest.Wait()
		mu.Lock()
		defer mu.Unlock()
		for i, host := range order {
			if host == neighbour {
				if i > 1 {
					t.Errorf("%d commands that came later than its own limit went first", i)
				}
				return
			}
		}
		t.Error("it has never had its turn")
	})
}

// TestZeroingAndFlushesAreCharged: what takes a while is no way around a limit.
func TestZeroingAndFlushesAreCharged(t *testing.T) {
	require.Long(t, "3 s")
	null, err := backend.NewNull(1<<40, 4096)
	if err != nil {
		t.Fatal(err)
	}
	long, ranges := deallocate(1, 4*zeroTurn/4096)
	for name, c := range map[string]struct {
		limits Limits
		cmd    wire.Command
		data   []byte
	}{
		"flush":               {Limits{IOPS: 4}, wire.Command{Opcode: wire.OpFlush, NSID: 1}, nil},
		"write zeroes":        {Limits{IOPS: 4}, blocks(wire.OpWriteZeroes, 1, 0, 1), nil},
		"deallocate":          {Limits{IOPS: 20}, long, ranges},
		"compare":             {Limits{IOPS: 4}, blocks(wire.OpCompare, 1, 0, 1), make([]byte, 4096)},
		"zeroes, bandwidth":   {Limits{Bandwidth: 4 * MaxTransfer}, blocks(wire.OpWriteZeroes, 1, 0, 1), nil},
		"deallocated, as one": {Limits{Bandwidth: 20 * MaxTransfer}, long, ranges},
	} {
		t.Run(name, func(t *testing.T) {
			r := crowd(t, &nvmetest.Memory{}, null)
			conf := r.another()
			conf.Subsystems[0].Namespaces[0].Limits = c.limits
			r.reload(conf)
			_, q := r.both()
			three := []sent{{c.cmd, c.data, wire.Success}, {c.cmd, c.data, wire.Success}, {c.cmd, c.data, wire.Success}}
			r.conversation(name, q, three)
			n := r.target.Stats()[0].Namespaces[0]
			if n.Others != 3 || n.Throttled == 0 {
				t.Errorf("%+v", n)
			}
		})
	}
}
