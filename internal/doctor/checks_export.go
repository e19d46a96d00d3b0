package doctor

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/nvme/names"
	"weft/internal/text"
	"weft/modules/host"
)

// twins looks for one NQN or UUID that two targets of the kernel export.
func twins(s *Site, r *ruling) {
	type at struct{ host, where, from string }
	first := map[string]at{}
	for _, h := range s.Hosts {
		if !r.knows(h.Modules != nil, h.place(), "the exports of the kernel are unknown") {
			continue
		}
		bad := false
		see := func(key, what string, here at) {
			other, again := first[key]
			if !again {
				first[key] = here
			} else if other.host != here.host {
				bad = true
				r.bad(h.part(here.where), "%s exports %s as well", other.host, what)
			}
		}
		for _, e := range h.Exports {
			if e.CntlidMin == "" || e.CntlidMin == "1" && e.CntlidMax == "65519" { // with ranges it is one subsystem of two targets
				see("nqn "+e.NQN, e.NQN, at{h.Name, e.NQN, ""})
				for _, n := range e.Namespaces {
					if uuid := n.Values["device_uuid"]; uuid != "" && strings.Trim(uuid, "0-") != "" {
						see("uuid "+uuid, "a namespace with UUID "+uuid, at{h.Name, e.NQN, ""})
					}
				}
			}
		}
		if !bad {
			r.fine()
		}
	}
}

// ranges of controller ids of one subsystem on two targets must not overlap.
func controllerIDs(s *Site, r *ruling) {
	type span struct {
		host     *Host
		min, max int
	}
	seen := map[string][]span{}
	for _, h := range s.Hosts {
		if !r.knows(h.Modules != nil, h.place(), "the exports of the kernel are unknown") {
			continue
		}
		bad := false
		for _, e := range h.Exports {
			low, err1 := strconv.Atoi(e.CntlidMin)
			high, err2 := strconv.Atoi(e.CntlidMax)
			if err1 != nil || err2 != nil || e.CntlidMin == "1" && e.CntlidMax == "65519" {
				continue // the kernel's own range: WD-NVM-10 tells a second one
			}
			for _, x := range seen[e.NQN] {
				if x.host != h && low <= x.max && x.min <= high {
					bad = true
					r.bad(h.part(e.NQN), "controller IDs %d to %d overlap %s with %d to %d", low, high, x.host.Name, x.min, x.max)
				}
			}
			seen[e.NQN] = append(seen[e.NQN], span{h, low, high})
		}
		if !bad {
			r.fine()
		}
	}
}

func anyHost(h *Host, r *ruling) {
	for _, e := range h.Exports {
		if e.NQN == names.Discovery {
			continue
		}
		if r.knows(e.AnyHost != "", h.part(e.NQN), "its allowed hosts could not be read") {
			r.unless(e.AnyHost == "1", h.part(e.NQN), "it admits every host that reaches it")
		}
	}
}

// exportedAndMounted looks for a device that is exported and in use here as well.
func exportedAndMounted(h *Host, r *ruling) {
	for _, e := range h.Exports {
		for _, n := range e.Namespaces {
			device := n.Values["device_path"]
			switch {
			case n.Values["enable"] == "0":
			case device == "":
				r.unknown(h.part(e.NQN), "the device of namespace %s could not be read", n.ID)
			default:
				i := slices.IndexFunc(h.Mounts, func(m host.Mount) bool { return m.Device == device })
				where := ""
				if i >= 0 {
					where = h.Mounts[i].Dir
				}
				r.unless(i >= 0, h.part(e.NQN), "namespace %s is %s, which is mounted at %s here", n.ID, device, where)
			}
		}
	}
}

// mostUsed is how much of its life a drive may have used, in percent.
const mostUsed = 90

func smart(h *Host, r *ruling) {
	for _, c := range h.Controllers {
		if c.Transport != "pcie" {
			continue
		}
		if !r.knows(c.Smart != nil, h.part(c.Name), "its health was not read: nvme-cli is not installed") {
			continue
		}
		x := c.Smart
		r.unless(x.Warning != 0 || x.Used > mostUsed || x.Errors > 0, h.part(c.Name), "critical warnings %#x, %d %% of its endurance used, %d media errors", x.Warning, x.Used, x.Errors)
	}
}

// heat compares the temperature of a drive with what it allows itself.
func heat(h *Host, r *ruling) {
	for _, c := range h.Controllers {
		if c.Transport != "pcie" {
			continue
		}
		now, most := -1, -1
		for file := range c.Values {
			n, ok := number(c, file)
			switch {
			case !ok:
			case strings.HasSuffix(file, "/temp1_input"):
				now = n
			case strings.HasSuffix(file, "/temp1_max"):
				most = n
			}
		}
		if r.knows(now >= 0 && most >= 0, h.part(c.Name), "its temperature or threshold could not be read") {
			r.unless(now >= most, h.part(c.Name), "it has %d °C; its threshold is %d", now/1000, most/1000)
		}
	}
}

// missing looks for drives that pools name and the machine does not have.
func missing(h *Host, r *ruling) {
	count, gone := h.wanted(r.site)
	switch {
	case count == 0:
	case h.Disks == nil:
		r.unknown(h.place(), "its drives could not be read")
	default:
		r.unless(len(gone) > 0, h.place(), "it lacks %d of %d drives: %s", len(gone), count, text.List(gone, mostPlaces))
	}
}

// usual is the host whose clock is in the middle of all; nil: none is known.
func (s *Site) usual() *Host {
	var list []*Host
	for _, x := range s.Hosts {
		if x.Clock != nil {
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b *Host) int { return cmp.Compare(a.Skew, b.Skew) })
	return list[len(list)/2]
}

// apart is how far the clocks of two hosts differ, as far as that is certain: both answers took
// time.
func (h *Host) apart(from *Host) time.Duration {
	return max(0, (h.Skew-from.Skew).Abs()-(h.Slack+from.Slack)/2)
}
