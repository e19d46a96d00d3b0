package wire

import (
	"reflect"
	"strings"
	"testing"
)

func TestIdentifyController(t *testing.T) {
	c := IdentifyController{
		VID: 0x0102, SSVID: 0x0304, SN: "SN1", MN: "weft", FR: "1.0", RAB: 6, IEEE: [3]byte{7, 8, 9}, CMIC: 0x0b, MDTS: 5,
		CNTLID: 0x0a0b, VER: Version14, RTD3R: 1, RTD3E: 2, OAES: 0x100, CTRATT: 0x41, CntrlType: ControllerIO,
		CRDT: [3]uint16{1, 2, 3}, OACS: 4, ACL: 3, AERL: 3, FRMW: 3, LPA: 7, ELPE: 63, NPSS: 1, KAS: 10,
		ANATT: 10, ANACAP: 0x1f, ANAGRPMAX: 128, NANAGRPID: 127, SQES: 0x66, CQES: 0x44, MAXCMD: 128, NN: 1024,
		ONCS: 0x0c, FUSES: 1, FNA: 2, VWC: 1, AWUN: 5, AWUPF: 6, NWPC: 1, ACWU: 7, SGLS: 0x100001, MNAN: 1023,
		SubNQN: "nqn.x", IOCCSZ: 0x204, IORCSZ: 1, ICDOFF: 2, FCATT: 1, MSDBD: 1, OFCS: 1, DCTYPE: 1,
	}
	want := vector(t, IdentifySize,
		"0: 0201 0403", "4:"+ascii("SN1", 20), "24:"+ascii("weft", 40), "64:"+ascii("1.0", 8), "72: 06 070809 0b 05 0b0a 00040100",
		"84: 01000000 02000000 00010000 41000000", "111: 01", "128: 0100 0200 0300", "256: 0400 03 03 03 07 3f 01", "320: 0a00",
		"342: 0a 1f 80000000 7f000000", "512: 66 44 8000 00040000 0c00 0100 02 01 0500 0600", "531: 01 0700", "536: 01001000 ff030000",
		"768: 6e716e2e78", "1792: 04020000 01000000 0200 01 01 0100 01")
	roundTrip(t, &c, want)
	if c.MaxTransfer() != 128<<10 || c.InCapsule() != 8192 {
		t.Errorf("%d bytes of one command, %d in its capsule", c.MaxTransfer(), c.InCapsule())
	}
	c.ICDOFF = 0
	if err := c.Validate(); err != nil {
		t.Error(err)
	}
	for what, change := range map[string]func(*IdentifyController){
		"entry sizes": func(c *IdentifyController) { c.SQES = 7 },
		"SGLs":        func(c *IdentifyController) { c.SGLS = 4 },
		"offset 1":    func(c *IdentifyController) { c.ICDOFF = 1 },
		"48 bytes":    func(c *IdentifyController) { c.IOCCSZ = 3 },
	} {
		bad := c
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestIdentifyNamespace(t *testing.T) {
	n := IdentifyNamespace{
		NSZE: 0x100000, NCAP: 0xfffff, NUSE: 3, NSFEAT: 4, NLBAF: 1, FLBAS: 1, MC: 7, DPC: 8, DPS: 0, NMIC: 1, RESCAP: 11, FPI: 12, DLFEAT: 9,
		NOIOB: 0x0102, NPWG: 1, NPWA: 2, NPDG: 3, NPDA: 4, NOWS: 5, ANAGRPID: 1, NSATTR: 1, NVMSETID: 2, ENDGID: 3,
		NGUID: id16, EUI64: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, LBAF: [16]LBAFormat{{LBADS: 9}, {LBADS: 12, RP: 1}, 15: {MS: 8, LBADS: 9, RP: 2}},
	}
	want := vector(t, IdentifySize, "0: 0000100000000000 ffff0f0000000000 0300000000000000 04 01 01 07 08 00 01 0b 0c 09", "46: 0201",
		"64: 0100 0200 0300 0400 0500", "92: 01000000", "99: 01 0200 0300", "104:"+id16Hex+"0102030405060708", "128: 00000900 00000c01", "188: 08000902")
	roundTrip(t, &n, want)
	if n.BlockSize() != 4096 || n.Validate() != nil {
		t.Errorf("blocks of %d: %v", n.BlockSize(), n.Validate())
	}
	for what, change := range map[string]func(*IdentifyNamespace){
		"no capacity": func(n *IdentifyNamespace) { n.NCAP = 0 },
		"2^8":         func(n *IdentifyNamespace) { n.LBAF[1].LBADS = 8 },
		"2^63":        func(n *IdentifyNamespace) { n.LBAF[1].LBADS = 63 },
		"blocks of":   func(n *IdentifyNamespace) { n.NSZE = 1 << 60 },
		"metadata":    func(n *IdentifyNamespace) { n.LBAF[1].MS = 8 },
		"protection":  func(n *IdentifyNamespace) { n.DPS = 1 },
	} {
		bad := n
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func roundTrip(t *testing.T, value codec, want []byte) {
	t.Helper()
	got, err := value.AppendBinary(nil)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d bytes, want %d: %v", len(got), len(want), err)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("byte %d is 0x%02x, want 0x%02x", i, got[i], want[i])
		}
	}
	back := reflect.New(reflect.TypeOf(value).Elem()).Interface().(codec)
	if err := back.UnmarshalBinary(want); err != nil || !reflect.DeepEqual(back, value) {
		t.Errorf("%v, decoded as %+v, want %+v", err, back, value)
	}
	if err := back.UnmarshalBinary(want[1:]); err == nil {
		t.Error("decoded from too few bytes")
	}
}

func TestNSList(t *testing.T) {
	if _, err := make(NSList, MaxNSList+1).AppendBinary(nil); err == nil {
		t.Error("1025 namespaces fit")
	}
	full := make(NSList, MaxNSList)
	for i := range full {
		full[i] = uint32(i + 1)
	}
	raw, _ := full.AppendBinary(nil)
	var back NSList
	if err := back.UnmarshalBinary(raw); err != nil || !reflect.DeepEqual(back, full) {
		t.Errorf("%d namespaces came back: %v", len(back), err)
	}
}

func TestNSDescriptorsRefused(t *testing.T) {
	for _, part := range []string{"0: 02080000", "0: 01100000", "0: 03010000", "0: 04020000", "4092: 03ff"} {
		raw := vector(t, IdentifySize, part)
		if strings.HasPrefix(part, "4092") {
			for i := 0; i < 4092; i += 12 { // unknown ones up to there
				raw[i], raw[i+1] = 0x77, 8
			}
		}
		if err := new(NSDescriptors).UnmarshalBinary(raw); err == nil {
			t.Errorf("%s is accepted", part)
		}
	}
}
