//go:build unix

package simserver

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
)

// What the interface and the subnet of a SIMULATED InfiniBand port have, in the
// form of rdma-link(8), of ibstat and of the kernel's pages sysfs-class-infiniband
// and infiniband/ipoib. One subnet manager, which nothing shows otherwise,
// serves all of them with one partition.
const (
	subnetPrefix   = "fe80:0000:0000:0000"
	managerLID     = 1
	partitionKey   = "0xffff" // full member of the default partition
	tableOfKeys    = 8        // entries; mlx5 has more of them, as empty
	ipoibBroadcast = "00:ff:ff:ff:ff:12:40:1b:ff:ff:00:00:00:00:00:00:ff:ff:ff:ff"

	ipoibMTU          = 2044 // at boot: a packet of 2048 bytes, less a header of 4
	ipoibDatagramMTU  = 4092 // a packet of 4096 bytes, less the header; that more is refused was not seen
	ipoibConnectedMTU = 65520
)

// A subnetState is what the subnet manager has made of a port.
type subnetState struct {
	state        string // ACTIVE or INIT
	lid, manager int    // 0: none
}

// infiniBand reports whether the interface is one of InfiniBand.
func (i *iface) infiniBand() bool { return !i.virtual() && i.kind().rdma == "ib" }

// subnet is the state of a port of InfiniBand: that of its IP interface does
// not matter to it.
func (i *iface) subnet() subnetState {
	if i.unswept {
		return subnetState{state: "INIT"}
	}
	sum := sha256.Sum256([]byte("lid " + i.MAC))
	return subnetState{"ACTIVE", managerLID + 1 + int(binary.BigEndian.Uint16(sum[:]))%0xb000, managerLID} // LIDs of ports are below 0xc000
}

// Sweep lets a subnet manager set up the InfiniBand ports of the server, or
// makes them as if there had never been one.
func (s *Server) Sweep(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, i := range s.ifaces {
		i.unswept = !on && i.infiniBand()
	}
}

// guid is that of an RDMA device, and of its only port.
func (i *iface) guid() string {
	sum := sha256.Sum256([]byte("guid " + i.burnt()))
	return fmt.Sprintf("%x:%x:%x:%x", sum[:2], sum[2:4], sum[4:6], sum[6:8])
}

// hardware is the address of the interface: that of IPoIB is a queue pair and
// a GID.
func (i *iface) hardware() string {
	if !i.infiniBand() {
		return i.MAC
	}
	digits := strings.ReplaceAll("80000028:"+subnetPrefix+":"+i.guid(), ":", "")
	var octets []string
	for at := 0; at < len(digits); at += 2 {
		octets = append(octets, digits[at:at+2])
	}
	return strings.Join(octets, ":")
}

// subnetPort renders what a port of InfiniBand has that other RDMA ports do not.
func (r rendered) subnetPort(at string, i *iface) {
	s := i.subnet()
	number := map[string]string{"INIT": "2", "ACTIVE": "4"}[s.state]
	for file, value := range map[string]string{
		"state": number + ": " + s.state, "phys_state": "5: LinkUp",
		"lid": fmt.Sprintf("%#x", s.lid), "sm_lid": fmt.Sprintf("%#x", s.manager), "gids/0": subnetPrefix + ":" + i.guid(),
	} {
		r.file(at+"/"+file, value)
	}
	for _, counter := range []string{"symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors", "port_xmit_discards", "port_xmit_wait"} {
		r.file(at+"/counters/"+counter, "0") // nothing ever goes wrong there
	}
	for n := range tableOfKeys {
		key := "0x0000"
		if n == 0 {
			key = partitionKey
		}
		r.file(at+"/pkeys/"+strconv.Itoa(n), key)
	}
}

// ipoib renders what an interface of InfiniBand has that others do not, and
// otherwise.
func (r rendered) ipoib(at string) {
	for file, value := range map[string]string{"mode": "datagram", "pkey": partitionKey, "type": "32", "addr_len": "20"} {
		r.file(at+"/"+file, value)
	}
}
