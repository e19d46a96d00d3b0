package comware

import (
	"strconv"
	"strings"
	"time"

	"weft/internal/pattern"
	"weft/switches"
)

var (
	crcOf     = pattern.New(`(?:^|\s)(\d+) CRC\b`)
	flappedOf = pattern.New(`^Last link flapping: (.+)$`)
	elapsedOf = pattern.New(`(\d+) (week|day|hour|minute|second)s?\b`)
	stateLine = pattern.New(`^Current state: (.+)$`)
	linkHead  = pattern.New(`^([A-LN-Z][A-Za-z-]*Gig[A-Za-z]*\d+(?:[/:]\d+)+|Gig[A-Za-z]*\d+(?:[/:]\d+)+)$`) // M-… manages
	oneWord   = pattern.New(`^\S+$`)                                                                         // names of interfaces stand alone
)

// links reads what display interface tells of each port.
//
//	HundredGigE1/0/21
//	Current state: UP
//	Last link flapping: 6 hours 39 minutes 25 seconds
//	         0 CRC, 0 frame, - overruns, 0 aborts
func links(text string) map[string]switches.PortCount {
	out := map[string]switches.PortCount{}
	port := ""
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if oneWord.MatchString(line) {
			port = ""
			if m := linkHead.FindStringSubmatch(line); m != nil {
				port = m[1]
			}
			continue
		}
		if port == "" {
			continue
		}
		line = strings.TrimSpace(line)
		p, told := out[port]
		if m := stateLine.FindStringSubmatch(line); m != nil {
			p.Up, told = m[1] == "UP", true
		}
		if m := crcOf.FindStringSubmatch(line); m != nil && p.Broken == nil {
			if n, err := strconv.ParseUint(m[1], 10, 64); err == nil {
				p.Broken = &n
			}
		}
		if m := flappedOf.FindStringSubmatch(line); m != nil {
			p.Steady = steady(m[1])
		}
		if told {
			out[port] = p
		}
	}
	return out
}

// steady reads since when a link is as it is; nil: it is written as nobody knows.
func steady(text string) *time.Duration {
	var d time.Duration
	if text == "Never" {
		d = switches.Always
		return &d
	}
	all := elapsedOf.FindAllStringSubmatch(text, -1)
	units := map[string]time.Duration{"week": 7 * 24 * time.Hour, "day": 24 * time.Hour, "hour": time.Hour, "minute": time.Minute, "second": time.Second}
	for _, m := range all {
		n, err := strconv.Atoi(m[1])
		if err != nil || n > 1e4 {
			return nil
		}
		d += time.Duration(n) * units[m[2]]
	}
	if all == nil {
		return nil
	}
	return &d
}
