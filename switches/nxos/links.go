package nxos

import (
	"strconv"
	"strings"
	"time"

	"weft/internal/pattern"
	"weft/switches"
)

var (
	linkHead = pattern.New(`^(Ethernet[0-9/]+) is (up|down)\b`)
	linkCRC  = pattern.New(`(?:^|\s)(\d+) CRC(?:/FCS)?\b`)
	flapped  = pattern.New(`^Last link flapped (.+)$`)
	elapsed  = pattern.New(`(\d+)\s*(week|day|hour)\(s\)`)
	daytime  = pattern.New(`^(\d+):(\d\d):(\d\d)$`)
)

// links reads what show interface tells of each port.
//
//	Ethernet1/1 is up
//	  Last link flapped 1week(s) 1day(s)
//	    0 runts  0 giants  0 CRC  0 no buffer
func links(text string) map[string]switches.PortCount {
	out := map[string]switches.PortCount{}
	port := ""
	for line := range strings.Lines(text) {
		plain := strings.TrimSpace(line)
		if m := linkHead.FindStringSubmatch(line); m != nil {
			port = m[1]
			out[port] = switches.PortCount{Up: m[2] == "up"}
			continue
		}
		if line[0] != ' ' && strings.Contains(line, " is ") && !strings.HasPrefix(line, "admin state") {
			port = "" // of another kind
		}
		if port == "" {
			continue
		}
		p := out[port]
		if m := linkCRC.FindStringSubmatch(plain); m != nil && p.Broken == nil && !strings.Contains(plain, "Stomped") {
			if n, err := strconv.ParseUint(m[1], 10, 64); err == nil {
				p.Broken = &n
			}
		}
		if m := flapped.FindStringSubmatch(plain); m != nil {
			p.Steady = steady(m[1])
		}
		out[port] = p
	}
	return out
}

// steady reads since when a link is as it is; nil: it is written as nobody knows.
func steady(text string) *time.Duration {
	var d time.Duration
	if text == "never" {
		d = switches.Always
		return &d
	}
	if m := daytime.FindStringSubmatch(text); m != nil {
		for i, unit := range []time.Duration{time.Hour, time.Minute, time.Second} {
			n, err := strconv.Atoi(m[i+1])
			if err != nil || n > 1e6 {
				return nil
			}
			d += time.Duration(n) * unit
		}
		return &d
	}
	all := elapsed.FindAllStringSubmatch(text, -1)
	for _, m := range all {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 1e4 {
			return nil
		}
		d += time.Duration(n) * map[string]time.Duration{"week": 7 * 24 * time.Hour, "day": 24 * time.Hour, "hour": time.Hour}[m[2]]
	}
	if all == nil {
		return nil
	}
	return &d
}
