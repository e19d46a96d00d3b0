// Package traffic is how packets and frames say what they are: DSCPs (RFC 2474)
// and priorities (IEEE 802.1Q).
package traffic

import (
	"slices"
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

// Ranges writes numbers as a list of ranges: 24-31,48.
func Ranges(ns []int) string {
	ns = slices.Sorted(slices.Values(ns))
	var words []string
	for i := 0; i < len(ns); {
		j := i
		for j+1 < len(ns) && ns[j+1] == ns[j]+1 {
			j++
		}
		word := strconv.Itoa(ns[i])
		if j > i {
			word += "-" + strconv.Itoa(ns[j])
		}
		words = append(words, word)
		i = j + 1
	}
	return strings.Join(words, ",")
}

// ParseRanges reads what Ranges writes, and single numbers apart; number
// reads one of them. What it cannot read is left out.
func ParseRanges(s string, number func(string) (int, bool)) (out []int) {
	for word := range strings.SplitSeq(s, ",") {
		lo, hi, isRange := strings.Cut(strings.TrimSpace(word), "-")
		a, ok := number(lo)
		b := a
		if isRange && ok {
			b, ok = number(hi)
		}
		for n := a; ok && n <= b && n <= MaxDSCP; n++ {
			out = append(out, n)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}
