package nic

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/traffic"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/see"
	"weft/plan"
)

// ETS keeps how one NIC port shares its bandwidth: the traffic class of each
// priority, how each traffic class is selected for transmission, and its
// share.
type ETS struct {
	PCI       string                  // address of the NIC port: 0000:41:00.0
	Interface string                  `json:"-"` // observed: the name it has today
	Willing   bool                    // the port takes settings from the switch
	PrioTC    [traffic.Priorities]int // the traffic class of each priority
	TSA       [traffic.Priorities]string
	Share     [traffic.Priorities]int // percent of each traffic class; of those with TSA ets it is 100 together
}

// ETSKind is the kind ets.
func ETSKind() *host.Kind[ETS] {
	return &host.Kind[ETS]{
		Name: "ets", Lasting: true, Risky: true, Port: etsPort,
		Looks: (*ETS).Looks, Parse: (*ETS).Parse, Diff: (*ETS).Diff, Steps: (*ETS).Steps,
		About: (*ETS).About, Boot: (*ETS).Boot,
	}
}

// selections are the ways in which a traffic class can be selected for
// transmission, as dcb names them.
func selections() []string { return []string{"ets", "strict", "cbs", "vendor"} }

// newETS gives each class a traffic class, counted from 0 by ascending
// priority: the drivers of Intel and Broadcom refuse gaps. All other priorities
// go with the class default. Traffic classes without a priority are strict,
// because Broadcom's driver refuses ets without a share.
func newETS(pci string, classes []*inventory.TrafficClass) *ETS {
	e := &ETS{PCI: pci}
	classes = slices.Clone(classes)
	slices.SortStableFunc(classes, func(a, b *inventory.TrafficClass) int { return a.Priority - b.Priority })
	others := max(0, slices.IndexFunc(classes, func(c *inventory.TrafficClass) bool { return c.Name == "default" }))
	for i := range e.PrioTC {
		e.PrioTC[i], e.TSA[i] = others, "strict"
	}
	for tc, c := range classes {
		e.PrioTC[c.Priority] = tc
		if !c.Strict {
			e.TSA[tc], e.Share[tc] = "ets", c.Bandwidth
		}
	}
	return e
}

func (e *ETS) look() remote.Look {
	return remote.Look{PCI: e.PCI, Args: []string{"dcb", "-j", "ets", "show", "dev", "{if}"}}
}

func (e *ETS) Looks() []remote.Look { return []remote.Look{e.look()} }

// Parse: a port that has too few traffic classes, or whose
// settings could not be put back, is refused.
func (e *ETS) Parse(s remote.Seen) (*ETS, error) {
	name, out, err := see.OutputOn(s, e.PCI, e.look())
	if err != nil {
		return nil, err
	}
	var got struct {
		Willing bool     `json:"willing"`
		Cap     int      `json:"ets_cap"`
		PrioTC  []int    `json:"prio_tc"`
		TSA     []string `json:"tc_tsa"`
		Share   []int    `json:"tc_bw"`
	}
	if err := see.JSON(out, &got); err != nil || len(got.PrioTC) != traffic.Priorities || len(got.TSA) != traffic.Priorities || len(got.Share) != traffic.Priorities {
		return nil, fmt.Errorf("dcb -j ets show dev %s answers %q", name, out)
	}
	// The field has three bits on the wire, where 0 stands for 8.
	if n := slices.Max(e.PrioTC[:]) + 1; got.Cap > 0 && n > got.Cap {
		return nil, fmt.Errorf("%s has %d traffic classes, the fabric needs %d", name, got.Cap, n)
	}
	for tc, how := range got.TSA {
		if !slices.Contains(selections(), how) {
			return nil, fmt.Errorf("dcb reports %q for traffic class %d of %s, which could not be restored", how, tc, name)
		}
	}
	return &ETS{PCI: e.PCI, Interface: name, Willing: got.Willing,
		PrioTC: [traffic.Priorities]int(got.PrioTC), TSA: [traffic.Priorities]string(got.TSA), Share: [traffic.Priorities]int(got.Share)}, nil
}

func (e *ETS) Diff(have *ETS) []plan.Change {
	return slices.Concat(
		plan.Changed("willing", have.willing(), e.willing(), plan.ImpactTraffic),
		plan.Changed("prio-tc", mapping(have.PrioTC), mapping(e.PrioTC), plan.ImpactTraffic),
		plan.Changed("tc-tsa", mapping(have.TSA), mapping(e.TSA), plan.ImpactTraffic),
		plan.Changed("tc-bw", mapping(have.shares()), mapping(e.shares()), plan.ImpactTraffic),
	)
}

func (e *ETS) willing() string { return map[bool]string{true: "on", false: "off"}[e.Willing] }

// shares are those of the traffic classes that have one. mlx5 reports 100 for
// all others.
func (e *ETS) shares() [traffic.Priorities]int {
	list := e.Share
	for tc, how := range e.TSA {
		if how != "ets" {
			list[tc] = 0
		}
	}
	return list
}

// Steps: one command, because dcb refuses what does not sum to
// 100 in between, and all of it, because a fresh mlx5 begins with "vendor".
func (e *ETS) Steps(have *ETS) []remote.Step {
	share, total := e.shares(), 0
	for _, n := range e.Share {
		total += n
	}
	if total == 100 {
		share = e.Share // found so: dcb counts what strict classes have as well
	}
	args := []string{"dcb", "ets", "set", "dev", cmp.Or(e.Interface, have.Interface), "willing", e.willing()}
	args = append(append(args, "prio-tc"), strings.Fields(mapping(e.PrioTC))...)
	args = append(append(args, "tc-tsa"), strings.Fields(mapping(e.TSA))...)
	args = append(append(args, "tc-bw"), strings.Fields(mapping(share))...)
	return []remote.Step{host.Run(args...)}
}

// mapping writes a list as dcb takes it: the most frequent value for all, then
// what differs.
func mapping[V comparable](list [traffic.Priorities]V) string {
	count := map[V]int{}
	for _, v := range list {
		count[v]++
	}
	all := list[0]
	for _, v := range list {
		if count[v] > count[all] {
			all = v
		}
	}
	var words []string
	if count[all] > 1 {
		words = append(words, fmt.Sprint("all:", all))
	}
	for i, v := range list {
		if v != all || count[all] == 1 {
			words = append(words, strconv.Itoa(i)+":"+fmt.Sprint(v))
		}
	}
	return strings.Join(words, " ")
}

func (e *ETS) About() string { return e.PCI }

func (e *ETS) Boot() []string { return dcbLines(e.PCI, e.Steps(&ETS{Interface: anyNIC})) }

func etsPort(r *inventory.RNIC) *ETS {
	if !classful(r) || len(r.Fabric.Classes) == 0 {
		return nil
	}
	return newETS(r.Place(), r.Fabric.Classes)
}
