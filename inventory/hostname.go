package inventory

import (
	"net/netip"
	"strconv"
	"strings"
)

// IsNumber reports whether a host is written as numbers and is no whole address: 1, 10.1 and
// 0x7f are none of what people mean, but resolvers take them for 0.0.0.1, 10.0.0.1 and
// 0.0.0.127.
func IsNumber(host string) bool {
	if _, err := netip.ParseAddr(host); err == nil {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		_, err := strconv.ParseUint(label, 0, 64)
		if _, decimal := strconv.ParseUint(label, 10, 64); err != nil && decimal != nil {
			return false
		}
	}
	return true
}
