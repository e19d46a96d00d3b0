//go:build linux && (amd64 || arm64)

package verbs

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/hint"
)

// mismatch says that a structure is not what it is known to be: nothing is
// called that might not be a function.
func mismatch(what string) error {
	return hint.Wrap(fmt.Errorf("%s of the installed libibverbs is laid out in another way than known", what), "RDMA needs the libibverbs of rdma-core; TCP goes on working")
}

// checkContext holds an opened device to its layout.
func checkContext(ctx, dev uintptr) error {
	const extended = ^uintptr(0) // VERBS_ABI_IS_EXTENDED
	if dev == 0 || word(ctx, contextDevice) != dev || word(ctx, contextABI) != extended || half(ctx, contextVectors) > 1<<16 {
		return mismatch("ibv_context")
	}
	name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(int(half(ctx, contextCmdFD))))
	if err != nil || !strings.Contains(name, "uverbs") {
		return mismatch("ibv_context")
	}
	code, err := executable()
	if err != nil {
		return err
	}
	for _, at := range []int{opPollCQ, opNotifyCQ, opPostSend, opPostRecv} {
		if !within(code, word(ctx, at)) {
			return mismatch("ibv_context_ops")
		}
	}
	return nil
}

type span struct{ from, to uintptr }

func within(all []span, at uintptr) bool {
	return slices.ContainsFunc(all, func(s span) bool { return at >= s.from && at < s.to })
}

// executable is where this process has code that was loaded from files.
func executable() ([]span, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("see what is loaded: %w", err)
	}
	return codeOf(maps), nil
}

// codeOf reads /proc/self/maps.
func codeOf(maps []byte) (all []span) {
	for line := range bytes.Lines(maps) {
		f := bytes.Fields(line)
		if len(f) < 6 || len(f[1]) < 3 || f[1][2] != 'x' {
			continue
		}
		low, high, _ := strings.Cut(string(f[0]), "-")
		from, err1 := strconv.ParseUint(low, 16, 64)
		to, err2 := strconv.ParseUint(high, 16, 64)
		if err1 == nil && err2 == nil {
			all = append(all, span{uintptr(from), uintptr(to)})
		}
	}
	return all
}

// check proves on queues of its own, which lead nowhere, that works go in and
// come out as the layouts have it: those of a queue pair in error come back,
// flushed.
func (d *domain) check() (err error) {
	l := d.l
	if word(d.pd, pdContext) != d.ctx {
		return mismatch("ibv_pd")
	}
	channel, err := l.pointer(l.ibv.Ibv_create_comp_channel, d.ctx)
	if err != nil {
		return fmt.Errorf("completion channel on %s: %w", d.limits.Device, err)
	}
	defer call(l.ibv.Ibv_destroy_comp_channel, channel)
	cq, err := l.pointer(l.ibv.Ibv_create_cq, d.ctx, 8, 0, channel, 0)
	if err != nil {
		return fmt.Errorf("completion queue on %s: %w", d.limits.Device, err)
	}
	defer call(l.ibv.Ibv_destroy_cq, cq)
	if word(cq, cqContext) != d.ctx || word(cq, cqChannel) != channel || half(cq, cqEntries) < 8 {
		return mismatch("ibv_cq")
	}
	init := stable(initSize)
	d.initQP(init, cq, Queue{Sends: 2, Receives: 2})
	qp, err := l.pointer(l.ibv.Ibv_create_qp, d.pd, address(init))
	runtime.KeepAlive(init)
	if err != nil {
		return fmt.Errorf("queue pair on %s: %w", d.limits.Device, err)
	}
	defer call(l.ibv.Ibv_destroy_qp, qp)
	if err := d.checkQP(qp, cq); err != nil {
		return err
	}
	if d.limits.IWARP {
		return nil // its queue pairs need not flush what was never connected, and Soft-iWARP's do not
	}
	if err := d.toError(qp); err != nil {
		return fmt.Errorf("queue pair on %s: %w", d.limits.Device, err)
	}
	return d.checkFlush(qp, cq)
}

// initQP fills in an ibv_qp_init_attr.
func (d *domain) initQP(b []byte, cq uintptr, q Queue) {
	clear(b[:initSize])
	le.PutUint64(b[initSendCQ:], uint64(cq))
	le.PutUint64(b[initRecvCQ:], uint64(cq))
	le.PutUint32(b[initSends:], uint32(q.Sends))
	le.PutUint32(b[initRecvs:], uint32(q.Receives))
	le.PutUint32(b[initSendSGE:], 1)
	le.PutUint32(b[initRecvSGE:], 1)
	le.PutUint32(b[initInline:], uint32(q.Inline))
	le.PutUint32(b[initType:], typeRC)
}

// toError has a fresh queue pair flush what is posted.
func (d *domain) toError(qp uintptr) error {
	attr := stable(attrSize)
	defer runtime.KeepAlive(attr)
	le.PutUint32(attr[attrState:], stateInit)
	attr[attrPort] = 1
	if err := code(d.l.ibv.Ibv_modify_qp, qp, address(attr), maskInit); err != nil {
		return fmt.Errorf("initialise: %w", err)
	}
	le.PutUint32(attr[attrState:], stateErr)
	if err := code(d.l.ibv.Ibv_modify_qp, qp, address(attr), maskState); err != nil {
		return fmt.Errorf("to error: %w", err)
	}
	return nil
}

func (d *domain) checkQP(qp, cq uintptr) error {
	if word(qp, qpContext) != d.ctx || word(qp, qpPD) != d.pd || word(qp, qpSendCQ) != cq || word(qp, qpRecvCQ) != cq || half(qp, qpType) != typeRC {
		return mismatch("ibv_qp")
	}
	return nil
}

// checkTime is how long a flushed work may take to come back.
const checkTime = 5 * time.Second

// checkFlush posts one work of each kind and sees them flushed.
func (d *domain) checkFlush(qp, cq uintptr) error {
	const recvID, sendID = 0x7265637672656376, 0x73656e6473656e64
	room := stable(sendStride + 8)
	defer runtime.KeepAlive(room)
	bad := address(room) + sendStride
	putReceive(room, uint64(address(room)), []Work{{ID: recvID, Local: Piece{Addr: uint64(address(room)), Len: 8}}})
	if err := code(word(d.ctx, opPostRecv), qp, address(room), bad); err != nil {
		return fmt.Errorf("post on %s: %w", d.limits.Device, err)
	}
	putSend(room, uint64(address(room)), []Work{{ID: sendID, Op: OpSend, Flags: Signaled}})
	if err := code(word(d.ctx, opPostSend), qp, address(room), bad); err != nil {
		return fmt.Errorf("post on %s: %w", d.limits.Device, err)
	}
	seen := map[uint64]bool{}
	done := stable(2 * doneSize)
	for start := time.Now(); len(seen) < 2; {
		n := int32(call(word(d.ctx, opPollCQ), cq, 2, address(done)))
		if n < 0 || n > 2 {
			return fmt.Errorf("poll on %s: %w", d.limits.Device, errors.New("it failed"))
		}
		for i := range int(n) {
			var w Done
			w.get(done[i*doneSize:])
			if w.ID != recvID && w.ID != sendID || w.Status != Flushed {
				return mismatch("ibv_wc")
			}
			seen[w.ID] = true
		}
		if time.Since(start) > checkTime {
			return mismatch("ibv_send_wr or ibv_recv_wr")
		}
	}
	return nil
}
