//go:build unix

package simserver

import (
	"fmt"
	"net/netip"
	"strconv"
)

const (
	icmpHeader = 8
	ip4Header  = 20
	ip6Header  = 40
)

// ping is a part of iputils' ping. Replies are computed from the network and
// come at once.
func ping(x *call) int {
	opts, rest, ok := x.options("46qnc:s:M:W:w:i:I:", nil)
	if !ok {
		return 2
	}
	if len(rest) != 1 {
		return x.errorf("usage error: Destination address required") + 1
	}
	dst, err := netip.ParseAddr(rest[0])
	if err != nil {
		return x.errorf("%s: Name or service not known", rest[0]) + 1
	}
	count, size := 0, 56
	for letter, into := range map[rune]*int{'c': &count, 's': &size} {
		if !opts.has(letter) {
			continue
		}
		n, err := strconv.ParseUint(opts.last(letter), 10, 16)
		if err != nil {
			return x.errorf("invalid argument: '%s'", opts.last(letter))
		}
		*into = int(n)
	}
	if count == 0 {
		return x.errorf("without -c: not simulated in the lab") + 1
	}
	r := x.server.net.reach(x.server, dst)
	if via := opts.last('I'); via != "" && r.routed && via != r.via && via != r.source.String() {
		return x.errorf("-I %s: not the way that the lab takes (%s)", via, r.via) + 1
	}
	if !r.routed {
		return x.errorf("connect: Network is unreachable") + 1
	}
	packet := size + icmpHeader + ip4Header
	if dst.Is6() {
		packet = size + icmpHeader + ip6Header
	}
	return x.echo(dst, r, echoes{count: count, size: size, packet: packet, whole: opts.last('M') == "do"})
}

// echoes are what a ping sends.
type echoes struct {
	count, size, packet int
	whole               bool // no router or host may cut them
}

// echo prints what comes back.
func (x *call) echo(dst netip.Addr, r reach, e echoes) int {
	fmt.Fprintf(x.stdout, "PING %s (%s) %d(%d) bytes of data.\n", dst, dst, e.size, e.packet)
	received, errs := 0, 0
	for seq := 1; seq <= e.count; seq++ {
		switch {
		case e.whole && e.packet > r.localMTU:
			fmt.Fprintf(x.stderr, "ping: local error: message too long, mtu=%d\n", r.localMTU)
			errs++
		case !r.answers:
			fmt.Fprintf(x.stdout, "From %s icmp_seq=%d Destination Host Unreachable\n", r.source, seq)
			errs++
		case e.whole && r.remoteMTU > 0 && e.packet > r.remoteMTU:
			// Nothing comes back: a frame too long for a switch port is lost.
		default:
			fmt.Fprintf(x.stdout, "%d bytes from %s: icmp_seq=%d ttl=64 time=0.050 ms\n", e.size+icmpHeader, dst, seq)
			received++
		}
	}
	extra := ""
	if errs > 0 {
		extra = fmt.Sprintf(" +%d errors,", errs)
	}
	fmt.Fprintf(x.stdout, "\n--- %s ping statistics ---\n%d packets transmitted, %d received,%s %d%% packet loss, time 0ms\n",
		dst, e.count, received, extra, (e.count-received)*100/e.count)
	if received > 0 {
		fmt.Fprint(x.stdout, "rtt min/avg/max/mdev = 0.050/0.050/0.050/0.000 ms\n")
		return 0
	}
	return 1
}
