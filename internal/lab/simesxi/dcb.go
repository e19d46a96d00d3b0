//go:build unix

package simesxi

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// What NICs say of DCB.
const (
	dcbIEEE   = "ieee"   // what the switch gives by DCBX
	dcbCEE    = "cee"    // the switch speaks CEE only, and gives nothing
	dcbOff    = "off"    // DCBX gives nothing: PFC is what the driver was loaded with
	dcbSilent = "silent" // a release that does not print the configuration
)

// DCB has the NICs of the host say ieee, cee, off or silent.
func (h *Host) DCB(how string) error {
	if !slices.Contains([]string{dcbIEEE, dcbCEE, dcbOff, dcbSilent}, how) {
		return fmt.Errorf("dcb: %q is none of ieee, cee, off, silent", how)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.dcb = how
	return nil
}

// dcbStatus prints those labels that operators have quoted: the rest of the layout has no
// source.
func dcbStatus(h *Host, o map[string]string) (string, error) {
	i := slices.IndexFunc(h.nics, func(n *nic) bool { return n.name == o["n"] })
	if i < 0 {
		return "", says("Invalid nic name: %s", o["n"])
	}
	mode, paused := "IEEE Mode", h.nics[i].Lossless
	switch h.dcb {
	case dcbCEE:
		mode, paused = "CEE Mode", nil
	case dcbOff:
		paused = loadedPFC(h.loaded["nmlx5_core"])
	}
	flags := make([]string, 8)
	for p := range flags {
		flags[p] = "0"
		if slices.Contains(paused, p) {
			flags[p] = "1"
		}
	}
	fields := []any{"Mode", mode, "PFCEnabled", len(paused) > 0}
	if h.dcb != dcbSilent {
		fields = append(fields, "PFCConfiguration", strings.Join(flags, " "))
	}
	none := strings.Repeat("0 ", 7) + "0"
	return structure("DCBStatus", append(fields, "SentPFCFrames", none, "ReceivedPFCFrames", none)...), nil
}

// nicStats: nothing is dropped on this host.
func nicStats(h *Host, o map[string]string) (string, error) {
	if !slices.ContainsFunc(h.nics, func(n *nic) bool { return n.name == o["n"] }) {
		return "", says("Invalid nic name: %s", o["n"])
	}
	return structure("NicStats", "BytesReceived", 0, "BytesSent", 0, "PacketsReceived", 0, "PacketsSent", 0, "ReceivePacketsDropped", 0, "TotalReceiveErrors", 0, "TransmitPacketsDropped", 0), nil
}

// loadedPFC are the priorities that the parameters of the driver name.
func loadedPFC(parameters string) (list []int) {
	for _, word := range strings.Fields(parameters) {
		name, value, _ := strings.Cut(word, "=")
		bits, err := strconv.ParseUint(value, 0, 8)
		if name != "pfctx" || err != nil {
			continue
		}
		for p := range 8 {
			if bits&(1<<p) != 0 {
				list = append(list, p)
			}
		}
	}
	return list
}

// Longest has no packet that is longer come through, bytes; 0: all do that the ports take.
func (h *Host) Longest(bytes int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.longest = bytes
}

// vmkping sends no packets: whoever is in the subnet of the port answers, where its own
// port and the switch take the length.
func vmkping(x *call) int {
	h, a := x.s.h, x.args
	stack := defaultStack
	if len(a) == 10 && a[2] == "-S" {
		stack = a[3]
		a = slices.Concat(a[:2], a[4:])
	}
	if len(a) != 8 || a[0] != "-I" || a[2] != "-d" || a[3] != "-s" || a[5] != "-c" {
		return x.fail("this SIMULATED host takes -I VMK [-S NETSTACK] -d -s SIZE -c COUNT ADDRESS only")
	}
	to, err := netip.ParseAddr(a[7])
	size, bad := strconv.Atoi(a[4])
	count, worse := strconv.Atoi(a[6])
	if err != nil || bad != nil || worse != nil {
		return x.fail("invalid argument")
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	v, ok := h.now.vmks[a[1]]
	if !ok || v.stack != stack {
		return x.fail("Unable to find interface %s", a[1])
	}
	fmt.Fprintf(x.out, "PING %s (%s): %d data bytes\n", to, to, size)
	got := 0
	switch length := size + 28; {
	case length > v.mtu:
		fmt.Fprintln(x.out, "sendto() failed (Message too long)")
	case v.contains(to) && (v.dvs != "" || length <= h.now.switches[h.now.groups[v.group].on].mtu) && (h.longest == 0 || length <= h.longest):
		got = count
	}
	fmt.Fprintf(x.out, "\n--- %s ping statistics ---\n%d packets transmitted, %d packets received, %d%% packet loss\n", to, count, got, 100*(count-got)/max(count, 1))
	if got == 0 {
		return 1
	}
	return 0
}

// contains reports whether an address is in the subnet of a port.
func (v vmk) contains(to netip.Addr) bool {
	ip, err := netip.ParseAddr(v.address)
	mask, bad := netip.ParseAddr(v.mask)
	if err != nil || bad != nil {
		return false
	}
	bits := 0
	for _, b := range mask.AsSlice() {
		for ; b&0x80 != 0; b <<= 1 {
			bits++
		}
	}
	return netip.PrefixFrom(ip, bits).Contains(to)
}

// A pause is global pause of a NIC.
type pause struct{ rx, tx bool }

func pauseList(h *Host, _ map[string]string) (string, error) {
	var rows []string
	for _, n := range h.nics {
		p := h.now.pauses[n.name]
		rows = append(rows, structure("PauseParams", "AutoNegotiation", false, "AutoNegotiationResolutionAvail", false, "NIC", n.name, "PauseParamsSupported", true,
			"PauseRX", p.rx, "PauseTX", p.tx))
	}
	return list(rows...), nil
}

// pauseSet refuses a NIC that has PFC by DCBX, as nmlx5_core does.
func pauseSet(h *Host, o map[string]string) (string, error) {
	i := slices.IndexFunc(h.nics, func(n *nic) bool { return n.name == o["n"] })
	if i < 0 {
		return "", says("Invalid nic name: %s", o["n"])
	}
	if h.dcb == dcbIEEE && len(h.nics[i].Lossless) > 0 {
		return "", says("Unable to complete Sysinfo operation.  Please see the VMkernel log file for more details.")
	}
	p := h.now.pauses[o["n"]]
	for short, to := range map[string]*bool{"r": &p.rx, "t": &p.tx} {
		text, given := o[short]
		if !given {
			continue
		}
		on, err := boolean(text)
		if err != nil {
			return "", err
		}
		*to = on
	}
	h.now.pauses[o["n"]] = p
	return "", nil
}
