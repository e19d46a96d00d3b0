package target

import (
	"encoding"
	"time"

	"weft/internal/nvme/fabric"
	"weft/internal/nvme/wire"
)

// getLogPage performs Get Log Page.
func (c *controller) getLogPage(x *fabric.Exchange) {
	log := x.Command.GetLogPage()
	page, st := c.logPage(log)
	switch {
	case st != wire.Success:
		x.Complete(0, st)
		return
	case log.Index || log.Offset%4 != 0 || log.Offset > uint64(len(page)):
		x.Complete(0, wire.InvalidField.WithDNR())
		return
	}
	part := make([]byte, log.Length) // zeroes beyond the end of the log
	copy(part, page[log.Offset:])
	reply(x, part)
}

// logPage is a whole log page. Reading one ends the events about it, unless
// the host retains them.
func (c *controller) logPage(log wire.GetLogPageCommand) ([]byte, wire.Status) {
	var content encoding.BinaryAppender
	var err error
	var page []byte
	switch {
	case c.sub == nil && log.LID == wire.LogDiscovery:
		if !log.RAE {
			c.heard(wire.EventDiscovery)
		}
		page, err = c.t.discoveryLog(c.host.HostNQN, c.here())
	case c.sub == nil:
		return nil, wire.InvalidLogPage.WithDNR()
	case log.LID == wire.LogError:
		page = make([]byte, errorLogSize) // no error has an entry
	default:
		var st wire.Status
		if content, st = c.content(log); st != wire.Success {
			return nil, st
		}
		page, err = content.AppendBinary(nil)
	}
	if err != nil {
		c.t.log.Error("log page", "page", log.LID, "error", err)
		return nil, wire.InternalError.WithDNR()
	}
	return page, wire.Success
}

// errorLogSize is that of an error log with one entry.
const errorLogSize = 64

// content is what the log pages of a controller that does I/O hold.
func (c *controller) content(log wire.GetLogPageCommand) (encoding.BinaryAppender, wire.Status) {
	l := c.sub.now.Load()
	switch log.LID {
	case wire.LogSupported:
		return &wire.SupportedLogs{
			wire.LogSupported: true, wire.LogError: true, wire.LogSmart: true, wire.LogFirmware: true,
			wire.LogChangedNS: true, wire.LogEffects: true, wire.LogANA: true,
		}, wire.Success
	case wire.LogSmart:
		return c.smart(l, log.NSID)
	case wire.LogFirmware:
		return &wire.FirmwareLog{Active: 1, Revision: c.t.firmware()}, wire.Success
	case wire.LogChangedNS:
		if !log.RAE {
			c.heard(wire.EventNamespaces)
		}
		return c.takeChanged(log.RAE), wire.Success
	case wire.LogEffects:
		if log.CSI != 0 {
			return nil, wire.InvalidField.WithDNR()
		}
		return effects(), wire.Success
	case wire.LogANA:
		if !log.RAE {
			c.heard(wire.EventANA)
		}
		return l.anaLog(c.portal, log.LSP&1 != 0), wire.Success
	}
	return nil, wire.InvalidLogPage.WithDNR()
}

// smart is the health of one namespace, or of all.
func (c *controller) smart(l *layout, nsid uint32) (encoding.BinaryAppender, wire.Status) {
	of := l.ids
	if nsid != 0 && nsid != wire.NSIDAll {
		if l.namespaces[nsid] == nil {
			return nil, wire.InvalidNamespace.WithDNR()
		}
		of = []uint32{nsid}
	}
	var sum NamespaceStat
	for _, id := range of {
		n := l.namespaces[id].count.stat(id)
		sum.Reads += n.Reads
		sum.Writes += n.Writes
		sum.BytesRead += n.BytesRead
		sum.BytesWritten += n.BytesWritten
		sum.Errors += n.Errors
	}
	const unit = 512 * 1000
	return &wire.SmartLog{
		Spare: 100, SpareLimit: 1,
		UnitsRead: (sum.BytesRead + unit - 1) / unit, UnitsWritten: (sum.BytesWritten + unit - 1) / unit,
		Reads: sum.Reads, Writes: sum.Writes, MediaErrors: sum.Errors,
		PowerOnHours: uint64(time.Since(c.t.started) / time.Hour),
	}, wire.Success
}

// effects says which commands there are and which change blocks.
func effects() *wire.EffectsLog {
	var e wire.EffectsLog
	for _, op := range []uint8{wire.OpGetLogPage, wire.OpIdentify, wire.OpAbort, wire.OpSetFeatures, wire.OpGetFeatures, wire.OpAsyncEvent, wire.OpKeepAlive} {
		e.Admin[op] = wire.EffectSupported
	}
	for _, op := range []uint8{wire.OpFlush, wire.OpRead, wire.OpCompare} {
		e.IO[op] = wire.EffectSupported
	}
	for _, op := range []uint8{wire.OpWrite, wire.OpWriteZeroes, wire.OpDSM} {
		e.IO[op] = wire.EffectSupported | wire.EffectContent
	}
	return &e
}
