package linux

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"weft/internal/remote"
	"weft/internal/tally"
	"weft/modules/host"
)

// nicScript prints what NICs have counted, each after its place: what
// ethtool has of the driver, the hardware counters of its RDMA ports, and what
// the standard has every port of InfiniBand count. There are hundreds of files:
// the shell reads them itself.
const nicScript = `PATH=$PATH:/usr/sbin:/sbin
value() { v=; read -r v 2>/dev/null <"$1"; }
` + remote.FindPort + `for at; do
  echo "nic $at"
  weft_find "$at"
  n=$weft_if
  if [ -z "$n" ]; then echo "ports$weft_more"; continue; fi
  d=$weft_at
  l=$(readlink "$d/driver") && echo "driver ${l##*/}"
  m=$(readlink "/sys/class/net/$n/master"); m=${m##*/}
  value "/sys/class/net/$n/dev_port"; i=$((${v:-0}+1))
  ethtool -S "$n" 2>&1 || echo "ethtool failed"
  for r in /sys/class/infiniband/*; do
    for p in "$r"/ports/*; do
      value "$p/gid_attrs/ndevs/0"
      if [ -n "$v" ]; then
        if [ "$v" != "$n" ] && [ "$v" != "$m" ]; then continue; fi
      elif [ ! -e "$d/infiniband/${r##*/}" ]; then continue
      elif [ -e "$r/ports/2" ] && [ "${p##*/}" != "$i" ]; then continue; fi
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
done`

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
		port(tally.IBSymbolErrors, "symbol_error", 1<<16-1),
		port(tally.IBLinkRecoveries, "link_error_recovery", 1<<8-1),
		port(tally.IBLinkDowned, "link_downed", 1<<8-1),
		port(tally.IBReceiveErrors, "port_rcv_errors", 1<<16-1),
		port(tally.IBTransmitDiscards, "port_xmit_discards", 1<<16-1),
		port(tally.IBTransmitWait, "port_xmit_wait", 1<<32-1),
	}
}

// nicNames are the names that drivers give their counters; nil: not known.
func nicNames(driver string) []nicName {
	switch driver {
	case "mlx5_core":
		return []nicName{
			{name: tally.RxBytes, per: true, ethtool: []string{"rx_prio%d_bytes"}},
			{name: tally.TxBytes, per: true, ethtool: []string{"tx_prio%d_bytes"}},
			{name: tally.Drops, per: true, ethtool: []string{"rx_prio%d_discards"}},
			{name: tally.PFCRx, per: true, ethtool: []string{"rx_prio%d_pause"}},
			{name: tally.PFCTx, per: true, ethtool: []string{"tx_prio%d_pause"}},
			{name: tally.RxPause, per: true, ethtool: []string{"rx_prio%d_pause_duration"}},
			{name: tally.TxPause, per: true, ethtool: []string{"tx_prio%d_pause_duration"}},
			{name: tally.Drops, ethtool: []string{"rx_discards_phy"}},
			{name: tally.OutOfBuffer, ethtool: []string{"rx_out_of_buffer"}},
			{name: tally.OutOfOrder, hardware: []string{"out_of_sequence"}},
			{name: tally.Retransmits, hardware: []string{"packet_seq_err", "local_ack_timeout_err"}},
			{name: tally.CNPSent, hardware: []string{"np_cnp_sent"}},
			{name: tally.CNPHandled, hardware: []string{"rp_cnp_handled"}},
			{name: tally.ECNMarked, hardware: []string{"np_ecn_marked_roce_packets"}},
		}
	case "bnxt_en":
		return []nicName{
			{name: tally.PFCRx, per: true, ethtool: []string{"rx_pfc_ena_frames_pri%d"}},
			{name: tally.PFCTx, per: true, ethtool: []string{"tx_pfc_ena_frames_pri%d"}},
			{name: tally.OutOfOrder, hardware: []string{"oos_drop_count"}},
			{name: tally.Retransmits, hardware: []string{"seq_err_naks_rcvd"}},
			{name: tally.CNPSent, hardware: []string{"tx_cnp_pkts"}},
			{name: tally.CNPHandled, hardware: []string{"rx_cnp_pkts"}},
			{name: tally.ECNMarked, hardware: []string{"rx_ecn_marked_pkts"}},
		}
	case "ice": // drivers/net/ethernet/intel/ice/ice_ethtool.c of Linux
		return []nicName{
			{name: tally.PFCRx, per: true, ethtool: []string{"rx_priority_%d_xoff.nic"}},
			{name: tally.PFCTx, per: true, ethtool: []string{"tx_priority_%d_xoff.nic"}},
			{name: tally.CNPSent, hardware: []string{"cnpSent"}},
			{name: tally.CNPHandled, hardware: []string{"cnpHandled"}},
			{name: tally.ECNMarked, hardware: []string{"RxECNMrkd"}},
		}
	case "cxgb4": // drivers/net/ethernet/chelsio/cxgb4/cxgb4_ethtool.c of Linux
		return []nicName{
			{name: tally.PFCRx, per: true, ethtool: []string{"rx_ppp%d_frames"}},
			{name: tally.PFCTx, per: true, ethtool: []string{"tx_ppp%d_frames"}},
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
	ports    []string // where no interface is that of the port: what weft_find lists
	unfound  bool     // none is
}

// parseNICs reads what the script prints, by place.
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
		case words[0] == "ports":
			at.unfound, at.ports = true, words[1:]
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
		case len(words) == 2 && strings.HasSuffix(words[0], ":"), len(words) == 3 && words[1] == ":": // some names end with blanks
			if n, err := strconv.ParseUint(words[len(words)-1], 10, 64); err == nil {
				at.ethtool[strings.TrimSuffix(words[0], ":")] = n
			}
		default:
			at.said = append(at.said, line)
		}
	}
	return out
}

// readCounters asks a machine what its NICs have counted.
func readCounters(ctx context.Context, h remote.Host, nics []host.NIC) (*tally.Ports, error) {
	args := []string{"sh", "-c", nicScript, "sh"}
	for _, n := range nics {
		if n.PCI != "" {
			args = append(args, n.PCI)
		}
	}
	out, err := h.Run(ctx, remote.Cmd{Args: args})
	if err != nil {
		return nil, fmt.Errorf("read the counters of its NICs: %w", err)
	}
	read := parseNICs(string(out.Stdout))
	all := &tally.Ports{}
	for _, n := range nics {
		is := read[n.PCI]
		names := []nicName(nil)
		if is != nil {
			names = nicNames(is.driver)
		}
		lack := func(why string) { all.Gaps = append(all.Gaps, tally.Gap{Port: n.Name, Why: why}) }
		switch {
		case n.PCI == "":
			lack("counters of a NIC that is not declared by its PCI address are described, not yet measured")
		case is == nil:
			lack("nothing was said of " + n.PCI)
		case is.unfound:
			lack(remote.PlaceError(n.PCI, is.ports).Error())
			continue
		case names == nil:
			lack(fmt.Sprintf("under which names the driver %q counts is not known", is.driver))
		}
		if is != nil && len(is.port) > 0 {
			names = append(names, ibNames()...)
		}
		for _, name := range names {
			got, lacks := name.of(is, n.Name)
			all.Counts = append(all.Counts, got...)
			if got == nil {
				all.Gaps = append(all.Gaps, tally.Gap{Port: n.Name, Name: name.name, Why: lacks})
			}
		}
	}
	return all, nil
}

// of takes what a name stands for out of what a NIC said; lacks says why there
// is nothing.
func (name nicName) of(is *nicRead, nic string) (out []tally.Count, lacks string) {
	from, source, list := is.ethtool, "ethtool -S", name.ethtool
	switch {
	case name.hardware != nil:
		from, source, list = is.hardware, "hw_counters", name.hardware
	case name.port != nil:
		from, source, list = is.port, "counters of the port", name.port
	}
	priorities := []int{tally.AllPriorities}
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
			out = append(out, tally.Count{Port: nic, Priority: p, Name: name.name, Value: sum, Line: source})
		}
	}
	lacks = fmt.Sprintf("%s (%s) shows no %s", source, is.driver, strings.ReplaceAll(strings.Join(list, ", "), "%d", "N"))
	if len(is.said) > 0 && name.ethtool != nil {
		lacks += ": " + strings.Join(is.said, "; ")
	}
	return out, lacks
}
