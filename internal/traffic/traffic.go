// Package traffic is how packets and frames say what they are: DSCPs (RFC 2474)
// and priorities (IEEE 802.1Q).
package traffic

const (
	MaxDSCP     = 63
	Priorities  = 8 // from 0 to 7
	MaxPriority = Priorities - 1
)

// ToS is the traffic class of packets with a DSCP: the byte that sockets and
// RDMA take, whose low two bits are ECN's (RFC 3168).
func ToS(dscp int) int { return dscp << 2 }

// DSCP is that of packets with a traffic class.
func DSCP(tos int) int { return tos >> 2 }
