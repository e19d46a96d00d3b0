package simswitch

import (
	"strconv"
	"strings"
)

// longestRange bounds how many ports a typed range may mean.
const longestRange = 512

// portRange reads a name whose last number is a range, such as Ethernet1/1-32,
// and lists its ports, separated by commas. A single port is no range.
func portRange(t []string, one param) (string, int) {
	last := 0
	if len(t) > 1 && !strings.ContainsAny(t[0], "0123456789") {
		last = 1
	}
	first, end, found := strings.Cut(t[last], "-")
	if last == 0 { // the kind itself may have a hyphen: port-channel1-4
		if i := strings.LastIndexByte(t[0], '-'); i >= 0 {
			first, end, found = t[0][:i], t[0][i+1:], true
		}
	}
	to, err := strconv.Atoi(end)
	if !found || err != nil {
		return "", 0
	}
	head := append([]string(nil), t[:last]...)
	name, n := one(append(head, first))
	if n != last+1 {
		return "", 0
	}
	cut := strings.LastIndexFunc(name, func(r rune) bool { return r < '0' || r > '9' }) + 1
	from, err := strconv.Atoi(name[cut:])
	if err != nil || to < from || to-from >= longestRange {
		return "", 0
	}
	var all []string
	for i := from; i <= to; i++ {
		all = append(all, name[:cut]+strconv.Itoa(i))
	}
	return strings.Join(all, ","), n
}
