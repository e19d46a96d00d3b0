package nvmetest

import (
	"context"
	"errors"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

func (r *rig) timeout() {
	q := r.impatient(200 * time.Millisecond)
	_, err := fabric.Do(q, &wire.Command{Opcode: OpNever}, nil)
	if !errors.Is(err, fabric.ErrTimeout) {
		r.t.Fatalf("command without an answer: %v", err)
	}
	if err := q.Submit(1, &wire.Command{}, fabric.Buffer{}); err == nil {
		r.t.Error("a dead queue takes commands")
	}
}

// impatient connects a queue with a short timeout: the shortest from this one on
// that a slow machine can connect within.
func (r *rig) impatient(timeout time.Duration) fabric.Queue {
	r.t.Helper()
	for ; ; timeout *= 2 {
		q, err := r.open(2, timeout)
		if err == nil {
			return q
		}
		if timeout > patience {
			r.t.Fatal(err)
		}
	}
}

// busy submits commands that do not end, with data under way.
func (r *rig) busy(q fabric.Queue, depth int) {
	r.t.Helper()
	for tag := range depth - 1 {
		op := []uint8{OpNever, wire.OpRead, wire.OpWrite}[tag%3]
		var data []byte
		if op != OpNever {
			data = make([]byte, 128<<10)
		}
		if err := q.Submit(uint16(tag), transfer(op, 0, 256), fabric.Buffer{Bytes: data}); err != nil {
			r.t.Fatal(err)
		}
	}
}

// gone waits until the target has been told of the end of n queue pairs.
func (r *rig) gone(n int) []error {
	r.t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		open, ended := r.disk.Open()
		if len(ended) == n {
			return ended
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%d queue pairs are open, %d have ended, want %d", open, len(ended), n)
		}
	}
}

func (r *rig) hostCloses(async bool) {
	r.disk.Async = async
	q := r.dial(32, patience)
	r.busy(q, 32)
	failed := make(chan error, 1)
	go func() {
		done := make([]wire.Completion, 1)
		for {
			if _, err := q.Wait(done); err != nil {
				failed <- err
				return
			}
		}
	}()
	if err := q.Close(); err != nil {
		r.t.Error(err)
	}
	if err := <-failed; !errors.Is(err, fabric.ErrClosed) {
		r.t.Errorf("wait while the queue is closed: %v", err)
	}
	if err := q.Submit(31, &wire.Command{}, fabric.Buffer{}); !errors.Is(err, fabric.ErrClosed) {
		r.t.Errorf("submit to a closed queue: %v", err)
	}
	_ = q.Close()
	r.gone(1)
}

func (r *rig) targetCloses() {
	q, other := r.dial(32, patience), r.dial(4, patience)
	r.busy(q, 32)
	if err := q.Submit(31, &wire.Command{Opcode: OpHangup}, fabric.Buffer{}); err != nil {
		r.t.Fatal(err)
	}
	done := make([]wire.Completion, 32)
	var err error
	for err == nil {
		_, err = q.Wait(done)
	}
	if err := r.gone(1)[0]; err != nil {
		r.t.Errorf("the target's own hanging up was told as %v", err)
	}
	r.do(other, &wire.Command{Opcode: wire.OpFlush}, nil)
}

func (r *rig) portalCloses() {
	q := r.dial(32, patience)
	r.busy(q, 32)
	done := make([]wire.Completion, 32)
	if _, err := q.Poll(done); err != nil {
		r.t.Fatal(err)
	}
	if err := r.l.Close(); err != nil {
		r.t.Fatal(err)
	}
	if open, ended := r.disk.Open(); open != 0 || len(ended) != 1 {
		r.t.Errorf("after Close %d queue pairs are open, %d have ended", open, len(ended))
	}
	var err error
	for err == nil {
		_, err = q.Wait(done)
	}
	if errors.Is(err, fabric.ErrIdle) {
		r.t.Error("the queue survived its target")
	}
	_, err = r.tr.Dial(context.Background(), fabric.DialParams{Addr: r.l.Addr(), Depth: 1, Timeout: patience})
	if err == nil {
		r.t.Error("a closed portal was dialled")
	}
}
