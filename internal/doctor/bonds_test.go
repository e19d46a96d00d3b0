package doctor

import (
	"testing"

	"weft/modules/host"
)

// The parts of a bond have the address of the first: each is where its own is heard, and
// the first where its name is told, or nobody else can be meant.
func TestPartsOfBonds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(s *Site)
		heard  []string // by the ports, in their order; "": no port
	}{
		"by their own":        {func(*Site) {}, []string{"leaf-0 Ethernet1/2", "leaf-1 Ethernet1/2"}},
		"by name":             {func(s *Site) { s.Switches[0].Neighbours[1].Describes = "ens0" }, []string{"leaf-0 Ethernet1/2", "leaf-1 Ethernet1/2"}},
		"the name of another": {func(s *Site) { s.Switches[0].Neighbours[1].Describes = "ens1" }, []string{"", "leaf-1 Ethernet1/2"}},
		"all send that of the bond": {func(s *Site) { s.Switches[1].Neighbours[1].PortID = s.Switches[0].Neighbours[1].PortID },
			[]string{"", ""}},
	} {
		s := rack()
		nics := s.Hosts[1].NICs
		for i := range nics {
			nics[i].Permanent, nics[i].MAC = nics[i].MAC, nics[0].MAC
		}
		c.change(s)
		s.match()
		for i, e := range s.of[s.Hosts[1]] {
			got := ""
			if h := s.hears(e); h != nil {
				got = h.sw.Name + " " + h.Port
			}
			if got != c.heard[i] {
				t.Errorf("%s: port %d is heard at %q, wanted %q", name, i, got, c.heard[i])
			}
		}
	}
	s := rack()
	s.Hosts[1].Netdevs = append(s.Hosts[1].Netdevs, host.Netdev{Name: "bond0", Kind: "bond", MTU: 9100})
	for i := range s.Hosts[1].Netdevs[:2] {
		s.Hosts[1].Netdevs[i].Bond = "bond0"
	}
	if f := by(Examine(s, nil).Findings, "WD-MTU-04"); len(f) != 2 || f[0].Place.Part != "bond0" {
		t.Errorf("a bond with longer frames than its parts: %+v", f)
	}
}
