//go:build unix

package lab

import (
	"strconv"
	"strings"

	"weft/internal/lab/simserver"
)

// Frames that a port takes when nothing is configured: what is printed by
// default is what the simulated boxes have.
const (
	nxosMTU     = 1500
	comwareMTU  = 10000
	noLimit     = 1 << 16
	jumboPrefix = "jumboframe enable "
)

// way finds how a frame goes from one interface to another, and the smallest
// MTU of the switch ports on the way. An interface without a declared cable
// reaches everybody in its subnet: nothing is known that would speak against.
func (t *twin) way(from, to simserver.End) (mtu int, ok bool) {
	a, cabledA := t.plugs[from]
	b, cabledB := t.plugs[to]
	if !cabledA || !cabledB {
		return noLimit, true
	}
	texts := map[string]string{}
	mtu = min(t.portMTU(texts, a), t.portMTU(texts, b))
	// Breadth first over the cables between switches.
	best := map[string]int{a.sw: noLimit}
	for queue := []string{a.sw}; len(queue) > 0; queue = queue[1:] {
		if queue[0] == b.sw {
			return min(mtu, best[b.sw]), true
		}
		for near, far := range t.cables {
			if _, seen := best[far.sw]; near.sw != queue[0] || seen {
				continue
			}
			best[far.sw] = min(best[near.sw], t.portMTU(texts, near), t.portMTU(texts, far))
			queue = append(queue, far.sw)
		}
	}
	return 0, false
}

// portMTU reads the MTU of a port from the switch's running configuration,
// which texts keeps.
func (t *twin) portMTU(texts map[string]string, p plug) int {
	read, managed := t.running[p.sw]
	if !managed {
		return noLimit
	}
	if _, have := texts[p.sw]; !have {
		texts[p.sw] = read()
	}
	return configuredMTU(t.os[p.sw], texts[p.sw], p.port)
}

// configuredMTU is the MTU of a port in the text of a configuration.
func configuredMTU(os, text, port string) int {
	mtu, word := nxosMTU, "mtu "
	if os == "comware" {
		mtu, word = comwareMTU, jumboPrefix
	}
	inside := false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n ")
		if !strings.HasPrefix(line, " ") {
			inside = strings.EqualFold(line, "interface "+port)
			continue
		}
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), word); inside && ok {
			if n, err := strconv.Atoi(value); err == nil {
				mtu = n
			}
		}
	}
	return mtu
}
