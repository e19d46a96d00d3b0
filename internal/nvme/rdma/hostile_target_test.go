package rdma_test

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/rdma/verbs"
	"weft/internal/nvme/rdma/verbs/verbstest"
	"weft/internal/nvme/wire"
)

// rawTarget is a target that answers the first command with what it likes.
type rawTarget struct {
	accept  bool
	private []byte // of its answer to the connection
	answer  func(cmd *wire.Command) []verbs.Work
	mem     []byte
	mr      *verbs.Memory
}

const rawAnswer = 256 // where in mem answers are sent from

// say sends the first bytes of a response as one work.
func (r *rawTarget) say(c wire.Completion, n int) verbs.Work {
	at := rawAnswer
	for r.mem[at+12] != 0xff { // not yet used
		at += wire.CompletionSize
	}
	_, _ = c.AppendBinary(r.mem[at:at:len(r.mem)])
	return verbs.Work{Op: verbs.OpSend, Flags: verbs.Signaled, Local: verbs.Piece{Addr: r.mr.Addr + uint64(at), Len: uint32(n), Key: r.mr.Local}}
}

// serve takes one connection, and returns when the host has left.
func (r *rawTarget) serve(f *verbstest.Fabric, a verbs.Acceptor) (err error) {
	k, _, err := a.Accept()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close(), r.mr.Close()) }()
	r.mem = make([]byte, 1024)
	for i := range r.mem {
		r.mem[i] = 0xff
	}
	if r.mr, err = f.Register(r.mem, verbs.LocalWrite); err != nil {
		return err
	}
	h, err := f.Hub(16)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.Close(), h.Close()) }()
	p, err := k.Open(h, verbs.Queue{Sends: 8, Receives: 8})
	if err != nil {
		return err
	}
	if err := p.Receive([]verbs.Work{{Local: verbs.Piece{Addr: r.mr.Addr, Len: wire.CommandSize, Key: r.mr.Local}}}); err != nil {
		return err
	}
	if err := k.Answer(verbs.Hello{Private: r.private, Issues: 1}, r.accept); err != nil || !r.accept {
		return err
	}
	var done [8]verbs.Done
	for {
		if err := h.Arm(); err != nil {
			return err
		}
		n, err := h.Poll(done[:])
		if err != nil {
			return err
		}
		if n > 0 && done[0].Bytes == wire.CommandSize && done[0].Status == verbs.OK {
			var cmd wire.Command
			if err := errors.Join(cmd.UnmarshalBinary(r.mem), p.Send(r.answer(&cmd))); err != nil {
				return err
			}
			continue
		}
		if n == 0 {
			if err := h.Wait(time.Now().Add(patience)); err != nil && !errors.Is(err, verbs.ErrNews) {
				return err
			}
			if p.Ended() != nil {
				return nil
			}
		}
	}
}

// TestBadTargets: what no target does ends the queue with an error, and nothing
// is left behind.
func TestBadTargets(t *testing.T) {
	for name, answer := range map[string]func(r *rawTarget, cmd *wire.Command) []verbs.Work{
		"another command": func(r *rawTarget, cmd *wire.Command) []verbs.Work {
			return []verbs.Work{r.say(wire.Completion{CID: cmd.CID + 1}, 16)}
		},
		"no command": func(r *rawTarget, cmd *wire.Command) []verbs.Work {
			return []verbs.Work{r.say(wire.Completion{CID: 0xfff0}, 16)}
		},
		"too short": func(r *rawTarget, cmd *wire.Command) []verbs.Work {
			return []verbs.Work{r.say(wire.Completion{CID: cmd.CID}, 15)}
		},
		"too long": func(r *rawTarget, cmd *wire.Command) []verbs.Work {
			return []verbs.Work{r.say(wire.Completion{CID: cmd.CID}, 17)}
		},
		"a key taken back": func(r *rawTarget, cmd *wire.Command) []verbs.Work {
			w := r.say(wire.Completion{CID: cmd.CID}, 16)
			w.Op, w.Key = verbs.OpSendInvalidate, cmd.SGL.Key
			return []verbs.Work{w}
		},
		"beyond the buffer": func(r *rawTarget, cmd *wire.Command) []verbs.Work {
			return []verbs.Work{{
				Op: verbs.OpWrite, Flags: verbs.Signaled, Local: verbs.Piece{Addr: r.mr.Addr, Len: 512, Key: r.mr.Local},
				Remote: cmd.SGL.Address + 4096, Key: cmd.SGL.Key,
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := new(verbstest.Fabric)
			tr := memory(t, f)
			a, err := f.Listen(netip.MustParseAddrPort("10.0.0.1:0"))
			if err != nil {
				t.Fatal(err)
			}
			acc := wire.RDMAAccept{CRQSize: 8}
			r := &rawTarget{accept: true}
			r.private, _ = acc.AppendBinary(nil)
			r.answer = func(cmd *wire.Command) []verbs.Work { return answer(r, cmd) }
			over := make(chan error, 1)
			go func() { over <- r.serve(f, a) }()
			q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: a.Addr().String(), QID: 1, Depth: 4, Timeout: patience})
			if err != nil {
				t.Fatal(err)
			}
			data := make([]byte, 512)
			if _, err := fabric.Do(q, &wire.Command{Opcode: wire.OpRead}, data); err == nil {
				t.Error("the answer was taken")
			}
			if err := q.Submit(1, &wire.Command{}, fabric.Buffer{}); err == nil {
				t.Error("a dead queue takes commands")
			}
			if err := errors.Join(q.Close(), <-over, a.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRefusals: what a target says to an offer reaches whoever dials.
func TestRefusals(t *testing.T) {
	f := new(verbstest.Fabric)
	tr := memory(t, f)
	for _, c := range []struct {
		r    *rawTarget
		want error
	}{
		{&rawTarget{private: []byte{0, 0, byte(wire.RDMAInvalidHSQSize), 0}}, wire.RDMAInvalidHSQSize},
		{&rawTarget{}, nil},
		{&rawTarget{accept: true, private: []byte{1, 0}}, nil},
	} {
		a, err := f.Listen(netip.MustParseAddrPort("10.0.0.1:0"))
		if err != nil {
			t.Fatal(err)
		}
		over := make(chan error, 1)
		go func() { over <- c.r.serve(f, a) }()
		q, err := tr.Dial(t.Context(), fabric.DialParams{Addr: a.Addr().String(), QID: 1, Depth: 4, Timeout: patience})
		if err == nil {
			t.Errorf("%+v was connected to: %v", c.r, q.Close())
		}
		if c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%v, want %v", err, c.want)
		}
		if err := errors.Join(<-over, a.Close()); err != nil {
			t.Error(err)
		}
	}
}
