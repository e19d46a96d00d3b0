package tcp_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/nvmetest"
	"weft/internal/nvme/tcp"
	"weft/internal/nvme/wire"
)

// withDigests dials with digests.
type withDigests struct {
	fabric.Transport
	header, data bool
}

func (w withDigests) Dial(ctx context.Context, p fabric.DialParams) (fabric.Queue, error) {
	p.HeaderDigest, p.DataDigest = w.header, w.data
	return w.Transport.Dial(ctx, p)
}

func TestConformanceWithDigests(t *testing.T) {
	t.Parallel()
	for _, header := range []bool{false, true} {
		for _, data := range []bool{false, true} {
			if !header && !data {
				continue
			}
			t.Run(fmt.Sprintf("header=%v/data=%v", header, data), func(t *testing.T) {
				nvmetest.Conformance(t, func(*testing.T) fabric.Transport {
					return withDigests{new(tcp.Transport), header, data}
				}, "127.0.0.1:0")
			})
		}
	}
}

// crc is the digest of b as it stands on the wire. Vector: RFC 3720 B.4, 32
// bytes of zeros have aa 36 91 8a.
func crc(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
}

func TestDigestVector(t *testing.T) {
	if got := fmt.Sprintf("%x", crc(make([]byte, 32))); got != "aa36918a" {
		t.Error(got)
	}
}

// dressed is a PDU with both digests; spoil flips a bit behind them: 'h' in
// the header's, 'd' in the data's, 'f' in the digest flags.
func dressed(pdu []byte, spoil byte) []byte {
	var h wire.PDUHeader
	_ = h.UnmarshalBinary(pdu)
	head, body := append([]byte(nil), pdu[:h.HLen]...), pdu[h.HLen:]
	h.Flags |= wire.PDUHeaderDigest
	h.PLen += 4
	if len(body) > 0 {
		h.Flags |= wire.PDUDataDigest
		h.PDO += 4
		h.PLen += 4
	}
	if spoil == 'f' {
		h.Flags &^= wire.PDUDataDigest
	}
	common, _ := h.AppendBinary(nil)
	copy(head, common)
	sum := crc(head)
	if spoil == 'h' {
		sum[0] ^= 1
	}
	out := append(head, sum...)
	if len(body) > 0 {
		sum = crc(body)
		if spoil == 'd' {
			sum[3] ^= 0x80
		}
		out = append(append(out, body...), sum...)
	}
	return out
}

// dressedPeer has connected an I/O queue with both digests.
func dressedPeer(t *testing.T, addr string) *peer {
	t.Helper()
	p := dialPeer(t, addr)
	p.send(icReq(func(r *wire.ICReq) { r.Digest = 3 }))
	var resp wire.ICResp
	if err := resp.UnmarshalBinary(p.receive(wire.ICSize)); err != nil || resp.Digest != 3 {
		t.Fatalf("digests %d, want 3: %v", resp.Digest, err)
	}
	p.send(dressed(capsule(wire.ConnectCommand{QID: 1, SQSize: 2}.Command(), wire.ConnectDataSize, nil), 0))
	if st := p.dressedResponse(); st != wire.Success {
		t.Fatal(st)
	}
	return p
}

// dressedResponse reads a response and judges its digest.
func (p *peer) dressedResponse() wire.Status {
	p.t.Helper()
	b := p.receive(wire.CapsuleRespSize + 4)
	var r wire.CapsuleResp
	if err := r.UnmarshalBinary(b); err != nil {
		p.t.Fatal(err)
	}
	if want := crc(b[:wire.CapsuleRespSize]); string(want) != string(b[wire.CapsuleRespSize:]) || r.Flags&wire.PDUHeaderDigest == 0 {
		p.t.Fatalf("response %x, want digest %x", b, want)
	}
	return r.Completion.Status
}

// TestDigestsAtTheTarget: data that is not what its digest says fails its
// command only and never reaches the disk; a header is fatal.
func TestDigestsAtTheTarget(t *testing.T) {
	disk := &nvmetest.Disk{Data: make([]byte, 1<<20)}
	l, err := new(tcp.Transport).Listen(context.Background(), fabric.ListenParams{Addr: "127.0.0.1:0"}, disk.Accept)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := dressedPeer(t, l.Addr())
	filled := func(n int) []byte {
		cmd := wire.Command{Opcode: wire.OpWrite, CID: 3}
		cmd.SetBlocks(0, n/512)
		b := capsule(cmd, n, nil)
		for i := range b[wire.CapsuleCmdSize:] {
			b[wire.CapsuleCmdSize+i] = 0xee
		}
		return b
	}
	p.send(dressed(filled(1024), 'd'))
	if st := p.dressedResponse(); st != wire.TransientTransport {
		t.Errorf("in the capsule: %v", st)
	}
	long := wire.Command{Opcode: wire.OpWrite, CID: 0xa005, SGL: wire.SGL{Type: wire.SGLTransport, Length: 8192}}
	long.SetBlocks(0, 16)
	for _, spoil := range []byte{'d', 0} {
		p.send(dressed(capsule(long, 0, nil), 0))
		raw := p.receive(wire.R2TSize + 4)
		var r wire.R2T
		if err := r.UnmarshalBinary(raw); err != nil || string(crc(raw[:wire.R2TSize])) != string(raw[wire.R2TSize:]) {
			t.Fatalf("R2T %x: %v", raw, err)
		}
		half := func(at int, flags uint8, spoil byte) []byte {
			return dressed(data(r, func(d *wire.DataPDU) {
				d.Offset, d.Length, d.PLen, d.Flags = uint32(at), 4096, 4096+24, flags
			}), spoil)
		}
		p.send(half(0, 0, spoil))
		p.send(half(4096, wire.PDULast, 0))
		want := wire.Success
		if spoil != 0 {
			want = wire.TransientTransport
		}
		if st := p.dressedResponse(); st != want {
			t.Errorf("H2CData: %v, want %v", st, want)
		}
	}
	if b := disk.Snapshot()[0]; b != 0 {
		t.Errorf("data with a bad digest was written: 0x%x", b)
	}
	p.send(dressed(filled(1024), 0))
	if st := p.dressedResponse(); st != wire.Success {
		t.Errorf("the connection suffers: %v", st)
	}
	for spoil, want := range map[byte]wire.FatalStatus{'h': wire.FatalHeaderDigest, 'f': wire.FatalHeaderField} {
		p := dressedPeer(t, l.Addr())
		bad := dressed(filled(1024), spoil)
		p.send(bad)
		term := p.end()
		if term == nil || term.Reason != want {
			t.Errorf("spoilt %c: %+v, want %v", spoil, term, want)
		} else if said := binary.LittleEndian.Uint32(bad[wire.CapsuleCmdSize:]); spoil == 'h' && term.Info != said {
			t.Errorf("digest 0x%x, want what came, 0x%x", term.Info, said)
		}
	}
	p = dressedPeer(t, l.Addr())
	p.send(capsule(flush, 0, nil))
	if term := p.end(); term == nil || term.Reason != wire.FatalHeaderField || term.Info != 1 {
		t.Errorf("a header without digest: %+v", term)
	}
}

// TestDigestsAtTheHost is the same from the other side.
func TestDigestsAtTheHost(t *testing.T) {
	both := icResp(func(r *wire.ICResp) { r.Digest = 3 })
	dial := func(addr string) (fabric.Queue, error) {
		return new(tcp.Transport).Dial(context.Background(), fabric.DialParams{
			Addr: addr, QID: 1, Depth: 2, Timeout: patience, HeaderDigest: true, DataDigest: true,
		})
	}
	for spoil, say := range map[byte]string{'h': "header digest", 'f': "data digest is not as agreed", 'd': "transient"} {
		addr := lie(t, both, func(c wire.Command) []byte {
			return dressed(toHost(c.CID, 0, 4096, wire.PDULast|wire.PDUSuccess), spoil)
		})
		q, err := dial(addr)
		if err != nil {
			t.Fatal(err)
		}
		c, err := fabric.Do(q, &wire.Command{Opcode: wire.OpRead}, make([]byte, 4096))
		if err == nil {
			err = c.Status.Err()
		}
		if err == nil || !strings.Contains(strings.ToLower(err.Error()), say) {
			t.Errorf("spoilt %c: %v, want %q", spoil, err, say)
		}
		_ = q.Close()
	}
	if q, err := dial(lie(t, icResp(nil), func(wire.Command) []byte { return nil })); err == nil {
		_ = q.Close()
		t.Error("a target without digests was accepted")
	} else if !strings.Contains(err.Error(), "digests none, want header and data") {
		t.Error(err)
	}
}
