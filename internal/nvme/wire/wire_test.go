package wire

import (
	"encoding"
	"encoding/binary"
	"encoding/hex"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// codec is what every structure is, as a pointer.
type codec interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// vector is n bytes, zero but for parts like "24: 0100 02", each at a decimal
// offset.
func vector(t *testing.T, n int, parts ...string) []byte {
	t.Helper()
	b := make([]byte, n)
	for _, p := range parts {
		at, digits, _ := strings.Cut(p, ":")
		offset, err := strconv.Atoi(at)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := hex.DecodeString(strings.ReplaceAll(digits, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		copy(b[offset:offset+len(raw)], raw)
	}
	return b
}

func ascii(s string, n int) string {
	return hex.EncodeToString([]byte(s + strings.Repeat(" ", n-len(s))))
}

var id16 = [16]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

const id16Hex = "000102030405060708090a0b0c0d0e0f"

func ptr[T any](v T) *T { return &v }

// vectors are structures and the bytes they are, written by hand from the
// offsets of the specifications.
var vectors = []struct {
	name  string
	value codec
	size  int
	parts []string
}{
	{"read", ptr(Command{
		Opcode: OpRead, Flags: FlagsSGL, CID: 0xf123, NSID: 1, MPTR: 0x1122334455667788,
		SGL: SGL{Address: 0x0102030405060708, Length: 0x1000, Type: SGLTransport}, CDW2: 2, CDW3: 3,
		CDW10: 0x10, CDW11: 0x11, CDW12: 0x12, CDW13: 0x13, CDW14: 0x14, CDW15: 0x15,
	}), 64, []string{
		"0: 02 40 23f1 01000000 02000000 03000000", "16: 8877665544332211",
		"24: 0807060504030201 00100000 000000 5a", "40: 10000000 11000000 12000000 13000000 14000000 15000000",
	}},
	{"keyed", ptr(Command{Opcode: OpWrite, SGL: SGL{Address: 0x1000, Length: 0xabcdef, Key: 0x55667788, Type: SGLKeyedInvalidate}}), 64,
		[]string{"0: 01", "24: 0010000000000000 efcdab 88776655 4f"}},
	{"connect", ptr(ConnectCommand{QID: 3, SQSize: 127, Attributes: ConnectNoFlow, KATO: 5000}.Command()), 64,
		[]string{"0: 7f40", "4: 01", "40: 0000 0300 7f00 04 00 88130000"}},
	{"property get CAP", ptr(PropertyCommand{Wide: true, Offset: PropCAP}.Command()), 64,
		[]string{"0: 7f40", "4: 04", "40: 01"}},
	{"property set CC", ptr(PropertyCommand{Set: true, Offset: PropCC, Value: CCEnable | CCIOSQES | CCIOCQES}.Command()), 64,
		[]string{"0: 7f40", "44: 14000000 0100460000000000"}},
	{"identify active", ptr(IdentifyCommand{CNS: CNSActiveNS, NSID: 7, CNTID: 0x1234, CSI: 2}.Command()), 64,
		[]string{"0: 0640", "4: 07", "40: 02003412 00000002"}},
	{"discovery log", ptr(GetLogPageCommand{LID: LogDiscovery, Length: 0x80000 * 4, Offset: 0x100000400, RAE: true, LSP: 1}.Command()), 64,
		[]string{"0: 0240", "40: 7081ffff 07000000 00040000 01000000"}},
	{"number of queues", ptr(FeatureCommand{Set: true, FID: FeatureQueues, Value: QueueCounts{8, 4}.Value(), Save: true}.Command()), 64,
		[]string{"0: 0940", "40: 07000080 07000300"}},
	{"completion", ptr(Completion{Result: 0x8877665544332211, SQHead: 0x0102, SQID: 3, CID: 0xf004, Status: ConnectInvalidParam.WithDNR()}), 16,
		[]string{"0: 1122334455667788 0201 0300 04f0 0483"}},
	{"connect data", ptr(ConnectData{HostID: id16, ControllerID: DynamicController, SubNQN: "nqn.x", HostNQN: "nqn.y"}), 1024,
		[]string{"0:" + id16Hex + "ffff", "256: 6e716e2e78", "512: 6e716e2e79"}},
	{"discovery header", ptr(DiscoveryHeader{GenCtr: 5, NumRec: 2, RecFmt: 1}), 1024, []string{"0: 0500000000000000 0200000000000000 0100"}},
	{"discovery entry", ptr(DiscoveryEntry{
		TrType: TransportTCP, AdrFam: FamilyIPv4, SubType: SubsystemNVM, Treq: TreqNoFlow, PortID: 0x0102, CntlID: 0xffff,
		ASQSize: 32, EFlags: DiscoveryPersistent, SvcID: "4420", SubNQN: "nqn.x", Address: "10.40.1.11", TSAS: [256]byte{2, 255: 9},
	}), 1024, []string{
		"0: 03 01 02 04 0201 ffff 2000 0200", "32:" + ascii("4420", 32), "256: 6e716e2e78", "512:" + ascii("10.40.1.11", 256), "768: 02", "1023: 09",
	}},
	{"namespace list", ptr(NSList{1, 0x01020304}), 4096, []string{"0: 01000000 04030201"}},
	{"descriptors", ptr(NSDescriptors{EUI64: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, NGUID: id16, UUID: id16}), 4096,
		[]string{"0: 01080000 0102030405060708 02100000" + id16Hex + "03100000" + id16Hex + "04010000 00"}},
	{"ANA log", ptr(ANALog{Changes: 5, Groups: []ANAGroup{{ID: 1, Changes: 6, State: ANAOptimized, NSIDs: []uint32{3, 4}}, {ID: 128, State: ANAChanging}}}), 88,
		[]string{"0: 0500000000000000 0200", "16: 01000000 02000000 0600000000000000 01", "48: 03000000 04000000", "56: 80000000", "72: 0f"}},
	{"SMART log", ptr(SmartLog{Warning: 1, Temperature: 0x0203, Spare: 4, SpareLimit: 5, Used: 6, UnitsRead: 7, UnitsWritten: 8, Reads: 9, Writes: 10, PowerOnHours: 11, MediaErrors: 12, ErrorsEntered: 13}), 512,
		[]string{"0: 01 0302 04 05 06", "32: 07", "48: 08", "64: 09", "80: 0a", "128: 0b", "160: 0c", "176: 0d"}},
	{"firmware log", ptr(FirmwareLog{Active: 1, Revision: "1.2"}), 512, []string{"0: 01", "8:" + ascii("1.2", 8)}},
	{"effects log", ptr(EffectsLog{Admin: [256]uint32{6: EffectSupported}, IO: [256]uint32{1: EffectSupported | EffectContent}}), 4096, []string{"24: 01", "1028: 03"}},
	{"supported logs", ptr(SupportedLogs{2: true, 0x70: true}), 1024, []string{"8: 01", "448: 01"}},
	{"range", ptr(DSMRange{Attributes: 4, Blocks: 0x01020304, LBA: 0x1122334455667788}), 16, []string{"0: 04000000 04030201 8877665544332211"}},
	{"dataset management", ptr(DSMCommand{NSID: 1, Ranges: 256, Deallocate: true}.Command()), 64, []string{"0: 0940", "4: 01", "40: ff000000 04"}},
	{"authentication send", ptr(AuthCommand{SPSP: AuthSpecific, Protocol: AuthProtocol, Length: 0x1000}.Command()), 64, []string{"0: 7f40", "4: 05", "40: 00 01 01 e9 00100000"}},
	{"authentication receive", ptr(AuthCommand{Receive: true, SPSP: AuthSpecific, Protocol: AuthProtocol, Length: 16}.Command()), 64, []string{"0: 7f40", "4: 06", "40: 00 01 01 e9 10000000"}},
	{"negotiate", ptr(AuthNegotiate{AuthMessage: AuthMessage{AuthCommon, AuthNegotiateID, 0x0102}, Protocols: 1, AuthID: 1, Hashes: []uint8{1, 2, 3}, Groups: []uint8{0, 1}}), 72,
		[]string{"0: 0000 0000 0201 00 01", "8: 01 00 03 02 010203", "42: 0001"}},
	{"challenge", ptr(AuthChallenge{AuthMessage: AuthMessage{AuthDHCHAP, AuthChallengeID, 7}, Hash: 2, Group: 1, Sequence: 0x01020304, Challenge: []byte{5, 6}, Public: []byte{7, 8, 9}}), 21,
		[]string{"0: 0101 0000 0700 02 00 02 01 0300 04030201 0506 070809"}},
	{"reply", ptr(AuthReply{AuthMessage: AuthMessage{AuthDHCHAP, AuthReplyID, 7}, Challenged: true, Sequence: 0x01020304, Response: []byte{5, 6}, Challenge: []byte{3, 4}, Public: []byte{7, 8, 9}}), 23,
		[]string{"0: 0102 0000 0700 02 00 01 00 0300 04030201 0506 0304 070809"}},
	{"success 1", ptr(AuthSuccess1{AuthMessage: AuthMessage{AuthDHCHAP, AuthSuccess1ID, 7}, HashLength: 2, Response: []byte{5, 6}}), 18, []string{"0: 0103 0000 0700 02 00 01", "16: 0506"}},
	{"success 2", ptr(AuthSuccess2{AuthMessage{AuthDHCHAP, AuthSuccess2ID, 7}}), 16, []string{"0: 0104 0000 0700"}},
	{"failure 1", ptr(AuthFailure{AuthMessage: AuthMessage{AuthCommon, AuthFailure1ID, 7}, Reason: 1, Why: AuthBadMessage}), 8, []string{"0: 00f1 0000 0700 01 07"}},
	{"ICReq", ptr(ICReq{PDUHeader: NewICReq().PDUHeader, PFV: 1, HPDA: 2, Digest: 3, MaxR2T: 4}), 128, []string{"0: 00008000 80000000 0100 02 03 04000000"}},
	{"ICResp", ptr(ICResp{PDUHeader: NewICResp().PDUHeader, PFV: 1, CPDA: 2, Digest: 3, MaxH2CData: 0x20000}), 128, []string{"0: 01008000 80000000 0100 02 03 00000200"}},
	{"CapsuleCmd", ptr(NewCapsuleCmd(&Command{Opcode: OpWrite}, 512)), 72, []string{"0: 04004848 48020000 01"}},
	{"CapsuleCmd without data", ptr(NewCapsuleCmd(&Command{Opcode: OpFlush, CID: 9}, 0)), 72, []string{"0: 04004800 48000000 0000 0900"}},
	{"CapsuleResp", ptr(NewCapsuleResp(Completion{CID: 9})), 24, []string{"0: 05001800 18000000", "20: 0900"}},
	{"H2CData", ptr(DataPDU{PDUHeader{PDUH2CData, PDULast, 24, 24, 24 + 4096}, 7, 8, 0x1000, 0x1000}), 24, []string{"0: 06041818 18100000 0700 0800 00100000 00100000"}},
	{"C2HData", ptr(NewDataPDU(PDUC2HData, 7, 512, 4096)), 24, []string{"0: 07001818 18100000 0700 0000 00020000 00100000"}},
	{"R2T", ptr(NewR2T(7, 8, 512, 4096)), 24, []string{"0: 09001800 18000000 0700 0800 00020000 00100000"}},
	{"C2HTermReq", ptr(NewTermReq(PDUC2HTermReq, FatalHeaderField, 0x01020304, 72)), 24, []string{"0: 03001800 60000000 0100 04030201"}},
}

func TestVectors(t *testing.T) {
	for _, c := range vectors {
		t.Run(c.name, func(t *testing.T) {
			want := vector(t, c.size, c.parts...)
			got, err := c.value.AppendBinary([]byte("before"))
			if err != nil || string(got) != "before"+string(want) {
				t.Errorf("%v, encoded as\n%s, want\n%s", err, hex.Dump(got[6:]), hex.Dump(want))
			}
			back := reflect.New(reflect.TypeOf(c.value).Elem()).Interface().(codec)
			if err := back.UnmarshalBinary(append(want, 0xff)); err != nil || !reflect.DeepEqual(back, c.value) {
				t.Errorf("%v, decoded as %+v, want %+v", err, back, c.value)
			}
			if err := back.UnmarshalBinary(want[:c.size-1]); err == nil {
				t.Error("decoded from too few bytes")
			}
		})
	}
}

func TestViews(t *testing.T) {
	if v := (ConnectCommand{RecordFormat: 1, QID: 2, SQSize: 3, Attributes: 4, KATO: 5}); ptr(v.Command()).Connect() != v || !v.NoFlow() {
		t.Errorf("connect is %+v", ptr(v.Command()).Connect())
	}
	for _, v := range []PropertyCommand{{Offset: PropCSTS}, {Wide: true}, {Set: true, Wide: true, Offset: 20, Value: 1<<63 | 1}} {
		if ptr(v.Command()).Property() != v {
			t.Errorf("%+v is %+v", v, ptr(v.Command()).Property())
		}
	}
	for _, v := range []IdentifyCommand{{}, {NSID: NSIDAll, CNS: 3, CNTID: 0xffff, CSI: 255}} {
		if ptr(v.Command()).Identify() != v {
			t.Errorf("%+v is %+v", v, ptr(v.Command()).Identify())
		}
	}
	for _, v := range []GetLogPageCommand{{Length: 4}, {NSID: 1, LID: 2, LSP: 127, RAE: true, Length: 1 << 34, LSI: 3, Offset: 1<<63 | 4, Index: true, CSI: 5}} {
		if ptr(v.Command()).GetLogPage() != v {
			t.Errorf("%+v is %+v", v, ptr(v.Command()).GetLogPage())
		}
	}
	for _, v := range []FeatureCommand{{FID: 7, Sel: 3}, {Set: true, FID: 0x0f, Save: true, Value: 1 << 31, NSID: 1}} {
		if ptr(v.Command()).Feature() != v {
			t.Errorf("%+v is %+v", v, ptr(v.Command()).Feature())
		}
	}
	if q := (QueueCounts{1, 65536}); QueueCountsOf(q.Value()) != q {
		t.Errorf("%+v is %+v", q, QueueCountsOf(q.Value()))
	}
	var c Command
	c.CDW12 = 1 << 30
	if c.SetBlocks(1<<40|5, 65536); !c.FUA() {
		t.Error("the number of blocks has changed FUA")
	}
	if lba, n := c.Blocks(); lba != 1<<40|5 || n != 65536 {
		t.Errorf("%d blocks from %d", n, lba)
	}
}

func TestCAP(t *testing.T) {
	// As nvmet has it: 128 entries, 7.5 s, the NVM command set and others.
	v := CAP{MQES: 127, CQR: true, TO: 15, CSS: 1 | 1<<6}
	if got := v.Value(); got != 0x00000820_0f01007f {
		t.Errorf("0x%016x", got)
	}
	if CAPOf(v.Value()) != v {
		t.Errorf("%+v", CAPOf(v.Value()))
	}
	if all := (CAP{MPSMIN: 15, MPSMAX: 15, CSS: 255}); CAPOf(all.Value()) != all {
		t.Errorf("%+v", CAPOf(all.Value()))
	}
}

func TestDirection(t *testing.T) {
	for want, cmds := range map[Direction][]Command{
		NoData:       {{Opcode: OpFlush}, {Opcode: OpKeepAlive}, {Opcode: OpAsyncEvent}, PropertyCommand{}.Command(), PropertyCommand{Set: true}.Command()},
		ToController: {{Opcode: OpWrite}, {Opcode: OpCompare}, {Opcode: OpDSM}, {Opcode: OpSetFeatures}, ConnectCommand{}.Command()},
		ToHost:       {{Opcode: OpRead}, {Opcode: OpIdentify}, {Opcode: OpGetLogPage}, {Opcode: OpFabrics, NSID: FabricsAuthReceive}},
	} {
		for _, c := range cmds {
			if c.Direction() != want {
				t.Errorf("opcode 0x%02x type %d: %d, want %d", c.Opcode, c.FabricsType(), c.Direction(), want)
			}
		}
	}
}

func TestHotPathDoesNotAllocate(t *testing.T) {
	b := make([]byte, 0, 256)
	var cmd CapsuleCmd
	var resp CapsuleResp
	var data DataPDU
	if n := testing.AllocsPerRun(100, func() {
		cmd = NewCapsuleCmd(&cmd.Command, 0)
		raw, _ := cmd.AppendBinary(b[:0])
		_ = cmd.UnmarshalBinary(raw)
		resp = NewCapsuleResp(resp.Completion)
		raw, _ = resp.AppendBinary(b[:0])
		_ = resp.UnmarshalBinary(raw)
		data = NewDataPDU(PDUC2HData, 1, 0, 4096)
		raw, _ = data.AppendBinary(b[:0])
		_ = data.UnmarshalBinary(raw)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestTags demands a place for every field of a tagged structure, after the one
// before it.
func TestTags(t *testing.T) {
	for _, s := range []any{
		IdentifyController{}, IdentifyNamespace{}, SmartLog{}, FirmwareLog{}, EffectsLog{}, DiscoveryHeader{}, DiscoveryEntry{},
		ConnectData{}, RDMARequest{}, RDMAAccept{}, RDMAReject{}, ICReq{}, ICResp{}, TermReq{},
	} {
		end := 0
		for f := range reflect.TypeOf(s).Fields() {
			at, length, _ := place(f)
			if f.Type.Kind() != reflect.String {
				length = binary.Size(reflect.Zero(f.Type).Interface())
			}
			if f.Tag.Get("at") == "" || length <= 0 || at < end {
				t.Errorf("%T.%s stands at %d, %d bytes long, after %d", s, f.Name, at, length, end)
			}
			end = at + length
		}
	}
}
