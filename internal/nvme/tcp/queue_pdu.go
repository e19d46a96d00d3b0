package tcp

import (
	"fmt"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// maxPDU bounds what a target may announce: no command moves more.
const maxPDU = 1 << 31

// check judges the common header of a PDU from the target.
func (q *queue) check(h *wire.PDUHeader) error {
	most := h.Type.HeaderLen()
	switch h.Type {
	case wire.PDUC2HData:
		most = maxPDU - 1
	case wire.PDUC2HTermReq:
		most = wire.TermReqMax
	case wire.PDUCapsuleResp, wire.PDUR2T:
	default:
		return breach(wire.FatalHeaderField, atType, "%v from a target", h.Type)
	}
	if err := checkSizes(h, most, q.rx.digests); err != nil {
		return err
	}
	if at := wire.DataHeaderSize + q.rx.digests.behind(h.Type); h.Type == wire.PDUC2HData && int(h.PDO) != at {
		return breach(wire.FatalHeaderField, atPDO, "%v with data at %d, want %d", h.Type, h.PDO, at)
	}
	return nil
}

// header takes the header of a PDU and says where its data goes.
func (q *queue) header(h *wire.PDUHeader, raw []byte) ([]byte, error) {
	switch h.Type {
	case wire.PDUC2HData:
		return q.targetData(h, raw)
	case wire.PDUCapsuleResp:
		var p wire.CapsuleResp
		if err := p.UnmarshalBinary(raw); err != nil {
			return nil, err
		}
		return nil, q.complete(p.Completion)
	case wire.PDUR2T:
		return nil, q.answer(raw)
	}
	return nil, terminated(raw)
}

// slot finds an outstanding command.
func (q *queue) slot(cid uint16, what wire.PDUType) (*hostSlot, error) {
	if int(cid) >= len(q.slots) || !q.slots[cid].busy {
		return nil, breach(wire.FatalHeaderField, atCID, "%v for command %d, which is not outstanding", what, cid)
	}
	return &q.slots[cid], nil
}

// targetData takes the header of a C2HData: it must continue where the last
// one has ended.
func (q *queue) targetData(h *wire.PDUHeader, raw []byte) ([]byte, error) {
	var p wire.DataPDU
	if err := p.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	s, err := q.slot(p.CID, p.Type)
	if err != nil {
		return nil, err
	}
	n := int64(p.Length)
	switch {
	case n == 0 || n != int64(q.rx.digests.dataLen(h)):
		return nil, breach(wire.FatalHeaderField, atLen, "C2HData of %d bytes in a PDU of %d", n, p.PLen)
	case s.dir != wire.ToHost:
		return nil, breach(wire.FatalOutOfRange, atCID, "C2HData for command %d, which reads nothing", p.CID)
	case int64(p.Offset) != int64(s.moved) || n > int64(len(s.buf)-s.moved):
		return nil, breach(wire.FatalOutOfRange, atOff, "C2HData of %d bytes at %d, want at most %d at %d", n, p.Offset, len(s.buf)-s.moved, s.moved)
	case p.Flags&(wire.PDUSuccess|wire.PDULast) == wire.PDUSuccess:
		return nil, breach(wire.FatalHeaderField, atFlags, "C2HData with success that is not the last")
	}
	dst := s.buf[s.moved : s.moved+int(n)]
	s.moved += int(n)
	q.landing, q.success = p.CID, p.Flags&wire.PDUSuccess != 0
	return dst, nil
}

// payload completes a command whose data said that it is all. Data that is not
// what its digest says fails the command, not the connection.
func (q *queue) payload(intact bool) error {
	if !intact && q.rx.h.Type == wire.PDUC2HData {
		q.slots[q.landing].torn = true
	}
	if !q.success {
		return nil
	}
	q.success = false
	return q.complete(wire.Completion{SQHead: wire.SQHeadNoFlow, SQID: q.qid, CID: q.landing})
}

// answer sends what an R2T asks for.
func (q *queue) answer(raw []byte) error {
	var p wire.R2T
	if err := p.UnmarshalBinary(raw); err != nil {
		return err
	}
	s, err := q.slot(p.CID, p.Type)
	if err != nil {
		return err
	}
	at, n := int64(p.Offset), int64(p.Length)
	if s.dir != wire.ToController || n == 0 || at != int64(s.moved) || at+n > int64(len(s.buf)) {
		return breach(wire.FatalOutOfRange, atOff, "R2T for %d bytes at %d of command %d, which has sent %d of %d", n, at, p.CID, s.moved, len(s.buf))
	}
	b := q.out.lock()
	for n > 0 {
		k := min(int(n), q.maxData)
		d := wire.NewDataPDU(wire.PDUH2CData, p.CID, s.moved, k)
		d.TTag = p.TTag
		if n -= int64(k); n == 0 {
			d.Flags = wire.PDULast
		}
		q.rx.digests.dress(&d.PDUHeader, true)
		from := len(b.small)
		b.small, _ = d.AppendBinary(b.small)
		b.seal(from, q.rx.digests)
		s.lent.Add(1)
		b.payload(fabric.Buffer{Bytes: s.buf[s.moved : s.moved+k], Owner: s}, q.rx.digests)
		s.moved += k
	}
	q.out.unlock()
	q.out.unsent.Store(true)
	q.answered = true
	return nil
}

// complete hands a completion to the caller of Poll or Wait.
func (q *queue) complete(c wire.Completion) error {
	s, err := q.slot(c.CID, wire.PDUCapsuleResp)
	if err != nil {
		return err
	}
	if s.dir != wire.NoData && c.Status.Code() == wire.Success && s.moved < len(s.buf) {
		return fmt.Errorf("command %d completed with %d of %d bytes", c.CID, s.moved, len(s.buf))
	}
	if s.torn && c.Status.Code() == wire.Success {
		c.Status = wire.TransientTransport
	}
	if s.lent.Load() != 0 { // the caller may reuse the buffer: wait until its last byte was sent
		if q.sock != nil {
			q.out.drained(q.timeout)
		} else {
			q.out.settle()
		}
		if s.lent.Load() != 0 {
			return fmt.Errorf("command %d completed, and its data cannot be sent", c.CID)
		}
	}
	s.buf, s.busy = nil, false
	q.outstanding--
	q.ready = append(q.ready, c)
	return nil
}
