// Package traffic is how packets and frames say what they are: DSCPs (RFC 2474)
// and priorities (IEEE 802.1Q).
package traffic

import (
	"strconv"
	"strings"
)

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

// ParseDSCP reads a DSCP by number or by its standard name.
func ParseDSCP(s string) (int, bool) {
	s = strings.ToLower(strings.TrimSpace(s))
	if n, err := strconv.Atoi(s); err == nil {
		return n, n >= 0 && n <= MaxDSCP
	}
	switch {
	case s == "default":
		return 0, true
	case s == "ef":
		return 46, true
	case len(s) == 3 && s[:2] == "cs" && s[2] >= '0' && s[2] <= '7':
		return int(s[2]-'0') * 8, true
	case len(s) == 4 && s[:2] == "af" && s[2] >= '1' && s[2] <= '4' && s[3] >= '1' && s[3] <= '3':
		return int(s[2]-'0')*8 + int(s[3]-'0')*2, true
	}
	return 0, false
}
