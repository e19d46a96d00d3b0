package comware

import (
	"fmt"
	"slices"
	"strings"

	"weft/internal/text"
	"weft/switches"
)

// extra is what only Comware has.
type extra struct {
	maps   map[string]map[int]int     // as displayed, by the header that opens them
	stack  []string                   // ports that tie members of a stack together
	routed map[string]int             // by port that routes, how long an IP packet may be there; 0: no line says so
	trunks map[string]*switches.Trunk // by port that says something of VLANs
}

func extraOf(r *switches.Text) *extra { return r.Own.(*extra) }

// remarks are what a reader of the plan must know of what stays.
func remarks(c switches.Reading, want switches.Intent) []string {
	own := extraOf(c.Text())
	out := besideMaps(c, want)
	if ports := own.shortRoutes(want); len(ports) > 0 {
		out = append(out, fmt.Sprintf("these ports route, and how long an IP packet may be is a line of its own there (mtu N), %d bytes without one; set it by hand: ", ipmtu)+text.List(ports, switches.MostNamed))
	}
	if len(own.stack) > 0 && len(switches.Lossless(want.Classes)) > 0 {
		out = append(out, "H3C wants the same PFC on the ports that tie the members of the stack together, which weft leaves as they are: "+text.List(own.stack, switches.MostNamed))
	}
	out = append(out, strict(c, want)...)
	for _, k := range want.Classes {
		if k.PFC && slices.Contains([]int{0, 6, 7}, k.Priority) {
			out = append(out, fmt.Sprintf("class %s: H3C advises against PFC for priorities 0, 6 and 7, which models and stacks refuse in part", k.Name))
		}
	}
	return out
}

// besideMaps names the ports that the priority maps of the switch decide for
// although they are none of the wish's: there is one map for all ports.
func besideMaps(c switches.Reading, want switches.Intent) (out []string) {
	if len(want.Classes) == 0 {
		return nil
	}
	var names []string
	for _, p := range c.Ports {
		if _, wanted := want.Port(p.Name); p.Classify && !p.ByTag && !wanted && !c.Text().OS.Carries(c.Text().Port[p.Name], want) {
			names = append(names, p.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []string{"priorities go by DSCP on ports that are not the fabric's as well, and the map is one for the whole switch: its change changes them too: " + text.List(names, switches.MostNamed)}
}

// route remembers of a Comware port that it routes, and its IP MTU.
func (s *extra) route(port, line string) {
	mtu, known := strings.CutPrefix(line, "mtu ")
	if line != "port link-mode route" && !known {
		return
	}
	if s.routed == nil {
		s.routed = map[string]int{}
	}
	s.routed[port] = max(s.routed[port], switches.Number(mtu), 0)
}

// strict says what becomes of the queue of the switch's own packets.
func strict(c switches.Reading, want switches.Intent) []string {
	own := fmt.Sprintf("qos wfq %s group sp", queueName(ownQueue))
	claimed := slices.ContainsFunc(want.Classes, func(k switches.Class) bool { return k.Priority == ownQueue })
	var ports []string
	for _, w := range want.Ports {
		if b, _ := switches.FindBlock(c.Text().Port[w.Name], iface+w.Name); w.Queue && !claimed && !slices.Contains(b.Lines, own) {
			ports = append(ports, w.Name)
		}
	}
	if len(ports) > 0 {
		return []string{"queue 7, of the switch's own protocol packets, becomes strict, as in H3C's templates: at its default weight of 1 a full port starves it: " + text.List(ports, switches.MostNamed)}
	}
	return nil
}

// ipmtu is the longest IP packet of a port that routes where no line says
// otherwise (H3C Ethernet interface command reference, mtu).
const ipmtu = 1500

// shortRoutes are the ports that route and take no longer IP packets than usual,
// where want wishes longer frames.
func (s *extra) shortRoutes(want switches.Intent) (out []string) {
	for _, w := range want.Ports {
		if mtu, routes := s.routed[w.Name]; routes && mtu <= ipmtu && w.MTU > ipmtu {
			out = append(out, w.Name)
		}
	}
	return out
}

// trunk reads a line of a port about VLANs. A trunk permits VLAN 1 unless a line says more;
// a hybrid port says which VLANs leave it with a tag.
func (x *extra) trunk(port, line string) {
	of, is := strings.CutPrefix(line, "port ")
	if !is {
		return
	}
	t := x.trunks[port]
	if t == nil {
		t = &switches.Trunk{Native: 1}
		x.trunks[port] = t
	}
	list := func(text string) []int {
		return switches.VLANs(strings.ReplaceAll(strings.ReplaceAll(text, " to ", "-"), " ", ","))
	}
	if kind, ok := strings.CutPrefix(of, "link-type "); ok {
		t.On = kind == "trunk" || kind == "hybrid"
	}
	if vlan, ok := strings.CutPrefix(of, "trunk pvid vlan "); ok {
		t.Native = switches.Number(vlan)
	}
	if vlans, ok := strings.CutPrefix(of, "trunk permit vlan "); ok {
		t.All = t.All || vlans == "all"
		t.Allowed = append(t.Allowed, list(vlans)...)
	}
	if vlans, ok := strings.CutPrefix(of, "hybrid vlan "); ok && strings.HasSuffix(vlans, " tagged") {
		t.Allowed = append(t.Allowed, list(strings.TrimSuffix(vlans, " tagged"))...)
	}
}

// takes refuses a port that does not carry the VLAN with its tag.
func takes(r *switches.Text, p switches.Port) (switches.Port, error) {
	if p.VLAN == 0 {
		return p, nil
	}
	var t switches.Trunk
	if is := extraOf(r).trunks[p.Name]; is != nil {
		t = *is
	}
	return p, t.Tags(p.Name, p.VLAN)
}
