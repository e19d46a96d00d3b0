package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"weft/internal/slice"
	"weft/modules/host"
)

// deepSleep is how long a CPU may take to wake, in microseconds.
const deepSleep = 20

func sleep(h *Host, r *ruling) {
	if !r.knows(h.Idle != nil, h.place(), "its CPUs have no cpuidle: a guest, or a kernel without") {
		return
	}
	var deep []string
	for _, x := range h.Idle {
		if !x.Off && x.Latency > deepSleep {
			deep = append(deep, fmt.Sprintf("%s (%d µs)", x.Name, x.Latency))
		}
	}
	r.unless(len(deep) > 0, h.place(), "CPU 0 may enter %s, unless a profile holds /dev/cpu_dma_latency", strings.Join(deep, ", "))
}

func interrupts(e end, r *ruling) {
	v := e.nic.Vector
	if r.knows(v != nil, e.place(), "the CPUs of its interrupts could not be read") {
		r.unless(v.Off > 0, e.place(), "%d of its %d interrupts run outside the CPUs of its node (%s)", v.Off, v.All, v.Node)
	}
}

func flaws(s *Site, r *ruling) {
	for _, group := range slice.Group(s.Hosts, (*Host).role) {
		var votes []string
		for _, h := range group {
			if h.Flaws != nil {
				votes = append(votes, words(h.Flaws))
			}
		}
		usual, alone := most(votes)
		kinds := distinct(votes)
		for _, h := range group {
			if !r.knows(h.Flaws != nil, h.place(), "its CPU mitigations could not be read") {
				continue
			}
			is := words(h.Flaws)
			r.unless(is != usual || !alone, h.place(), "mitigations or SMT differ from other machines of its role: %s", unlike(is, another(kinds, is)))
		}
	}
}

// unlike are the parts of a list that another one lacks.
func unlike(is, other string) string {
	rest := strings.Split(other, "; ")
	list := slices.DeleteFunc(strings.Split(is, "; "), func(w string) bool { return slices.Contains(rest, w) })
	return strings.Join(list, "; ")
}

// mostStolen is the part of the time that a machine below may take.
const mostStolen = 0.01

func stolen(h *Host, r *ruling) {
	before := r.site.Before.host(h.Name)
	if !r.knows(h.Ticks != nil && before != nil && before.Ticks != nil && h.Ticks.All > before.Ticks.All, h.place(), "its CPU time was not read twice") ||
		!continued(r, h.place(), before.Ticks.Stolen, h.Ticks.Stolen, "the steal time") {
		return
	}
	part := float64(h.Ticks.Stolen-before.Ticks.Stolen) / float64(h.Ticks.All-before.Ticks.All)
	r.unless(part > mostStolen, h.place(), "the hypervisor took %.1f %% of its CPU time", part*100)
}

// host is what a machine was in this reading; nil: it was not read.
func (s *Site) host(name string) *Host { return s.named[name] }

// hugePages compares machines of a role: who needs them reserves them on all.
func hugePages(s *Site, r *ruling) {
	for _, group := range slice.Group(s.Hosts, (*Host).role) {
		var votes []int
		for _, h := range group {
			if n, ok := h.Memory["HugePages_Total"]; ok {
				votes = append(votes, n)
			}
		}
		usual, alone := most(votes)
		for _, h := range group {
			n, ok := h.Memory["HugePages_Total"]
			if r.knows(ok, h.place(), "/proc/meminfo does not report huge pages") {
				r.unless(n != usual || !alone, h.place(), "%d huge pages are reserved; other machines of its role have another number", n)
			}
		}
	}
}

func managers(h *Host, r *ruling) {
	if !r.knows(h.Units != nil, h.place(), "its active services could not be read") {
		return
	}
	list := slice.Filter([]string{"lldpad", "nvmet"}, func(name string) bool { return h.Units[name] == "active" })
	r.unless(len(list) > 0, h.place(), "%s is active, and changes settings that weft manages", strings.Join(list, " and "))
}

// mostFull is how full a file system may be, in percent.
const mostFull = 95

func full(h *Host, r *ruling) {
	if r.knows(h.Full != nil, h.place(), "the usage of its file systems could not be read") {
		for dir, n := range h.Full {
			r.unless(n > mostFull, h.part(dir), "%d %% of %s is in use", n, dir)
		}
	}
}

func lockdown(h *Host, r *ruling) {
	if r.knows(h.Lockdown != "", h.place(), "it has no /sys/kernel/security/lockdown") {
		r.unless(!strings.Contains(h.Lockdown, "[none]"), h.place(), "kernel lockdown is active (%s): settings in debugfs, such as ECN of ConnectX, cannot be changed", h.Lockdown)
	}
}

// number is a file of a controller as a number; false: it is none, or not there.
func number(c host.Controller, file string) (int, bool) {
	n, err := strconv.Atoi(c.Values[file])
	return n, err == nil
}

func keepAlive(h *Host, r *ruling) {
	for _, c := range h.paths() {
		n, ok := number(c, "kato")
		if r.knows(ok, h.part(c.Name), "its kato could not be read") {
			r.unless(n == 0, h.part(c.Name), "keep-alive is off: only I/O detects a lost path")
		}
	}
}

// queues compares those of a connection with what NICs of the machine are known to take.
func queues(h *Host, r *ruling) {
	limit, card, source := 0, "", ""
	for _, e := range r.site.of[h] {
		if r.site.Hardware == nil {
			break
		}
		if row := r.site.Hardware.NIC(e.nic.ID); row != nil && row.IOQueues.Known && (limit == 0 || row.IOQueues.Value < limit) {
			limit, card, source = row.IOQueues.Value, row.Model, row.IOQueues.From()
		}
	}
	for _, c := range h.paths() {
		n, ok := number(c, "queue_count")
		switch {
		case c.Transport != "rdma":
		case !ok:
			r.unknown(h.part(c.Name), "the number of its queues could not be read")
		default:
			r.unless(limit > 0 && n-1 > limit, h.part(c.Name), "it has %d I/O queues, but %s supports %d (%s)", n-1, card, limit, source)
		}
	}
}

// deepQueue and its kernel: what older ones than 6.9 were not made for.
const deepQueue = 128

func queueSize(h *Host, r *ruling) {
	for _, c := range h.paths() {
		n, ok := number(c, "sqsize")
		v := version(h.Facts.Kernel)
		if r.knows(ok && v != nil, h.part(c.Name), "its sqsize, or the kernel, could not be read") {
			r.unless(n+1 > deepQueue && slices.Compare(v, []int{6, 9}) < 0, h.part(c.Name), "its queues hold %d commands; kernel %s supports %d", n+1, h.Facts.Kernel, deepQueue)
		}
	}
}

// timeouts asks whether a connection is tried again before it is given up.
func timeouts(h *Host, r *ruling) {
	for _, c := range h.paths() {
		kato, ok1 := number(c, "kato")
		again, ok2 := number(c, "reconnect_delay")
		loss, ok3 := number(c, "ctrl_loss_tmo")
		if c.Values["ctrl_loss_tmo"] == "off" {
			loss, ok3 = -1, true
		}
		if r.knows(ok1 && ok2 && ok3, h.part(c.Name), "its timeouts could not be read") {
			r.unless(loss >= 0 && (kato >= loss || again >= loss), h.part(c.Name), "it is given up after %d s, but a lost path is detected after %d s and retried every %d s", loss, kato, again)
		}
	}
}
