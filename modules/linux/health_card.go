package linux

import (
	"encoding/json"
	"fmt"
	"math/bits"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"weft/internal/pattern"
	"weft/internal/traffic"
	"weft/modules/host"
	"weft/modules/linux/see"
)

// card puts together what was said of the card of a NIC.
func (r *healthRead) card(n *host.NICHealth) {
	said := func(what string) (string, bool) {
		text, ok := r.said[[2]string{n.PCI, what}]
		return strings.TrimSpace(text), ok
	}
	n.ASPM = r.aspm[n.PCI]
	if text, ok := said("path"); ok && strings.HasPrefix(text, "/") {
		n.Path = printable(text)
		above, _ := said("above")
		n.Above = bridges(above)
	}
	if text, ok := said("config"); ok {
		n.Read = readRequest(text)
	}
	if text, ok := said("irqs"); ok {
		n.Vector = vectors(text, r.local[n.PCI])
	}
	for _, p := range n.RDMA {
		at := fmt.Sprintf("%s/%d/", p.Device, p.Port)
		for key, a := range r.gids {
			if strings.HasPrefix(key, at) {
				n.GIDs = append(n.GIDs, host.GID{Address: a, Type: r.gidTypes[key]})
			}
		}
	}
	slices.SortFunc(n.GIDs, func(a, b host.GID) int { return a.Address.Compare(b.Address) })
}

// laneFile is a file about lanes; addresses of PCI devices hold colons, and speeds a slash.
var laneFile = pattern.New(`^(/.*)/((?:current|max)_link_(?:speed|width)):(.*)$`)

// bridges reads the lanes of what is above a card, the next one first.
func bridges(text string) []host.Bridge {
	out := []host.Bridge{}
	last := ""
	for line := range strings.Lines(text) {
		m := laneFile.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		at, file, value := m[1], m[2], m[3]
		if at != last {
			out, last = append(out, host.Bridge{}), at
		}
		b := &out[len(out)-1]
		switch file {
		case "current_link_speed":
			b.Now.Speed = transfers(value)
		case "max_link_speed":
			b.Max.Speed = transfers(value)
		case "current_link_width":
			b.Now.Width, _ = strconv.Atoi(value)
		case "max_link_width":
			b.Max.Width, _ = strconv.Atoi(value)
		}
	}
	return out
}

// readRequest finds the PCI Express capability (id 10h) in the head of a configuration
// space and reads the largest read request of its Device Control register: bits 14 to 12,
// 128 bytes shifted by them. 0: it is not there.
func readRequest(dump string) int {
	var raw []byte
	for _, w := range strings.Fields(dump) {
		n, err := strconv.ParseUint(w, 16, 8)
		if err != nil || len(w) != 2 {
			return 0
		}
		raw = append(raw, byte(n))
	}
	if len(raw) < 64 || raw[6]&0x10 == 0 {
		return 0
	}
	at := int(raw[0x34] &^ 3)
	for range 48 { // as many as there can be
		if at < 0x40 || at+10 > len(raw) {
			return 0
		}
		if raw[at] == 0x10 {
			return 128 << (raw[at+9] >> 4 & 7)
		}
		at = int(raw[at+1] &^ 3)
	}
	return 0
}

// vectors counts the interrupts that run on CPUs off the card's node; nil: not known.
func vectors(text, local string) *host.Vectors {
	node := cpuSet(local)
	if len(node) == 0 {
		return nil
	}
	v := &host.Vectors{Node: local}
	for line := range strings.Lines(text) {
		_, list, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok || list == "" {
			continue
		}
		v.All++
		if slices.ContainsFunc(cpuSet(list), func(c int) bool { return !slices.Contains(node, c) }) {
			v.Off++
		}
	}
	if v.All == 0 {
		return nil
	}
	return v
}

// mostCPUs bounds what a list of CPUs may name.
const mostCPUs = 8192

// cpuSet reads "0-3,8".
func cpuSet(list string) (out []int) {
	for _, part := range strings.Split(strings.TrimSpace(list), ",") {
		from, to, ok := strings.Cut(part, "-")
		if !ok {
			to = from
		}
		a, err1 := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err1 != nil || err2 != nil || a < 0 || b < a || b > mostCPUs || len(out) > mostCPUs {
			return nil
		}
		for c := a; c <= b; c++ {
			out = append(out, c)
		}
	}
	return out
}

func takeDCBX(n *host.NICHealth, said string) bool {
	var got map[string]bool
	if see.JSON([]byte(said), &got) != nil || len(got) == 0 {
		return false
	}
	n.DCBX = &host.DCBX{Host: got["host"], IEEE: got["ieee"]}
	return true
}

func takeFlags(n *host.NICHealth, said string) bool {
	for line := range strings.Lines(said) {
		key, value, ok := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); ok && (value == "on" || value == "off") {
			note(&n.Flags, strings.TrimSpace(key), value)
		}
	}
	return n.Flags != nil
}

var uncorrectable = pattern.New(`(?m)^\s*uncorrectable_blocks:\s*(\d+)`)

// takeLost reads the blocks that FEC could not mend, of ethtool -I.
func takeLost(n *host.NICHealth, said string) {
	if m := uncorrectable.FindStringSubmatch(said); m != nil {
		if v, err := strconv.ParseUint(m[1], 10, 64); err == nil {
			n.Lost = &v
		}
	}
}

// smart reads nvme smart-log -o json; nil: it was not understood. Numbers may be
// quoted.
func smart(said string) *host.Smart {
	var got map[string]json.RawMessage
	if see.JSON([]byte(said), &got) != nil {
		return nil
	}
	number := func(names ...string) (n int, ok bool) {
		for _, name := range names {
			if raw := got[name]; raw != nil {
				v, err := strconv.Atoi(strings.Trim(string(raw), `"`))
				return v, err == nil
			}
		}
		return 0, false
	}
	s := &host.Smart{}
	var a, b, c bool
	s.Warning, a = number("critical_warning")
	s.Used, b = number("percent_used", "percentage_used")
	s.Errors, c = number("media_errors", "num_err_media")
	if !a || !b || !c {
		return nil
	}
	return s
}

// takePriorities reads which class each priority is in, of dcb -j ets.
func takePriorities(n *host.NICHealth, said string) {
	var got struct {
		Classes []int `json:"prio_tc"`
	}
	if see.JSON([]byte(said), &got) == nil && len(got.Classes) == traffic.Priorities && bits.Len(uint(slices.Max(got.Classes))) <= 3 && slices.Min(got.Classes) >= 0 {
		n.Classes = (*[8]int)(got.Classes)
	}
}

// takeOptics reads ethtool -m: the readings, and the alarms and warnings that the
// module raises by its own limits.
func takeOptics(n *host.NICHealth, said string) bool {
	o := &host.Optics{}
	found := false
	power := regexp.MustCompile(`/ (-?[0-9.]+) dBm`)
	for line := range strings.Lines(said) {
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		if !ok {
			continue
		}
		switch {
		case key == "Vendor PN":
			o.Model, found = printable(value), true
		case (strings.Contains(key, "alarm") || strings.Contains(key, "warning")) && value == "On":
			o.Alarms, found = append(o.Alarms, printable(key)), true
		case strings.HasPrefix(key, "Rcvr signal avg optical power") || strings.HasPrefix(key, "Receiver signal average optical power"):
			if m := power.FindStringSubmatch(value); m != nil {
				if dbm, err := strconv.ParseFloat(m[1], 64); err == nil && (o.RxDBm == nil || dbm < *o.RxDBm) {
					o.RxDBm, found = &dbm, true
				}
			}
		}
	}
	if found {
		n.Optics = o
	}
	return found
}
