package nic

import (
	"slices"
	"testing"

	"weft/inventory"
)

// Classes become traffic classes without gaps; what has no class goes with
// the default, and nothing unused waits for a share.
func TestNewETS(t *testing.T) {
	rdma := &inventory.TrafficClass{Name: "rdma", Priority: 3, Bandwidth: 50, DSCP: []int{26, 24}}
	cnp := &inventory.TrafficClass{Name: "cnp", Priority: 6, Strict: true, DSCP: []int{48}}
	others := &inventory.TrafficClass{Name: "default", Priority: 0, Bandwidth: 50}
	late := &inventory.TrafficClass{Name: "default", Priority: 5, Bandwidth: 50}
	for name, test := range map[string]struct {
		classes           []*inventory.TrafficClass
		prio, tsa, shares string
	}{
		"pilot":               {[]*inventory.TrafficClass{rdma, cnp, others}, "all:0 3:1 6:2", "all:strict 0:ets 1:ets", "all:0 0:50 1:50"},
		"default in between":  {[]*inventory.TrafficClass{rdma, cnp, late}, "all:1 3:0 6:2", "all:strict 0:ets 1:ets", "all:0 0:50 1:50"},
		"no default":          {[]*inventory.TrafficClass{cnp, {Priority: 3, Bandwidth: 100}}, "all:0 6:1", "all:strict 0:ets", "all:0 0:100"},
		"nothing but strict":  {[]*inventory.TrafficClass{cnp}, "all:0", "all:strict", "all:0"},
		"a class of all else": {[]*inventory.TrafficClass{{Name: "default", Bandwidth: 100}}, "all:0", "all:strict 0:ets", "all:0 0:100"},
	} {
		before := slices.Clone(test.classes)
		e := newETS("", test.classes)
		if mapping(e.PrioTC) != test.prio || mapping(e.TSA) != test.tsa || mapping(e.Share) != test.shares {
			t.Errorf("%s: prio-tc %s tc-tsa %s tc-bw %s", name, mapping(e.PrioTC), mapping(e.TSA), mapping(e.Share))
		}
		if !slices.Equal(before, test.classes) {
			t.Errorf("%s: the classes of the model were sorted", name)
		}
	}
	if got := newDSCP("", []*inventory.TrafficClass{cnp, rdma, others}).Map; !slices.Equal(got, []Marking{{24, 3}, {26, 3}, {48, 6}}) {
		t.Errorf("DSCP map: %v", got)
	}
}

func TestMapping(t *testing.T) {
	for want, list := range map[string][8]int{
		"all:0":                           {},
		"all:0 3:1 6:2":                   {3: 1, 6: 2},
		"all:1 0:0":                       {0, 1, 1, 1, 1, 1, 1, 1},
		"0:1 1:0 2:2 3:3 4:4 5:5 6:6 7:7": {1, 0, 2, 3, 4, 5, 6, 7},
	} {
		if got := mapping(list); got != want {
			t.Errorf("%v: %s, want %s", list, got, want)
		}
	}
}
