package target

import (
	"slices"
	"testing"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// page reads a log page of n bytes from an offset.
func (r *rig) page(want wire.Status, q fabric.Queue, log wire.GetLogPageCommand, n int) []byte {
	r.Helper()
	b := make([]byte, n)
	log.Length = uint64(n)
	r.want(want, q, log.Command(), b)
	return b
}

func TestLogPages(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		admin, io := r.both()
		r.want(wire.Success, io, blocks(wire.OpWrite, 1, 0, 3), make([]byte, 3*512))
		r.want(wire.Success, io, blocks(wire.OpRead, 3, 0, 1), make([]byte, 4096))

		var supported wire.SupportedLogs
		if err := supported.UnmarshalBinary(r.page(wire.Success, admin, wire.GetLogPageCommand{LID: wire.LogSupported}, wire.SupportedLogsSize)); err != nil {
			t.Fatal(err)
		}
		for lid, there := range supported {
			want := wire.Success
			if !there {
				want = wire.InvalidLogPage.WithDNR()
			}
			r.page(want, admin, wire.GetLogPageCommand{LID: uint8(lid)}, 16)
		}
		for nsid, want := range map[uint32][4]uint64{0: {1, 1, 1, 1}, wire.NSIDAll: {1, 1, 1, 1}, 1: {0, 1, 0, 1}, 3: {1, 0, 1, 0}} {
			var s wire.SmartLog
			if err := s.UnmarshalBinary(r.page(wire.Success, admin, wire.GetLogPageCommand{LID: wire.LogSmart, NSID: nsid}, wire.SmartLogSize)); err != nil {
				t.Fatal(err)
			}
			if got := [4]uint64{s.Reads, s.Writes, s.UnitsRead, s.UnitsWritten}; got != want || s.Warning != 0 {
				t.Errorf("health of namespace %#x: %+v, want %d", nsid, s, want)
			}
		}
		r.page(wire.InvalidNamespace.WithDNR(), admin, wire.GetLogPageCommand{LID: wire.LogSmart, NSID: 2}, 512)
		var f wire.FirmwareLog
		if err := f.UnmarshalBinary(r.page(wire.Success, admin, wire.GetLogPageCommand{LID: wire.LogFirmware}, wire.FirmwareLogSize)); err != nil || f.Revision != "1.0" {
			t.Errorf("%+v %v", f, err)
		}
		checkEffects(t, r, admin, io)
		checkOffsets(t, r, admin)
	})
}

// checkEffects compares the effects log with what the target really answers.
func checkEffects(t *testing.T, r *rig, admin, io fabric.Queue) {
	t.Helper()
	var e wire.EffectsLog
	if err := e.UnmarshalBinary(r.page(wire.Success, admin, wire.GetLogPageCommand{LID: wire.LogEffects}, wire.EffectsLogSize)); err != nil {
		t.Fatal(err)
	}
	r.page(wire.InvalidField.WithDNR(), admin, wire.GetLogPageCommand{LID: wire.LogEffects, CSI: 2}, 4096)
	for op := range 256 {
		for q, effect := range map[fabric.Queue]uint32{admin: e.Admin[op], io: e.IO[op]} {
			if op == wire.OpFabrics || q == admin && op == wire.OpAsyncEvent {
				continue
			}
			cmd := wire.Command{Opcode: uint8(op), NSID: 77}
			unknown := r.do(q, cmd, nil).Status == wire.InvalidOpcode.WithDNR()
			if unknown == (effect&wire.EffectSupported != 0) {
				t.Errorf("opcode %#x: effects %#x, unknown is %v", op, effect, unknown)
			}
		}
	}
}

func checkOffsets(t *testing.T, r *rig, admin fabric.Queue) {
	t.Helper()
	for lid, size := range map[uint8]int{wire.LogSmart: 512, wire.LogEffects: 4096, wire.LogError: 64, wire.LogANA: 16 + 32 + 8, wire.LogChangedNS: 4096} {
		log := wire.GetLogPageCommand{LID: lid, RAE: true}
		all := r.page(wire.Success, admin, log, size)
		log.Offset = 16
		if part := r.page(wire.Success, admin, log, size); !slices.Equal(part[:size-16], all[16:]) || slices.Max(part[size-16:]) != 0 {
			t.Errorf("page %#x from 16 on differs", lid)
		}
		for _, offset := range []uint64{uint64(size) + 4, 1 << 40, ^uint64(3)} {
			log.Offset = offset
			r.page(wire.InvalidField.WithDNR(), admin, log, 16)
		}
		log.Offset = 2
		r.page(wire.InvalidField.WithDNR(), admin, log, 16)
		log.Offset, log.Index = 0, true
		r.page(wire.InvalidField.WithDNR(), admin, log, 16)
	}
}

// ana reads the asymmetric access log.
func (r *rig) ana(q fabric.Queue, lsp uint8) (l wire.ANALog) {
	r.Helper()
	if err := l.UnmarshalBinary(r.page(wire.Success, q, wire.GetLogPageCommand{LID: wire.LogANA, LSP: lsp}, 4096)); err != nil {
		r.Fatal(err)
	}
	return l
}

func TestAsymmetricAccess(t *testing.T) {
	fabrics(t, func(t *testing.T, r *rig) {
		conf := r.target.conf
		conf.Subsystems = slices.Clone(conf.Subsystems)
		ns := slices.Clone(conf.Subsystems[0].Namespaces)
		ns[1].Group = 128
		conf.Subsystems[0].Namespaces = ns
		admin, io := r.both()
		data := make([]byte, 4096)
		for _, c := range []struct {
			state wire.ANAState
			want  wire.Status
		}{
			{wire.ANAOptimized, wire.Success},
			{wire.ANANonOptimized, wire.Success},
			{wire.ANAUnreachable, wire.ANAInaccessible},
			{wire.ANALost, wire.ANAPersistentLoss},
			{wire.ANAChanging, wire.ANATransition},
			{wire.ANAOptimized, wire.Success},
		} {
			conf.Access = []Access{{Portal: r.portal.Addr(), Group: 128, State: c.state}, {Portal: "10.9.9.9:1", Group: 1, State: wire.ANALost}}
			if err := r.target.Reload(conf); err != nil {
				t.Fatal(err)
			}
			l := r.ana(admin, 0)
			if len(l.Groups) != 2 || l.Groups[0].ID != 1 || l.Groups[0].State != wire.ANAOptimized || l.Groups[1].ID != 128 || l.Groups[1].State != c.state || !slices.Equal(l.Groups[1].NSIDs, []uint32{3}) {
				t.Errorf("%+v", l)
			}
			if short := r.ana(admin, 1); len(short.Groups) != 2 || short.Groups[0].NSIDs != nil {
				t.Errorf("groups only: %+v", short)
			}
			r.want(c.want, io, blocks(wire.OpRead, 3, 0, 1), data)
			r.want(c.want, io, wire.Command{Opcode: wire.OpFlush, NSID: 3}, nil)
			r.want(wire.Success, io, blocks(wire.OpRead, 1, 0, 1), data[:512])
		}
		if l := r.ana(admin, 0); l.Changes != 5 || l.Groups[1].Changes != 5 || l.Groups[0].Changes != 0 {
			t.Errorf("after five changes: %+v", l)
		}
	})
}
