package verbs

import (
	"encoding/hex"
	"errors"
	"testing"

	"weft/internal/hint"
)

// TestAsyncEvents: the bytes were written by C, from the headers of rdma-core
// 44. An event ends what it is about, and nothing else.
func TestAsyncEvents(t *testing.T) {
	const qp, cq = 0x7f0011223344, 0x7f0055667788
	for raw, want := range map[string]error{
		"44332211007f0000" + "01000000" + "00000000": ErrQueue, // QP_FATAL
		"44332211007f0000" + "02000000" + "00000000": ErrQueue, // QP_REQ_ERR
		"44332211007f0000" + "03000000" + "00000000": ErrQueue, // QP_ACCESS_ERR
		"44332211007f0000" + "04000000" + "00000000": nil,      // COMM_EST
		"44332211007f0000" + "10000000" + "00000000": nil,      // QP_LAST_WQE_REACHED
		"48332211007f0000" + "01000000" + "00000000": nil,      // QP_FATAL of another one
		"88776655007f0000" + "00000000" + "00000000": ErrQueue, // CQ_ERR
		"44332211007f0000" + "00000000" + "00000000": nil,      // CQ_ERR of another one
		"0000000000000000" + "08000000" + "00000000": ErrDevice,
		"0200000000000000" + "0a000000" + "00000000": nil, // PORT_ERR
		"0200000000000000" + "09000000" + "00000000": nil, // PORT_ACTIVE
		"0200000000000000" + "12000000" + "00000000": nil, // GID_CHANGE
		"0200000000000000" + "ff000000" + "00000000": nil, // what is not known
	} {
		b, err := hex.DecodeString(raw)
		if err != nil || len(b) != asyncSize {
			t.Fatal(len(b), err)
		}
		var e asyncEvent
		e.get(b)
		got := e.ends("mlx5_0", qp, cq)
		if !errors.Is(got, want) {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
		if errors.Is(got, ErrDevice) && hint.Of(got) == "" {
			t.Errorf("%v: without a hint", got)
		}
	}
}
