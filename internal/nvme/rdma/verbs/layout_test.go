package verbs

import (
	"bytes"
	"encoding/hex"
	"net/netip"
	"testing"
)

// The expected bytes were written by C, from the headers of rdma-core 44.

func TestPutSend(t *testing.T) {
	works := []Work{
		{ID: 0x1122334455667788, Op: OpWrite, Local: Piece{Addr: 0x7f0011223344, Len: 4096, Key: 0xa1}, Remote: 0x7fffeeddccbb, Key: 0xb2},
		{ID: 2, Op: OpSendInvalidate, Flags: Signaled | Inline, Local: Piece{Addr: 0x10, Len: 16, Key: 3}, Key: 0xc4},
	}
	b := make([]byte, 2*sendStride)
	putSend(b, 0x1000, works)
	for _, c := range []struct {
		at   int
		want string
	}{
		{0, "8877665544332211" + "9010000000000000" + "8010000000000000" + "01000000" + "00000000" + "00000000" + "00000000"},
		{40, "bbccddeeff7f0000" + "b2000000"},
		{sendSize, "44332211007f0000" + "00100000" + "a1000000"},
		{sendStride, "0200000000000000" + "0000000000000000" + "1011000000000000" + "01000000" + "09000000" + "0a000000" + "c4000000"},
		{sendStride + 40, "0000000000000000" + "c4000000"},
		{sendStride + sendSize, "1000000000000000" + "10000000" + "03000000"},
	} {
		want, err := hex.DecodeString(c.want)
		if err != nil {
			t.Fatal(err)
		}
		if got := b[c.at : c.at+len(want)]; !bytes.Equal(got, want) {
			t.Errorf("at %d: %x, want %x", c.at, got, want)
		}
	}
	if putSend(b, 0x1000, []Work{{Op: OpSend}}); le.Uint32(b[24:]) != 0 || le.Uint64(b[8:]) != 0 {
		t.Error("a work without memory has some, or another one behind it")
	}
}

func TestPutReceive(t *testing.T) {
	b := make([]byte, 2*recvStride)
	putReceive(b, 0x2000, []Work{{ID: 7, Local: Piece{Addr: 0x40, Len: 64, Key: 9}}, {ID: 8, Local: Piece{Addr: 0x80, Len: 64, Key: 9}}})
	want := "0700000000000000" + "3020000000000000" + "2020000000000000" + "01000000" + "00000000" + "4000000000000000" + "40000000" + "09000000" +
		"0800000000000000" + "0000000000000000" + "5020000000000000" + "01000000" + "00000000" + "8000000000000000" + "40000000" + "09000000"
	if got := hex.EncodeToString(b); got != want {
		t.Errorf("\n%s, want\n%s", got, want)
	}
}

func TestDone(t *testing.T) {
	raw, err := hex.DecodeString("efcdab8967452301" + "00000000" + "80000000" + "99000000" + "50000000" + "c4000000" + "11000000" + "22000000" + "08000000" + "0000000000000000")
	if err != nil || len(raw) != doneSize {
		t.Fatal(len(raw), err)
	}
	var d Done
	if d.get(raw); d != (Done{ID: 0x0123456789abcdef, Bytes: 80, Invalidated: 0xc4}) || d.Err() != nil {
		t.Errorf("%+v", d)
	}
	raw[8], raw[36] = byte(RemoteAccess), 0
	if d.get(raw); d.Status != RemoteAccess || d.Invalidated != 0 || d.Err() == nil || d.Vendor != 0x99 {
		t.Errorf("%+v", d)
	}
}

func TestPutParam(t *testing.T) {
	b := make([]byte, paramSize)
	putParam(b, 0x3000, Hello{Private: make([]byte, 32), Reads: 1000, Issues: 16})
	if got, want := hex.EncodeToString(b), "0030000000000000"+"20"+"ff"+"10"+"01"+"07"+"07"+"0000"+"0000000000000000"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestSockaddr(t *testing.T) {
	for addr, want := range map[string]string{
		"10.1.0.2:4420":       "02001144" + "0a010002" + "0000000000000000",
		"[fe80::1]:4420":      "0a001144" + "00000000" + "fe800000000000000000000000000001",
		"[::ffff:9.8.7.6]:80": "02000050" + "09080706",
	} {
		a := netip.MustParseAddrPort(addr)
		b := bytes.Repeat([]byte{0xee}, sockaddrIn)
		putSockaddr(b, a, 0)
		if got := hex.EncodeToString(b); got[:len(want)] != want {
			t.Errorf("%s is %s, want %s", addr, got, want)
		}
		if back := sockaddr(b); back != netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) {
			t.Errorf("%s became %s", addr, back)
		}
	}
	if a := sockaddr(make([]byte, sockaddrIn)); a.IsValid() {
		t.Errorf("nothing is %s", a)
	}
}

func TestMTU(t *testing.T) {
	for v, want := range map[uint32]int{0: 0, 1: 256, 3: 1024, 5: 4096, 6: 0} {
		if got := mtuBytes(v); got != want {
			t.Errorf("MTU %d is %d bytes, want %d", v, got, want)
		}
	}
}
