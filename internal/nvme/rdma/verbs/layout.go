package verbs

import (
	"encoding/binary"
	"net/netip"
)

// Layouts of the structures that libibverbs and librdmacm share with their
// callers, on 64-bit machines: part of their binary interface, the same since
// version 1.1 of each. Names are those of verbs.h and rdma_cma.h; check.go holds
// a device to them.
const (
	deviceName    = 24 // ibv_device.name, 64 bytes
	deviceTransp  = 20 // ibv_device.transport_type
	deviceNameLen = 64

	contextDevice  = 0 // ibv_context
	contextOps     = 8
	contextCmdFD   = 264
	contextAsyncFD = 268
	contextVectors = 272
	contextABI     = 320
	contextSize    = 328

	opPollCQ   = contextOps + 88 // ibv_context_ops
	opNotifyCQ = contextOps + 96
	opPostSend = contextOps + 200
	opPostRecv = contextOps + 208

	pdContext = 0

	mrContext = 0
	mrPD      = 8
	mrAddr    = 16
	mrLength  = 24
	mrLKey    = 36
	mrRKey    = 40
	mrSize    = 48

	cqContext = 0
	cqChannel = 8
	cqEntries = 28

	channelFD = 8 // ibv_comp_channel.fd

	asyncKind = 8 // ibv_async_event.event_type; at 0 is what it is about
	asyncSize = 16

	qpContext = 0
	qpPD      = 16
	qpSendCQ  = 24
	qpRecvCQ  = 32
	qpNumber  = 52
	qpType    = 60
	qpSize    = 160

	initSendCQ  = 8 // ibv_qp_init_attr
	initRecvCQ  = 16
	initSends   = 32
	initRecvs   = 36
	initSendSGE = 40
	initRecvSGE = 44
	initInline  = 48
	initType    = 52
	initSize    = 64

	typeRC = 2 // IBV_QPT_RC

	attrState = 0   // ibv_qp_attr.qp_state
	attrPort  = 129 // port_num
	attrSize  = 256 // more than sizeof(struct ibv_qp_attr)
	maskState = 1   // IBV_QP_STATE
	maskInit  = 57  // and IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX, IBV_QP_PORT
	stateInit = 1   // IBV_QPS_INIT
	stateErr  = 6   // IBV_QPS_ERR

	limitWorks  = 112 // ibv_device_attr.max_qp_wr
	limitDones  = 132 // max_cqe
	limitReads  = 144 // max_qp_rd_atom
	limitIssues = 156 // max_qp_init_rd_atom
	limitPorts  = 227 // phys_port_cnt
	limitSize   = 512 // more than sizeof(struct ibv_device_attr)

	portState   = 0 // ibv_port_attr
	portMTU     = 8
	portGIDs    = 12
	portLID     = 34
	portSMLID   = 36
	portLayer   = 46
	portSize    = 128 // more than sizeof(struct ibv_port_attr)
	layerEther  = 2   // IBV_LINK_LAYER_ETHERNET
	iwarpTransp = 1   // IBV_TRANSPORT_IWARP

	gidRaw   = 0 // ibv_gid_entry
	gidIndex = 16
	gidType  = 24
	gidSize  = 32

	idVerbs   = 0 // rdma_cm_id
	idChannel = 8
	idQP      = 24
	idSource  = 32  // route.addr.src_addr
	idDest    = 160 // route.addr.dst_addr
	idSpace   = 344 // ps

	eventID     = 0 // rdma_cm_event
	eventListen = 8
	eventKind   = 16
	eventStatus = 20
	eventParam  = 24

	paramPrivate    = 0 // rdma_conn_param
	paramPrivateLen = 8
	paramResponder  = 9
	paramInitiator  = 10
	paramFlow       = 11
	paramRetry      = 12
	paramRNRRetry   = 13
	paramSize       = 24

	spaceTCP = 0x0106 // RDMA_PS_TCP
)

// Works as the hardware's library takes them: ibv_send_wr and ibv_recv_wr, each
// with its one ibv_sge behind it.
const (
	sendSize = 128 // sizeof(struct ibv_send_wr)
	recvSize = 32  // sizeof(struct ibv_recv_wr)
	sgeSize  = 16  // sizeof(struct ibv_sge)
	doneSize = 48  // sizeof(struct ibv_wc)

	sendStride = sendSize + sgeSize
	recvStride = recvSize + sgeSize
)

const maxRetries = 7 // of rdma_conn_param; 7 of rnr_retry_count is without end

var le = binary.LittleEndian

// putSend writes works as one chain; at is where b is in memory.
func putSend(b []byte, at uint64, works []Work) {
	for i := range works {
		w, p := &works[i], b[i*sendStride:(i+1)*sendStride]
		clear(p)
		here := at + uint64(i*sendStride)
		le.PutUint64(p[0:], w.ID)
		if i+1 < len(works) {
			le.PutUint64(p[8:], here+sendStride)
		}
		if w.Local.Len > 0 {
			le.PutUint64(p[16:], here+sendSize)
			le.PutUint32(p[24:], 1)
		}
		le.PutUint32(p[28:], uint32(w.Op))
		le.PutUint32(p[32:], uint32(w.Flags))
		if w.Op == OpSendInvalidate {
			le.PutUint32(p[36:], w.Key)
		}
		le.PutUint64(p[40:], w.Remote)
		le.PutUint32(p[48:], w.Key) // where Soft-iWARP looks, too, for the key to invalidate
		putPiece(p[sendSize:], w.Local)
	}
}

// putReceive is putSend for memory to receive into.
func putReceive(b []byte, at uint64, works []Work) {
	for i := range works {
		w, p := &works[i], b[i*recvStride:(i+1)*recvStride]
		clear(p)
		here := at + uint64(i*recvStride)
		le.PutUint64(p[0:], w.ID)
		if i+1 < len(works) {
			le.PutUint64(p[8:], here+recvStride)
		}
		le.PutUint64(p[16:], here+recvSize)
		le.PutUint32(p[24:], 1)
		putPiece(p[recvSize:], w.Local)
	}
}

func putPiece(b []byte, p Piece) {
	le.PutUint64(b[0:], p.Addr)
	le.PutUint32(b[8:], p.Len)
	le.PutUint32(b[12:], p.Key)
}

const withInvalidate = 1 << 3 // IBV_WC_WITH_INV

// get reads an ibv_wc.
func (d *Done) get(b []byte) {
	*d = Done{
		ID:     le.Uint64(b[0:]),
		Status: Status(le.Uint32(b[8:])),
		Bytes:  int(le.Uint32(b[20:])),
		Vendor: le.Uint32(b[16:]),
	}
	if d.Status == OK {
		d.Vendor = 0 // not defined
		if le.Uint32(b[36:])&withInvalidate != 0 {
			d.Invalidated = le.Uint32(b[24:])
		}
	}
}

// The kinds of rdma_cm events.
const (
	cmAddrResolved = iota
	cmAddrError
	cmRouteResolved
	cmRouteError
	cmConnectRequest
	cmConnectResponse
	cmConnectError
	cmUnreachable
	cmRejected
	cmEstablished
	cmDisconnected
	cmDeviceRemoval
	cmMulticastJoin
	cmMulticastError
	cmAddrChange
	cmTimewaitExit
)

// putParam writes an rdma_conn_param; private is where the private data is.
func putParam(b []byte, private uint64, h Hello) {
	clear(b[:paramSize])
	if len(h.Private) > 0 {
		le.PutUint64(b[paramPrivate:], private)
		b[paramPrivateLen] = byte(len(h.Private))
	}
	b[paramResponder] = byte(min(h.Reads, 255))
	b[paramInitiator] = byte(min(h.Issues, 255))
	b[paramFlow] = 1
	b[paramRetry] = maxRetries
	b[paramRNRRetry] = maxRetries
}

// Families of socket addresses, of Linux.
const (
	familyIPv4 = 2
	familyIPv6 = 10
	sockaddrIn = 28 // bytes of the larger of the two
)

// putSockaddr writes a sockaddr_in or sockaddr_in6. The zone of an address is
// the number of an interface.
func putSockaddr(b []byte, a netip.AddrPort, zone uint32) {
	clear(b[:sockaddrIn])
	binary.BigEndian.PutUint16(b[2:], a.Port())
	ip := a.Addr().Unmap()
	if ip.Is4() {
		le.PutUint16(b[0:], familyIPv4)
		raw := ip.As4()
		copy(b[4:8], raw[:])
		return
	}
	le.PutUint16(b[0:], familyIPv6)
	raw := ip.As16()
	copy(b[8:24], raw[:])
	le.PutUint32(b[24:], zone)
}

// sockaddr reads a sockaddr_in or sockaddr_in6; of others the zero AddrPort.
func sockaddr(b []byte) netip.AddrPort {
	port := binary.BigEndian.Uint16(b[2:])
	switch le.Uint16(b[0:]) {
	case familyIPv4:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port)
	case familyIPv6:
		return netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:24])), port)
	}
	return netip.AddrPort{}
}

// mtuBytes is what an ibv_mtu stands for.
func mtuBytes(v uint32) int {
	if v < 1 || v > 5 {
		return 0
	}
	return 128 << v
}
