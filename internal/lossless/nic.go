package lossless

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"weft/internal/traffic"
	"weft/inventory"
	"weft/modules/host"
)

// judgeNIC compares what a NIC is set to with its fabric. Classes are those of NICs in
// fabrics of RoCE only, as weft sets them.
func judgeNIC(f *inventory.Fabric, n host.NICReading) (out []Finding) {
	says := func(what string) string { return cmp.Or(n.Silent[what], "the server does not tell") }
	switch {
	case f.HostMTU == 0:
	case n.MTU == 0:
		out = append(out, Finding{Aspect: MTU, Why: says("mtu")})
	case n.MTU != f.HostMTU:
		out = append(out, Finding{Aspect: MTU, Is: strconv.Itoa(n.MTU), Want: strconv.Itoa(f.HostMTU)})
	}
	if f.Transport != "rocev2" {
		return out
	}
	var lossless []int
	for _, c := range f.Classes {
		if c.PFC {
			lossless = append(lossless, c.Priority)
		}
	}
	slices.Sort(lossless)
	switch have := slices.Sorted(slices.Values(n.PFC)); {
	case n.PFC == nil:
		out = append(out, Finding{Aspect: PFC, Why: says("pfc")})
	case !slices.Equal(have, lossless):
		out = append(out, Finding{Aspect: PFC, Is: priorities(have), Want: priorities(lossless)})
	}
	switch {
	case n.Pause == nil:
		out = append(out, Finding{Aspect: Pause, Why: says("pause")})
	case n.Pause.RX || n.Pause.TX:
		out = append(out, Finding{Aspect: Pause, Is: fmt.Sprintf("rx %t, tx %t", n.Pause.RX, n.Pause.TX), Want: "off for the whole link"})
	}
	if n.DSCP == nil {
		out = append(out, Finding{Aspect: Classification, Why: says("app")})
	} else {
		out = append(out, marks(f, n.DSCP)...)
	}
	if n.ETS == nil || n.Classes == nil {
		out = append(out, Finding{Aspect: ETS, Why: says("ets")})
	} else {
		out = append(out, shares(f, n)...)
	}
	for _, c := range f.Classes {
		switch {
		case c.ECN == nil:
		case n.ECN == nil:
			out = append(out, Finding{Aspect: ECN, Class: c.Name, Why: cmp.Or(n.Silent["ecn"], "its driver does not show whether it answers ECN marks")})
		case !n.ECN[c.Priority]:
			out = append(out, Finding{Aspect: ECN, Class: c.Name, Is: "off", Want: "on"})
		}
	}
	return out
}

func marks(f *inventory.Fabric, have map[int]int) (out []Finding) {
	for _, c := range f.Classes {
		for _, d := range c.DSCP {
			if p, mapped := have[d]; !mapped || p != c.Priority {
				is := "none"
				if mapped {
					is = strconv.Itoa(p)
				}
				out = append(out, Finding{Aspect: Classification, Class: c.Name, Is: fmt.Sprintf("priority %s for DSCP %d", is, d), Want: strconv.Itoa(c.Priority)})
			}
		}
	}
	return out
}

func shares(f *inventory.Fabric, n host.NICReading) (out []Finding) {
	for _, c := range f.Classes {
		want := c.Bandwidth
		if c.Strict {
			want = -1
		}
		tc := n.Classes[c.Priority]
		if tc < 0 || tc >= traffic.Priorities || n.ETS[tc] != want {
			is := "no traffic class"
			if tc >= 0 && tc < traffic.Priorities {
				is = share(n.ETS[tc])
			}
			out = append(out, Finding{Aspect: ETS, Class: c.Name, Is: is, Want: share(want)})
		}
		if with := beside(c, n.Classes); len(with) > 0 {
			out = append(out, Finding{Aspect: ETS, Class: c.Name, Is: fmt.Sprintf("in traffic class %d together with priority %s", tc, traffic.Ranges(with)), Want: "a traffic class of its own"})
		}
	}
	return out
}

// beside are the other priorities in the traffic class of a lossless class.
func beside(c *inventory.TrafficClass, of *[traffic.Priorities]int) (list []int) {
	for p, tc := range of {
		if c.PFC && p != c.Priority && tc == of[c.Priority] {
			list = append(list, p)
		}
	}
	return list
}

func share(percent int) string {
	if percent < 0 {
		return "strict"
	}
	return strconv.Itoa(percent) + "%"
}

func priorities(list []int) string {
	if len(list) == 0 {
		return "off"
	}
	return "on for priority " + traffic.Ranges(list)
}
