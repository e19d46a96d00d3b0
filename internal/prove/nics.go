package prove

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weft/internal/remote"
	"weft/inventory"
)

// nicScript prints what NICs have counted, each after its PCI address: what
// ethtool has of the driver, the hardware counters of its RDMA ports, and what
// the standard has every port of InfiniBand count. There are hundreds of files:
// the shell reads them itself.
const nicScript = `PATH=$PATH:/usr/sbin:/sbin
value() { v=; read -r v 2>/dev/null <"$1"; }
for pci; do
  echo "nic $pci"
  d=/sys/bus/pci/devices/$pci
  l=$(readlink "$d/driver") && echo "driver ${l##*/}"
  for n in "$d"/net/* "$d"/virtio*/net/*; do
    if [ ! -e "$n" ]; then continue; fi
    n=${n##*/}
    ethtool -S "$n" 2>&1 || echo "ethtool failed"
    for r in /sys/class/infiniband/*; do
      for p in "$r"/ports/*; do
        value "$p/gid_attrs/ndevs/0"
        if [ "$v" != "$n" ] && [ ! -e "$d/infiniband/${r##*/}" ]; then continue; fi
        for c in "$p"/hw_counters/*; do
          if [ -f "$c" ]; then value "$c"; echo "hw ${c##*/} $v"; fi
        done
        value "$p/link_layer"
        if [ "$v" != InfiniBand ]; then continue; fi
        for c in "$p"/counters/*; do
          if [ -f "$c" ]; then value "$c"; echo "ib ${c##*/} $v"; fi
        done
      done
    done
  done
done`

// Words of what NICs count, besides those that switches count too.
const (
	rxBytes      = "rx_bytes"
	txBytes      = "tx_bytes"
	rxPause      = "rx_pause_duration" // microseconds for which a priority was not to send
	txPause      = "tx_pause_duration"
	outOfBuffer  = "out_of_buffer"
	outOfOrder   = "rdma.out_of_sequence"
	retransmits  = "rdma.retransmits"
	cnpSent      = "rdma.cnp_sent"
	cnpHandled   = "rdma.cnp_handled"
	ecnMarked    = "rdma.ecn_marked"
	drops        = "drops"
	pfcRx, pfcTx = "pfc_rx", "pfc_tx"

	ibSymbolErrors     = "ib.symbol_errors"
	ibLinkRecoveries   = "ib.link_recoveries"
	ibLinkDowned       = "ib.link_downed"
	ibReceiveErrors    = "ib.receive_errors"
	ibTransmitDiscards = "ib.transmit_discards"
	ibTransmitWait     = "ib.transmit_wait" // ticks for which data had to wait
)

// A nicName says under which names a driver counts something; several are
// added up. %d stands for a priority.
type nicName struct {
	name     string
	per      bool     // of a priority
	ethtool  []string // of ethtool -S
	hardware []string // hw_counters of the RDMA port
	port     []string // counters of the InfiniBand port
	most     uint64   // at which such a counter stays; 0: none
}

// ibNames are the names of the PortCounters of InfiniBand, whatever the driver;
// the kernel's ABI promises them. At their most they stay until someone clears
// them. IBTA volume 1 section 16.1.3.5.
func ibNames() []nicName {
	port := func(name, file string, most uint64) nicName {
		return nicName{name: name, port: []string{file}, most: most}
	}
	return []nicName{
		port(ibSymbolErrors, "symbol_error", 1<<16-1),
		port(ibLinkRecoveries, "link_error_recovery", 1<<8-1),
		port(ibLinkDowned, "link_downed", 1<<8-1),
		port(ibReceiveErrors, "port_rcv_errors", 1<<16-1),
		port(ibTransmitDiscards, "port_xmit_discards", 1<<16-1),
		port(ibTransmitWait, "port_xmit_wait", 1<<32-1),
	}
}

// nicNames are the names that drivers give their counters; nil: not known.
func nicNames(driver string) []nicName {
	switch driver {
	case "mlx5_core":
		return []nicName{
			{name: rxBytes, per: true, ethtool: []string{"rx_prio%d_bytes"}},
			{name: txBytes, per: true, ethtool: []string{"tx_prio%d_bytes"}},
			{name: drops, per: true, ethtool: []string{"rx_prio%d_discards"}},
			{name: pfcRx, per: true, ethtool: []string{"rx_prio%d_pause"}},
			{name: pfcTx, per: true, ethtool: []string{"tx_prio%d_pause"}},
			{name: rxPause, per: true, ethtool: []string{"rx_prio%d_pause_duration"}},
			{name: txPause, per: true, ethtool: []string{"tx_prio%d_pause_duration"}},
			{name: drops, ethtool: []string{"rx_discards_phy"}},
			{name: outOfBuffer, ethtool: []string{"rx_out_of_buffer"}},
			{name: outOfOrder, hardware: []string{"out_of_sequence"}},
			{name: retransmits, hardware: []string{"packet_seq_err", "local_ack_timeout_err"}},
			{name: cnpSent, hardware: []string{"np_cnp_sent"}},
			{name: cnpHandled, hardware: []string{"rp_cnp_handled"}},
			{name: ecnMarked, hardware: []string{"np_ecn_marked_roce_packets"}},
		}
	case "bnxt_en":
		return []nicName{
			{name: pfcRx, per: true, ethtool: []string{"rx_pfc_ena_frames_pri%d"}},
			{name: pfcTx, per: true, ethtool: []string{"tx_pfc_ena_frames_pri%d"}},
			{name: outOfOrder, hardware: []string{"oos_drop_count"}},
			{name: retransmits, hardware: []string{"seq_err_naks_rcvd"}},
			{name: cnpSent, hardware: []string{"tx_cnp_pkts"}},
			{name: cnpHandled, hardware: []string{"rx_cnp_pkts"}},
			{name: ecnMarked, hardware: []string{"rx_ecn_marked_pkts"}},
		}
	case "ice":
		return []nicName{
			{name: cnpSent, hardware: []string{"cnpSent"}},
			{name: cnpHandled, hardware: []string{"cnpHandled"}},
			{name: ecnMarked, hardware: []string{"RxECNMrkd"}},
		}
	}
	return nil
}

// A nicRead is what the script printed about one NIC.
type nicRead struct {
	driver   string
	ethtool  map[string]uint64
	hardware map[string]uint64
	port     map[string]uint64
	said     []string // what is no counter
}

// parseNICs reads what the script prints, by PCI address.
func parseNICs(text string) map[string]*nicRead {
	out := map[string]*nicRead{}
	var at *nicRead
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		words := strings.Fields(line)
		switch {
		case len(words) == 2 && words[0] == "nic":
			at = &nicRead{ethtool: map[string]uint64{}, hardware: map[string]uint64{}, port: map[string]uint64{}}
			out[words[1]] = at
		case at == nil || len(words) == 0 || line == "NIC statistics:":
		case words[0] == "driver" && len(words) == 2 && at.driver == "":
			at.driver = words[1]
		case (words[0] == "hw" || words[0] == "ib") && len(words) == 3:
			of := at.hardware
			if words[0] == "ib" {
				of = at.port
			}
			if n, err := strconv.ParseUint(words[2], 10, 64); err == nil {
				of[words[1]] = n
			}
		case len(words) == 2 && strings.HasSuffix(words[0], ":"):
			if n, err := strconv.ParseUint(words[1], 10, 64); err == nil {
				at.ethtool[strings.TrimSuffix(words[0], ":")] = n
			}
		default:
			at.said = append(at.said, line)
		}
	}
	return out
}

// readServer asks a server what its NICs have counted.
func (r *run) readServer(ctx context.Context, s *inventory.Server, nics []*inventory.RNIC) (samples []Sample, missing []Missing, err error) {
	if s.OS != "linux" && s.OS != "" {
		return nil, nil, fmt.Errorf("counters of %s are described, not yet measured", s.OS)
	}
	args := []string{"sh", "-c", nicScript, "sh"}
	for _, n := range nics {
		if n.PCI != "" {
			args = append(args, n.PCI)
		}
	}
	host, err := r.hosts.of(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	out, err := host.Run(ctx, remote.Cmd{Args: args})
	if err != nil {
		return nil, nil, fmt.Errorf("read the counters of its NICs: %w", err)
	}
	now := time.Now()
	read := parseNICs(string(out.Stdout))
	for _, n := range nics {
		is := read[n.PCI]
		names := []nicName(nil)
		if is != nil {
			names = nicNames(is.driver)
		}
		switch {
		case n.PCI == "":
			missing = append(missing, Missing{Device: s.Addr, Port: n.Name, Why: "counters of a NIC that is not declared by its PCI address are described, not yet measured"})
		case is == nil:
			missing = append(missing, Missing{Device: s.Addr, Port: n.Name, Why: "nothing was said of " + n.PCI})
		case names == nil:
			missing = append(missing, Missing{Device: s.Addr, Port: n.Name, Why: fmt.Sprintf("under which names the driver %q counts is not known", is.driver)})
		}
		if is != nil && len(is.port) > 0 {
			names = append(names, ibNames()...)
		}
		for _, name := range names {
			got, lacks := name.of(is, s.Addr, n.Name, now)
			samples = append(samples, got...)
			if got == nil {
				missing = append(missing, Missing{s.Addr, n.Name, name.name, lacks})
			}
		}
	}
	return samples, missing, nil
}

// of takes what a name stands for out of what a NIC said; lacks says why there
// is nothing.
func (name nicName) of(is *nicRead, device, rnic string, now time.Time) (out []Sample, lacks string) {
	from, source, list := is.ethtool, "ethtool -S", name.ethtool
	switch {
	case name.hardware != nil:
		from, source, list = is.hardware, "hw_counters", name.hardware
	case name.port != nil:
		from, source, list = is.port, "counters of the port", name.port
	}
	priorities := []int{AllPriorities}
	if name.per {
		priorities = []int{0, 1, 2, 3, 4, 5, 6, 7}
	}
	for _, p := range priorities {
		sum, all := uint64(0), true
		for _, key := range list {
			if name.per {
				key = fmt.Sprintf(key, p)
			}
			n, ok := from[key]
			sum, all = sum+n, all && ok
		}
		if name.most > 0 && sum == name.most {
			return nil, fmt.Sprintf("%s is %d, the most that it counts to; perfquery -R clears it", list[0], sum)
		}
		if all {
			out = append(out, Sample{Counter{device, rnic, p, name.name}, now, sum, source, ""})
		}
	}
	lacks = fmt.Sprintf("%s (%s) shows no %s", source, is.driver, strings.ReplaceAll(strings.Join(list, ", "), "%d", "N"))
	if len(is.said) > 0 && name.ethtool != nil {
		lacks += ": " + strings.Join(is.said, "; ")
	}
	return out, lacks
}
