//go:build unix

package simserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// nicCounts are what a port of a card has counted since boot: SIMULATED
// traffic, which is what agents say that they have moved.
type nicCounts struct {
	rx, tx [8]struct {
		bytes, packets uint64
		pause          uint64        // frames
		paused         time.Duration // for how long
	}
}

// A Transfer is what an agent has moved between two interfaces.
type Transfer struct {
	From, To       End // the initiator's, the target's
	DSCP           int // that the agent asks for, else what the initiator's card marks connections with
	Reply          int // that what comes back has
	There, Back    uint64
	Commands, Data uint64 // packets there and back
}

// roceMTU is what RDMA carries in a packet on an Ethernet of 9000 bytes, and
// commandBytes is a command capsule with its headers.
const (
	roceMTU      = 4096
	commandBytes = 64 + 8 + 58
)

// moved notes what a read of weft-initiator says that it has moved.
func (s *Server) moved(tos int, printed []byte) {
	r, ok := readHaul(printed)
	if !ok {
		return
	}
	from, ok := s.holder(host(r.Local))
	if !ok {
		return
	}
	if other, to := s.net.holder(host(r.Remote)); other != nil {
		dscp := tos >> 2
		if tos == 0 && r.Transport == "rdma" {
			dscp = s.marks(from)
		}
		s.transfer(from, other, to, dscp, r)
	}
}

// A haul is what weft-initiator says that it has moved.
type haul struct {
	Op, Local, Remote, Transport string
	Size                         int
	Bytes                        uint64
}

// readHaul reads what it printed; false: nothing was moved.
func readHaul(printed []byte) (r haul, ok bool) {
	var reply struct{ Probe json.RawMessage }
	if json.Unmarshal(printed, &reply) == nil && len(reply.Probe) > 0 { // of a request
		printed = reply.Probe
	}
	err := json.Unmarshal(printed, &r)
	return r, err == nil && (r.Op == "read" || r.Op == "socket") && r.Bytes > 0 && r.Size > 0
}

// holder is the server that has an address, and its interface; nil: none has.
func (n *Network) holder(a netip.Addr) (*Server, iface) {
	for _, s := range n.all() {
		if i, ok := s.holder(a); ok {
			return s, i
		}
	}
	return nil, iface{}
}

// host is the address of an address with or without a port.
func host(text string) netip.Addr {
	if ap, err := netip.ParseAddrPort(text); err == nil {
		return ap.Addr()
	}
	a, _ := netip.ParseAddr(text) // the zero address is nobody's
	return a
}

// holder is the interface that has an address.
func (s *Server) holder(a netip.Addr) (iface, bool) {
	for _, i := range s.interfaces() {
		for _, p := range i.addrs {
			if p.Addr() == a && !i.loop && i.up {
				return i, true
			}
		}
	}
	return iface{}, false
}

// packets are those of what was moved: of a read, commands there and data back.
func (r haul) packets() (t Transfer) {
	size := uint64(r.Size)
	t.Commands, t.Data, t.Back = (r.Bytes+size-1)/size, (r.Bytes+roceMTU-1)/roceMTU, r.Bytes
	t.There = t.Commands * commandBytes
	if r.Op != "read" { // messages go there and back
		t.Commands, t.There = t.Data, t.Back
	}
	return t
}

// transfer counts what was moved.
func (s *Server) transfer(from iface, other *Server, to iface, dscp int, r haul) {
	t := r.packets()
	t.From, t.To, t.DSCP, t.Reply = End{s.spec.Name, from.PCI}, End{other.spec.Name, to.PCI}, dscp, dscp
	if own, ok := other.answersWith(r.Remote); ok && r.Transport == "tcp" && r.Op == "read" {
		t.Reply = own
	}
	s.count(from, t.DSCP, 0, 0, t.Commands, t.There)
	s.count(from, t.Reply, t.Data, t.Back, 0, 0)
	other.count(to, t.DSCP, t.Commands, t.There, 0, 0)
	other.count(to, t.Reply, 0, 0, t.Data, t.Back)
	if s.net.Moved != nil {
		s.net.Moved(t)
	}
}

// marks is the DSCP that the connection manager gives to connections of a port;
// the other end answers with the same.
func (s *Server) marks(i iface) int {
	for _, d := range s.rdmaDevices() {
		if d.netdev != i.Name {
			continue
		}
		s.mu.RLock()
		defer s.mu.RUnlock()
		if cm := s.cm[d.name]; cm != nil {
			return int(cm.tos) >> 2
		}
	}
	return 0
}

// count adds what an interface has received and sent, by the priority that its
// own map gives the DSCP. Without a map the card goes by the VLAN, which there
// is none of.
func (s *Server) count(of iface, dscp int, in, inBytes, out, outBytes uint64) {
	p := of.dscp[dscp]
	s.setIface(of.Name, func(i *iface) {
		i.counted.rx[p].packets += in
		i.counted.rx[p].bytes += inBytes
		i.counted.tx[p].packets += out
		i.counted.tx[p].bytes += outBytes
	})
}

// Paused lets the switch pause a priority of a port of a card. A card on which
// PFC is off for it does not heed that, and says so.
func (s *Server) Paused(pci string, priority int, frames uint64, each time.Duration) (heeded bool) {
	for _, i := range s.interfaces() {
		if i.PCI != pci || !i.pfc[priority] {
			continue
		}
		return s.setIface(i.Name, func(i *iface) {
			i.counted.rx[priority].pause += frames
			i.counted.rx[priority].paused += time.Duration(frames) * each
		})
	}
	return false
}

// statistics is ethtool -S of a card as of mlx5, in part.
func (x *call) statistics(i *iface) int {
	if i.kind().driver != "mlx5_core" {
		return x.fail(94, "no stats available")
	}
	fmt.Fprintln(x.stdout, "NIC statistics:")
	line := func(name string, value uint64) { fmt.Fprintf(x.stdout, "     %s: %d\n", name, value) }
	line("rx_out_of_buffer", 0)
	line("rx_discards_phy", 0)
	for p := range 8 {
		rx, tx := i.counted.rx[p], i.counted.tx[p]
		prio := "_prio" + strconv.Itoa(p) + "_"
		line("rx"+prio+"bytes", rx.bytes)
		line("rx"+prio+"packets", rx.packets)
		line("rx"+prio+"discards", 0)
		line("tx"+prio+"bytes", tx.bytes)
		line("tx"+prio+"packets", tx.packets)
		if !i.pfc[p] {
			continue // as mlx5 has it: these are of priorities with PFC
		}
		line("rx"+prio+"pause", rx.pause)
		line("rx"+prio+"pause_duration", uint64(rx.paused.Microseconds()))
		line("rx"+prio+"pause_transition", rx.pause)
		line("tx"+prio+"pause", tx.pause)
		line("tx"+prio+"pause_duration", uint64(tx.paused.Microseconds()))
	}
	line("tx_pause_storm_warning_events", 0)
	line("tx_pause_storm_error_events", 0)
	return 0
}

// hardware are the counters of an RDMA port as of mlx5_ib, in part. Nothing is
// ever lost here, so that none of them counts.
func hardware() []string {
	return []string{"out_of_buffer", "out_of_sequence", "duplicate_request", "rnr_nak_retry_err", "packet_seq_err", "implied_nak_seq_err",
		"local_ack_timeout_err", "np_cnp_sent", "np_ecn_marked_roce_packets", "rp_cnp_handled", "rp_cnp_ignored"}
}

// A listener reads along what an agent prints, as long as that is short.
type listener struct {
	io.Writer
	heard bytes.Buffer
	line  func(string) // is told the first line, when it is whole; nil: nobody
}

const mostHeard = 1 << 20

func (l *listener) Write(p []byte) (int, error) {
	if l.heard.Len()+len(p) <= mostHeard {
		l.heard.Write(p)
	}
	if first, _, whole := strings.Cut(l.heard.String(), "\n"); whole && l.line != nil {
		l.line(first)
		l.line = nil
	}
	return l.Writer.Write(p)
}
