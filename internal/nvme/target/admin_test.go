package target

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

func TestIdentifyController(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		q, id := r.admin(subNQN, hostNQN, 0)
		page := make([]byte, wire.IdentifySize)
		r.want(wire.Success, q, wire.IdentifyCommand{CNS: wire.CNSController}.Command(), page)
		var c wire.IdentifyController
		if err := c.UnmarshalBinary(page); err != nil {
			t.Fatal(err)
		}
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		// What the Linux host insists on.
		if c.CNTLID != id || c.SubNQN != subNQN || c.KAS == 0 || c.MAXCMD == 0 || c.IOCCSZ < 4 || c.IORCSZ < 1 || c.CMIC&2 == 0 || c.NN != maxNamespaces || c.MNAN == 0 || c.MNAN > c.NN {
			t.Errorf("%+v", c)
		}
		if c.MN != "weft" || c.SN != "WEFT01" || c.FR != "1.0" || c.MaxTransfer() != MaxTransfer || c.InCapsule() != InCapsule || c.VWC&1 == 0 || c.ONCS != 0x0d {
			t.Errorf("%+v", c)
		}
	})
}

func TestIdentifyNamespaces(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		q, _ := r.admin(subNQN, hostNQN, 0)
		page := make([]byte, wire.IdentifySize)
		get := func(want wire.Status, cns uint8, nsid uint32, csi uint8) {
			t.Helper()
			clear(page)
			r.want(want, q, wire.IdentifyCommand{CNS: cns, NSID: nsid, CSI: csi}.Command(), page)
		}
		noNS, invalid := wire.InvalidNamespace.WithDNR(), wire.InvalidField.WithDNR()

		for after, want := range map[uint32]int{0: 2, 1: 1, 2: 1, 3: 0} {
			get(wire.Success, wire.CNSActiveNS, after, 0)
			var list wire.NSList
			if err := list.UnmarshalBinary(page); err != nil || len(list) != want {
				t.Errorf("after %d: %v %v", after, list, err)
			}
		}
		get(noNS, wire.CNSActiveNS, wire.NSIDAll, 0)

		for nsid, shape := range map[uint32][2]int{1: {2048, 512}, 3: {256, 4096}} {
			get(wire.Success, wire.CNSNamespace, nsid, 0)
			var n wire.IdentifyNamespace
			if err := n.UnmarshalBinary(page); err != nil || n.Validate() != nil || int(n.NSZE) != shape[0] || n.BlockSize() != shape[1] || n.NMIC != 1 {
				t.Errorf("namespace %d: %+v %v", nsid, n, err)
			}
			get(wire.Success, wire.CNSNSDescriptors, nsid, 0)
			var d wire.NSDescriptors
			if err := d.UnmarshalBinary(page); err != nil || d.UUID != [16]byte{byte(nsid)} {
				t.Errorf("namespace %d: %+v %v", nsid, d, err)
			}
			get(wire.Success, wire.CNSNSIndependent, nsid, 0)
			if page[1] != 1 || page[14] != 1 {
				t.Errorf("namespace %d is not shared and ready: % x", nsid, page[:16])
			}
			get(wire.Success, wire.CNSIOCommandSet, nsid, 0)
			get(invalid, wire.CNSIOCommandSet, nsid, 2)
		}
		get(wire.Success, wire.CNSNamespace, 2, 0) // could be, is not: blank
		if strings.Trim(string(page), "\x00") != "" {
			t.Error("namespace 2 is not blank")
		}
		get(noNS, wire.CNSNSDescriptors, 2, 0)
		for _, nsid := range []uint32{0, maxNamespaces + 1, wire.NSIDAll} {
			get(noNS, wire.CNSNamespace, nsid, 0)
		}
		get(wire.Success, wire.CNSCtrlIO, 0, 0)
		if limits := page[:16]; !bytes.Equal(limits, []byte{3: 255, 6: 0x20, 10: 0x80, 15: 0}) {
			t.Errorf("limits % x: DMRL, DMRSL and DMSL are others", limits)
		}
		get(invalid, wire.CNSCtrlIO, 0, 1)
		get(invalid, 0x42, 0, 0)
		r.want(wire.SGLInvalidLength.WithDNR(), q, wire.IdentifyCommand{CNS: wire.CNSController}.Command(), page[:512])
	})
}

func TestFeatures(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		q, _ := r.admin(subNQN, hostNQN, 0)
		set := func(want wire.Status, fid uint8, v uint32) uint64 {
			t.Helper()
			return r.want(want, q, wire.FeatureCommand{Set: true, FID: fid, Value: v}.Command(), nil)
		}
		get := func(want wire.Status, fid uint8) uint64 {
			t.Helper()
			return r.want(want, q, wire.FeatureCommand{FID: fid}.Command(), nil)
		}
		invalid := wire.InvalidField.WithDNR()
		for ask, want := range map[wire.QueueCounts]int{{Submission: 4, Completion: 4}: 4, {Submission: 1, Completion: 9}: 1, {Submission: 60000, Completion: 60000}: maxQueues} {
			got := wire.QueueCountsOf(uint32(set(wire.Success, wire.FeatureQueues, ask.Value())))
			if got.Submission != want || got.Completion != want {
				t.Errorf("asked for %+v queues, got %+v", ask, got)
			}
		}
		set(invalid, wire.FeatureQueues, 0xffffffff)
		set(wire.Success, wire.FeatureKeepAlive, 120001)
		if ms := get(wire.Success, wire.FeatureKeepAlive); ms != 121000 {
			t.Errorf("keep-alive timeout of %d ms", ms)
		}
		set(wire.Success, wire.FeatureAsyncEvents, 1<<8)
		if v := get(wire.Success, wire.FeatureAsyncEvents); v != 1<<8 {
			t.Errorf("events %#x", v)
		}
		if get(wire.Success, wire.FeatureWriteCache) != 1 {
			t.Error("no write cache, and yet a flush is needed")
		}
		set(wire.FeatureNotChangeable.WithDNR(), wire.FeatureWriteCache, 0)
		set(wire.Success, wire.FeatureAsyncEvents, 1<<31|0x7fff&^0xc0)
		for _, bit := range []uint32{1 << 6, 1 << 7, 1 << 15, 1 << 26, 1 << 30} {
			set(invalid, wire.FeatureAsyncEvents, bit|1<<8)
		}
		// What an I/O controller must have.
		for fid, want := range map[uint8]uint64{
			wire.FeatureArbitration: 7, wire.FeaturePower: 0, wire.FeatureTemperature: 0xffff, wire.FeatureErrorRecov: 0, wire.FeatureAtomicity: 0,
		} {
			if v := get(wire.Success, fid); v != want {
				t.Errorf("feature %#x is %#x, want %#x", fid, v, want)
			}
			set(wire.FeatureNotChangeable.WithDNR(), fid, 1)
			for sel, want := range map[uint8]uint64{selectDefault: want, selectSupported: 0} {
				if v := r.want(wire.Success, q, wire.FeatureCommand{FID: fid, Sel: sel}.Command(), nil); v != want {
					t.Errorf("select %d of feature %#x is %#x, want %#x", sel, fid, v, want)
				}
			}
		}
		const underThreshold, otherSensor = 1 << 20, 1 << 16
		if v := r.want(wire.Success, q, wire.FeatureCommand{FID: wire.FeatureTemperature, Value: underThreshold}.Command(), nil); v != 0 {
			t.Errorf("under temperature %#x", v)
		}
		r.want(invalid, q, wire.FeatureCommand{FID: wire.FeatureTemperature, Value: otherSensor}.Command(), nil)
		for _, fid := range []uint8{0x03, 0x08, 0x09, 0x0c} {
			get(invalid, fid)
		}
		set(wire.CommandSequence.WithDNR(), wire.FeatureHostID, 1)
		r.want(wire.FeatureNotSaveable.WithDNR(), q, wire.FeatureCommand{Set: true, FID: wire.FeatureAsyncEvents, Save: true}.Command(), nil)
		for sel, want := range map[uint8]uint64{1: 0, 3: 4} {
			if got := r.want(wire.Success, q, wire.FeatureCommand{FID: wire.FeatureKeepAlive, Sel: sel}.Command(), nil); got != want {
				t.Errorf("select %d of keep-alive is %d, want %d", sel, got, want)
			}
		}
		r.want(invalid, q, wire.FeatureCommand{FID: wire.FeatureKeepAlive, Sel: 2}.Command(), nil)
		r.want(wire.FeatureNotNSSpecific.WithDNR(), q, wire.FeatureCommand{Set: true, FID: wire.FeatureAsyncEvents, NSID: 1}.Command(), nil)
		id := make([]byte, 16)
		r.want(wire.Success, q, wire.FeatureCommand{FID: wire.FeatureHostID, Value: 1}.Command(), id)
		if id[0] != 42 {
			t.Errorf("host id % x", id)
		}
		r.want(invalid, q, wire.FeatureCommand{FID: wire.FeatureHostID}.Command(), id)
	})
}

// A number of queues is asked for before there is one.
func TestNumberOfQueuesComesFirst(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		admin, id := r.admin(subNQN, hostNQN, 0)
		ask := func(want wire.Status) {
			t.Helper()
			r.want(want, admin, wire.FeatureCommand{Set: true, FID: wire.FeatureQueues, Value: wire.QueueCounts{Submission: 2, Completion: 2}.Value()}.Command(), nil)
		}
		ask(wire.Success)
		ask(wire.Success)
		io := r.io(subNQN, hostNQN, id, 1)
		ask(wire.CommandSequence.WithDNR())
		if err := io.Close(); err != nil {
			t.Fatal(err)
		}
		ask(wire.CommandSequence.WithDNR()) // one was there
		r.want(wire.Success, admin, setCC(0), nil)
		r.want(wire.Success, admin, setCC(wire.CCEnable|wire.CCIOSQES|wire.CCIOCQES), nil)
		ask(wire.Success)
	})
}

func TestOtherAdminCommands(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		q, _ := r.admin(subNQN, hostNQN, 0)
		r.want(wire.Success, q, wire.Command{Opcode: wire.OpKeepAlive}, nil)
		if r.want(wire.Success, q, wire.Command{Opcode: wire.OpAbort}, nil) != 1 {
			t.Error("a command was aborted")
		}
		for _, op := range []uint8{wire.OpNSManagement, wire.OpNSAttachment, wire.OpFirmwareCommit, 0x80, 0xc0} {
			r.want(wire.InvalidOpcode.WithDNR(), q, wire.Command{Opcode: op}, nil)
		}
		for _, lid := range []uint8{wire.LogDiscovery, 0x06, 0xca} {
			r.want(wire.InvalidLogPage.WithDNR(), q, wire.GetLogPageCommand{LID: lid, Length: 512}.Command(), make([]byte, 512))
		}
		r.want(wire.SGLInvalidLength.WithDNR(), q, wire.GetLogPageCommand{LID: wire.LogSmart, Length: 512}.Command(), make([]byte, 256))
		for _, kind := range []uint32{wire.FabricsAuthSend, wire.FabricsDisconnect, 0x42} {
			r.want(wire.InvalidOpcode.WithDNR(), q, wire.Command{Opcode: wire.OpFabrics, NSID: kind}, nil)
		}
	})
}

func TestEventRequestsAreHeld(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		q, _ := r.admin(subNQN, hostNQN, 0)
		for tag := range uint16(maxAERs + 1) {
			cmd := wire.Command{Opcode: wire.OpAsyncEvent}
			if err := q.Submit(tag, &cmd, fabric.Buffer{}); err != nil {
				t.Fatal(err)
			}
		}
		var done [8]wire.Completion
		n, err := q.Wait(done[:])
		if err != nil || n != 1 || done[0].CID != maxAERs || done[0].Status != wire.AERLimitExceeded.WithDNR() {
			t.Errorf("%d completions, the first %+v (%v)", n, done[0], err)
		}
	})
}

// log reads the whole discovery log, in parts of a given size.
func (r *rig) log(host string, part int) (head wire.DiscoveryHeader, entries []wire.DiscoveryEntry) {
	r.Helper()
	q, _ := r.admin(wire.DiscoveryNQN, host, 0)
	var page []byte
	for want := 1024; len(page) < want; {
		b := make([]byte, part)
		r.want(wire.Success, q, wire.GetLogPageCommand{LID: wire.LogDiscovery, Length: uint64(part), Offset: uint64(len(page))}.Command(), b)
		page = append(page, b...)
		if err := head.UnmarshalBinary(append(page, make([]byte, 1024)...)); err != nil {
			r.Fatal(err)
		}
		want = 1024 + 1024*int(head.NumRec)
	}
	for i := range int(head.NumRec) {
		var e wire.DiscoveryEntry
		if err := e.UnmarshalBinary(page[1024+1024*i:]); err != nil {
			r.Fatal(err)
		}
		entries = append(entries, e)
	}
	return head, entries
}

func TestDiscovery(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		for _, part := range []int{512, 1024, 4096, 16384} {
			head, entries := r.log(hostNQN, part)
			if head.GenCtr != 7 || head.Validate() != nil || len(entries) != 3 {
				t.Fatalf("%+v %+v", head, entries)
			}
			if e := entries[0]; e.SubType != wire.SubsystemDiscovery || e.SubNQN != wire.DiscoveryNQN || e.Address != "127.0.0.1" || e.EFlags&wire.DiscoveryPersistent == 0 {
				t.Errorf("first %+v", e)
			}
			for i, want := range []struct {
				family uint8
				addr   string
			}{{wire.FamilyIPv4, "10.40.1.11"}, {wire.FamilyIPv6, "fd00::11"}} {
				e := entries[1+i]
				if e.SubType != wire.SubsystemNVM || e.SubNQN != subNQN || e.TrType != wire.TransportTCP || e.AdrFam != want.family || e.Address != want.addr || e.SvcID != "4420" || e.CntlID != wire.DynamicController || e.ASQSize < 32 || e.PortID != uint16(i+1) {
					t.Errorf("entry %d: %+v", i, e)
				}
			}
		}
		if _, entries := r.log(stranger, 4096); len(entries) != 1 {
			t.Errorf("a stranger sees %+v", entries)
		}
	})
}

func TestDiscoveryControllerHasNothingElse(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		q, id := r.admin(wire.DiscoveryNQN, stranger, 0)
		page := make([]byte, 4096)
		r.want(wire.Success, q, wire.IdentifyCommand{CNS: wire.CNSController}.Command(), page)
		var c wire.IdentifyController
		if err := c.UnmarshalBinary(page); err != nil || c.CntrlType != wire.ControllerDiscovery || c.CNTLID != id || c.SubNQN != wire.DiscoveryNQN {
			t.Errorf("%+v %v", c, err)
		}
		invalid := wire.InvalidField.WithDNR()
		for _, cns := range []uint8{wire.CNSActiveNS, wire.CNSNamespace, wire.CNSCtrlIO} {
			r.want(invalid, q, wire.IdentifyCommand{CNS: cns, NSID: 1}.Command(), page)
		}
		log := func(want wire.Status, offset uint64, n int) {
			t.Helper()
			r.want(want, q, wire.GetLogPageCommand{LID: wire.LogDiscovery, Offset: offset, Length: uint64(n)}.Command(), page[:n])
		}
		log(wire.Success, 2048, 4096) // the end, then zeroes
		log(invalid, 2052, 1024)      // beyond the end
		log(invalid, ^uint64(3), 1024)
		log(invalid, 2, 1024)
		r.want(wire.InvalidField.WithDNR(), q, wire.GetLogPageCommand{LID: wire.LogDiscovery, Length: 1 << 20}.Command(), page)
		if ms := r.want(wire.Success, q, wire.FeatureCommand{FID: wire.FeatureKeepAlive}.Command(), nil); ms != 120000 {
			t.Errorf("keep-alive timeout of %d ms", ms)
		}
		for _, fid := range []uint8{wire.FeatureArbitration, wire.FeatureTemperature, wire.FeatureErrorRecov, wire.FeatureWriteCache} {
			r.want(invalid, q, wire.FeatureCommand{FID: fid}.Command(), nil)
			r.want(invalid, q, wire.FeatureCommand{Set: true, FID: fid}.Command(), nil)
		}
	})
}

// A namespace that has an NGUID shows it in both places, and another one is another
// namespace.
func TestNGUID(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		admin, _ := r.both()
		names := func() (id wire.IdentifyNamespace, d wire.NSDescriptors) {
			t.Helper()
			page := make([]byte, wire.IdentifySize)
			r.want(wire.Success, admin, wire.IdentifyCommand{CNS: wire.CNSNamespace, NSID: 1}.Command(), page)
			err := id.UnmarshalBinary(page)
			r.want(wire.Success, admin, wire.IdentifyCommand{CNS: wire.CNSNSDescriptors, NSID: 1}.Command(), page)
			if err = errors.Join(err, d.UnmarshalBinary(page)); err != nil || d.UUID != [16]byte{1} {
				t.Fatalf("%+v, %v", d, err)
			}
			return id, d
		}
		if id, d := names(); id.NGUID != [16]byte{} || d.NGUID != [16]byte{} {
			t.Errorf("%x, %x: nobody gave it one", id.NGUID, d.NGUID)
		}
		r.listen(admin, wire.NoticeNamespaces)
		c := r.another()
		c.Subsystems[0].Namespaces[0].NGUID = [16]byte{7}
		r.reload(c)
		r.event(admin, wire.EventNamespaces)
		if id, d := names(); id.NGUID != [16]byte{7} || d.NGUID != [16]byte{7} {
			t.Errorf("%x, %x", id.NGUID, d.NGUID)
		}
	})
}
