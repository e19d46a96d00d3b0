package prove

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"weft/internal/remote"
	"weft/internal/slice"
	"weft/inventory"
	"weft/switches"
)

// CablingInput is what a proof of the cabling needs.
type CablingInput struct {
	Model *inventory.Model
	// Host logs in to a server; it is called once for each server.
	Host func(context.Context, *inventory.Server) (remote.Host, error)
	// Heard is whom a switch hears with LLDP; with an error, who of them is known.
	Heard func(context.Context, *inventory.Switch) ([]switches.Neighbour, error)
	// Only says which switches are asked, and the servers linked to them; nil:
	// all of them.
	Only func(*inventory.Switch) bool
	// Freed are ports that no link names any more and that lose what weft set on
	// them, by switch: a declared NIC that is still heard there would be cut off.
	Freed map[*inventory.Switch][]string
}

// A Cable is one end of a declared link at a switch, and what was found there.
type Cable struct {
	Link   string `json:"link"`   // HCL address
	Switch string `json:"switch"` // HCL address
	Port   string `json:"port"`
	Wants  string `json:"wants"`           // who is declared to be there
	Hears  string `json:"hears,omitempty"` // who is
	// Stranger says that who is heard is nobody who is declared: another device,
	// or one that LLDP calls by another name.
	Stranger bool `json:"stranger,omitempty"`

	Verdict Verdict `json:"verdict"`
	Why     string  `json:"why,omitempty"`
}

// A Cabling is what a proof of the cabling has found.
type Cabling struct {
	Cables  []Cable  `json:"cables"`
	Swaps   []string `json:"swaps,omitempty"` // what would mend it
	Verdict Verdict  `json:"verdict"`
}

// A plugged is who may be at the other end of a cable: a NIC by its MAC
// address, or a port of a switch by the names of both.
type plugged struct {
	label string
	mac   string
	host  string // what a switch calls itself
	port  string
}

// Cables compares whom switches hear on their ports with the links that are
// declared.
func Cables(ctx context.Context, in CablingInput) (*Cabling, error) {
	var heard map[*inventory.Switch][]switches.Neighbour
	var failed map[*inventory.Switch]error
	var listening sync.WaitGroup
	listening.Go(func() { heard, failed = in.listen(ctx) })
	macs, lost := in.addresses(ctx)
	listening.Wait()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("interrupted while asking who is plugged in where: %w", context.Cause(ctx))
	}
	who := everybody(in.Model, macs)
	out := &Cabling{Verdict: Pass}
	found := map[string]string{} // who was found, by switch and port
	wanted := map[string]string{}
	for _, l := range in.Model.Links {
		for _, ends := range [][2]inventory.LinkEnd{{l.From, l.To}, {l.To, l.From}} {
			at, other := ends[0], ends[1]
			if !in.asks(at.Switch) {
				continue
			}
			c := Cable{Link: l.Addr, Switch: at.Switch.Addr, Port: at.Port, Wants: end(other)}
			c.judge(heard[at.Switch], failed[at.Switch], who, lost[other.RNIC], losslessOn(at.Switch))
			place := at.Switch.Addr + " " + at.Port
			if wanted[place] = c.Wants; c.Hears != "" {
				found[place] = c.Hears
			}
			out.Cables = append(out.Cables, c)
		}
	}
	out.Cables = append(out.Cables, in.freed(heard, failed, who)...)
	if len(out.Cables) == 0 && in.Freed == nil {
		return nil, fmt.Errorf("there is nothing to prove: no link to a managed switch is declared")
	}
	out.Swaps = swaps(out.Cables, wanted, found)
	for _, c := range out.Cables {
		out.Verdict = Worse(out.Verdict, c.Verdict)
	}
	return out, nil
}

// nobody is who is wanted on a port that no link names any more.
const nobody = "nobody"

// freed says on which ports that no link names any more a declared NIC is heard:
// one that is linked elsewhere is plugged in wrong.
func (in CablingInput) freed(heard map[*inventory.Switch][]switches.Neighbour, failed map[*inventory.Switch]error, who []plugged) (out []Cable) {
	for _, sw := range in.Model.Switches {
		for _, port := range in.Freed[sw] {
			c := Cable{Switch: sw.Addr, Port: port, Wants: nobody}
			c.judge(heard[sw], failed[sw], who, "", "")
			switch {
			case c.Hears == "" && failed[sw] != nil:
				out = append(out, c)
				continue
			case c.Hears == "" || c.Stranger:
				continue
			}
			c.Verdict, c.Why = Inconclusive, c.Hears+" is heard there, which no link names any more: it loses what weft set for it"
			at := in.linkedTo(c.Hears)
			if at.Switch == sw && at.Port == port {
				continue // what is switched off is not moved
			}
			if at.Switch != nil {
				c.Verdict, c.Why = Fail, "it is linked to "+end(at)
			}
			out = append(out, c)
		}
	}
	return out
}

// linkedTo is the end at a switch of the link of a NIC; zero: there is none.
func (in CablingInput) linkedTo(nic string) inventory.LinkEnd {
	for _, l := range in.Model.Links {
		for _, ends := range [][2]inventory.LinkEnd{{l.From, l.To}, {l.To, l.From}} {
			if ends[0].Switch != nil && ends[1].RNIC != nil && end(ends[1]) == nic {
				return ends[0]
			}
		}
	}
	return inventory.LinkEnd{}
}

// asks reports whether a switch is asked.
func (in CablingInput) asks(sw *inventory.Switch) bool {
	return sw != nil && !sw.Unmanaged && (in.Only == nil || in.Only(sw))
}

// linked reports whether a server has a cable to a switch that is asked.
func (in CablingInput) linked(s *inventory.Server) bool {
	return slices.ContainsFunc(in.Model.Links, func(l *inventory.Link) bool {
		return slices.ContainsFunc([][2]inventory.LinkEnd{{l.From, l.To}, {l.To, l.From}}, func(e [2]inventory.LinkEnd) bool {
			return e[0].RNIC != nil && e[0].RNIC.Server == s && in.asks(e[1].Switch)
		})
	})
}

// end names an end of a link for people.
func end(e inventory.LinkEnd) string {
	if e.RNIC != nil {
		return portOf(e.RNIC)
	}
	return e.Switch.Addr + " " + e.Port
}

// judge compares who is heard on a port with who is wanted there.
func (c *Cable) judge(heard []switches.Neighbour, err error, who []plugged, unknown, lossless string) {
	c.Verdict = Inconclusive
	on := slice.Filter(heard, func(n switches.Neighbour) bool { return strings.EqualFold(n.Port, c.Port) })
	switch {
	case len(on) > 0:
	case err != nil:
		c.Why = err.Error()
		return
	default:
		c.Why = "no neighbour is heard there: there is no cable, or its other end does not speak LLDP"
		return
	}
	var names []string
	for _, n := range on {
		i := slices.IndexFunc(who, func(p plugged) bool { return p.is(n) })
		if i < 0 {
			names = append(names, strings.TrimSpace(n.System+" "+n.PortID))
			continue
		}
		names = append(names, who[i].label)
	}
	c.Hears = strings.Join(names, " and ")
	c.Stranger = !slices.ContainsFunc(who, func(p plugged) bool { return slices.Contains(names, p.label) })
	switch {
	case slices.Contains(names, c.Wants):
		c.Verdict = Pass
		c.Why = saysOtherwise(on[slices.Index(names, c.Wants)], lossless)
	case unknown != "" && c.Stranger:
		c.Why = "the device is unknown: " + unknown
	case c.Stranger && slices.ContainsFunc(on, func(n switches.Neighbour) bool { return strings.TrimSpace(n.PortID) == "" }):
		c.Why = "the device is unknown: it does not report its port"
	default:
		c.Verdict, c.Why = Fail, "another end is plugged in there"
	}
}

// losslessOn are the lossless priorities of the fabric of a switch, as
// switches.Neighbour writes them; "" without a fabric.
func losslessOn(sw *inventory.Switch) string {
	if sw.Fabric == nil || len(sw.Fabric.Classes) == 0 {
		return ""
	}
	var out []string
	for p := range 8 {
		if slices.ContainsFunc(sw.Fabric.Classes, func(c *inventory.TrafficClass) bool { return c.PFC && c.Priority == p }) {
			out = append(out, strconv.Itoa(p))
		}
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ",")
}

// saysOtherwise remarks on an end that says with DCBX that other priorities are
// lossless than those of the fabric: its firmware has settings of its own.
func saysOtherwise(n switches.Neighbour, lossless string) string {
	if n.PFC == "" || lossless == "" || n.PFC == lossless {
		return ""
	}
	return fmt.Sprintf("it says with DCBX that its lossless priorities are %s, the fabric's are %s: does its firmware decide, and not the host?", n.PFC, lossless)
}

// is reports whether a neighbour is the one that is meant.
func (p plugged) is(n switches.Neighbour) bool {
	if p.mac != "" {
		return switches.PlainMAC(n.PortID) == p.mac
	}
	system, _, _ := strings.Cut(n.System, ".")
	return p.host != "" && strings.EqualFold(system, p.host) && strings.EqualFold(n.PortID, p.port)
}

// everybody lists who may be plugged in somewhere.
func everybody(m *inventory.Model, macs map[*inventory.RNIC]string) []plugged {
	var out []plugged
	for _, r := range m.RNICs() {
		if mac := macs[r]; mac != "" {
			out = append(out, plugged{label: portOf(r), mac: mac})
		}
	}
	for _, l := range m.Links {
		for _, e := range []inventory.LinkEnd{l.From, l.To} {
			if e.Switch != nil {
				name, _, _ := strings.Cut(e.Switch.Host, ".")
				name = cmp.Or(name, e.Switch.Name)
				out = append(out, plugged{label: e.Switch.Addr + " " + e.Port, host: name, port: e.Port})
			}
		}
	}
	return out
}

// addressScript prints the MAC address of the port at each place: its own, where a bond gives
// it another.
const addressScript = remote.FindPort + `for at; do weft_find "$at"; a="/sys/class/net/$weft_if/bonding_slave/perm_hwaddr"; if [ ! -e "$a" ]; then a="/sys/class/net/$weft_if/address"; fi
if [ -n "$weft_if" ]; then echo "$at $(cat "$a")"; else echo "ports $at$weft_more"; fi; done`

// addresses asks servers for the MAC addresses of their NICs; lost says why one
// is not known.
func (in CablingInput) addresses(ctx context.Context) (macs, lost map[*inventory.RNIC]string) {
	macs, lost = map[*inventory.RNIC]string{}, map[*inventory.RNIC]string{}
	var mu sync.Mutex
	asking := newQuestions()
	for _, s := range in.Model.Servers {
		if in.Only != nil && !in.linked(s) {
			continue
		}
		asking.Go(func() {
			text, err := in.addressesOf(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			for _, r := range s.RNICs {
				switch {
				case r.MAC != "":
					macs[r] = switches.PlainMAC(r.MAC)
				case err != nil:
					lost[r] = s.Addr + ": " + err.Error()
				default:
					for line := range strings.Lines(text) {
						words := strings.Fields(line)
						switch {
						case len(words) == 2 && words[0] == r.Place():
							macs[r] = switches.PlainMAC(words[1])
						case len(words) > 1 && words[0] == "ports" && words[1] == r.Place():
							lost[r] = s.Addr + ": " + remote.PlaceError(r.Place(), words[2:]).Error()
						}
					}
					if macs[r] == "" && lost[r] == "" {
						lost[r] = s.Addr + " has no interface at " + r.PCI
					}
				}
			}
		})
	}
	asking.Wait()
	return macs, lost
}

func (in CablingInput) addressesOf(ctx context.Context, s *inventory.Server) (string, error) {
	args := []string{"sh", "-c", addressScript, "sh"}
	for _, r := range s.RNICs {
		if r.MAC == "" && r.PCI != "" {
			args = append(args, r.Place())
		}
	}
	if len(args) == 4 {
		return "", nil
	}
	host, err := in.Host(ctx, s)
	if err != nil {
		return "", err
	}
	out, err := host.Run(ctx, remote.Cmd{Args: args})
	return string(out.Stdout), err
}

// listen asks every managed switch whom it hears.
func (in CablingInput) listen(ctx context.Context) (heard map[*inventory.Switch][]switches.Neighbour, failed map[*inventory.Switch]error) {
	heard, failed = map[*inventory.Switch][]switches.Neighbour{}, map[*inventory.Switch]error{}
	var mu sync.Mutex
	asking := newQuestions()
	for _, sw := range in.Model.Switches {
		if !in.asks(sw) {
			continue
		}
		asking.Go(func() {
			list, err := in.Heard(ctx, sw)
			mu.Lock()
			defer mu.Unlock()
			heard[sw], failed[sw] = list, err
		})
	}
	asking.Wait()
	return heard, failed
}

// swaps says which plugs would have to change places, as far as who is wanted
// at a place was found at another.
func swaps(cables []Cable, wanted, found map[string]string) []string {
	at := map[string]string{} // place, by who was found there
	for place, who := range found {
		at[who] = place
	}
	var out []string
	done := map[string]bool{}
	for _, c := range cables {
		place := c.Switch + " " + c.Port
		other := at[c.Wants]
		if c.Verdict != Fail || done[place] || other == "" || other == place {
			continue
		}
		done[place] = true
		if wanted[other] == c.Hears {
			done[other] = true
			out = append(out, fmt.Sprintf("swap the plugs at %s and %s", place, other))
			continue
		}
		out = append(out, fmt.Sprintf("move the plug of %s from %s to %s", c.Wants, other, place))
	}
	return out
}
