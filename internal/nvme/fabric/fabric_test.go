package fabric_test

import (
	"errors"
	"runtime"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

func TestPool(t *testing.T) {
	var p fabric.Pool
	for _, n := range []int{0, 1, 4095, 4096, 4097, 128 << 10, 1 << 20, 1<<20 + 1} {
		b := p.Get(n)
		if len(b.Bytes) != n {
			t.Errorf("%d bytes, want %d", len(b.Bytes), n)
		}
		for i := range b.Bytes {
			b.Bytes[i] = 1
		}
		b.Release()
	}
}

type returned [][]byte

func (r *returned) Release(b []byte) { *r = append(*r, b) }

func TestBufferRelease(t *testing.T) {
	var r returned
	fabric.Buffer{Bytes: []byte{1, 2}, Owner: &r}.Release()
	fabric.Buffer{Bytes: []byte{3}}.Release() // nobody to tell
	if len(r) != 1 || len(r[0]) != 2 {
		t.Errorf("returned %v", r)
	}
}

// carrier notes what exchanges ask of it.
type carrier struct {
	pool   fabric.Pool
	pushed int
	result uint64
	status wire.Status
}

func (c *carrier) Alloc(_ *fabric.Exchange, n int) fabric.Buffer { return c.pool.Get(n) }
func (c *carrier) Push(_ *fabric.Exchange, b fabric.Buffer)      { c.pushed += len(b.Bytes); b.Release() }
func (c *carrier) Settle(*fabric.Exchange)                       {}
func (c *carrier) Drop(*fabric.Exchange)                         {}
func (c *carrier) Complete(_ *fabric.Exchange, result uint64, st wire.Status) {
	c.result, c.status = result, st
}

func TestExchange(t *testing.T) {
	var c carrier
	x := fabric.NewExchange(&c, 5)
	x.Command.SGL.Length = 512
	x.Push(x.Alloc(512))
	x.Complete(9, wire.InternalError)
	if x.Slot() != 5 || x.Length() != 512 || c.pushed != 512 || c.result != 9 || c.status != wire.InternalError {
		t.Errorf("slot %d, length %d, carrier %+v", x.Slot(), x.Length(), &c)
	}
}

// lone is a queue that answers every command with one completion.
type lone struct {
	answer wire.Completion
	submit error
	wait   error
}

func (q *lone) Submit(uint16, *wire.Command, fabric.Buffer) error { return q.submit }
func (q *lone) Poll(done []wire.Completion) (int, error)          { return q.Wait(done) }
func (q *lone) Close() error                                      { return nil }
func (q *lone) Wait(done []wire.Completion) (int, error) {
	return copy(done, []wire.Completion{q.answer}), q.wait
}

func TestDo(t *testing.T) {
	var cmd wire.Command
	if c, err := fabric.Do(&lone{answer: wire.Completion{Result: 3, Status: wire.InvalidField}}, &cmd, nil); err != nil || c.Result != 3 || c.Status != wire.InvalidField {
		t.Errorf("%+v, %v", c, err)
	}
	for _, q := range []*lone{{submit: fabric.ErrTag}, {wait: fabric.ErrTimeout}, {answer: wire.Completion{CID: 1}}} {
		if _, err := fabric.Do(q, &cmd, nil); err == nil || q.submit != nil && !errors.Is(err, q.submit) || q.wait != nil && !errors.Is(err, q.wait) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestListenParamsDefaults(t *testing.T) {
	if (fabric.ListenParams{}).WithDefaults().Budget == nil {
		t.Error("no budget")
	}
	if (fabric.ListenParams{}).WithDefaults().Turns == nil {
		t.Error("no turns")
	}
	b, turns := fabric.NewBudget(1), fabric.NewTurns(1, nil)
	p := fabric.ListenParams{Addr: "10.0.0.1:4420", MaxDepth: 7, Budget: b, Turns: turns}.WithDefaults()
	want := fabric.ListenParams{
		Addr: "10.0.0.1:4420", MaxDepth: 7, InCapsule: fabric.DefaultInCapsule,
		MaxTransfer: fabric.DefaultMaxTransfer, Timeout: fabric.DefaultTimeout, Budget: b, Turns: turns, Processors: runtime.GOMAXPROCS(0),
	}
	if p != want {
		t.Errorf("%+v, want %+v", p, want)
	}
}
