package wire

import (
	"encoding/hex"
	"strings"
	"testing"
)

func TestRDMAPrivateData(t *testing.T) {
	req := RDMARequest{QID: 3, HRQSize: 128, HSQSize: 127, CntlID: 0x1234}
	b, _ := req.AppendBinary(nil)
	if got, want := hex.EncodeToString(b), "0000"+"0300"+"8000"+"7f00"+"3412"+strings.Repeat("00", 22); got != want {
		t.Errorf("request %s, want %s", got, want)
	}
	var back RDMARequest
	if err := back.UnmarshalBinary(append(b, 9)); err != nil || back != req {
		t.Errorf("%+v, %v", back, err)
	}
	acc := RDMAAccept{CRQSize: 0x0102}
	b, _ = acc.AppendBinary(nil)
	if got, want := hex.EncodeToString(b), "00000201"+strings.Repeat("00", 28); got != want {
		t.Errorf("accept %s, want %s", got, want)
	}
	var accBack RDMAAccept
	if err := accBack.UnmarshalBinary(b); err != nil || accBack != acc {
		t.Errorf("%+v, %v", accBack, err)
	}
	rej := RDMAReject{Status: RDMAInvalidHSQSize}
	b, _ = rej.AppendBinary(nil)
	if got := hex.EncodeToString(b); got != "00000400" {
		t.Errorf("reject %s", got)
	}
	var rejBack RDMAReject
	if err := rejBack.UnmarshalBinary(b); err != nil || rejBack != rej {
		t.Errorf("%+v, %v", rejBack, err)
	}
	for n, u := range map[int]interface{ UnmarshalBinary([]byte) error }{31: &back, 30: &accBack, 3: &rejBack} {
		if err := u.UnmarshalBinary(make([]byte, n)); err == nil {
			t.Errorf("%d bytes are a %T", n, u)
		}
	}
	for s := range RDMAStatus(11) {
		if s.Error() == "" {
			t.Errorf("status %d says nothing", s)
		}
	}
}

func FuzzRDMAPrivateData(f *testing.F) {
	f.Add(make([]byte, 32))
	f.Add([]byte{0, 0, 3, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		var req RDMARequest
		if req.UnmarshalBinary(b) == nil {
			again, _ := req.AppendBinary(nil)
			if string(again[:10]) != string(b[:10]) {
				t.Errorf("%x became %x", b[:10], again[:10])
			}
		}
		var acc RDMAAccept
		var rej RDMAReject
		_, _ = acc.UnmarshalBinary(b), rej.UnmarshalBinary(b)
	})
}
