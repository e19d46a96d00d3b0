package doctor

import "weft/switches"

// cardChecks are about slots, drivers and the counters of ports.
func cardChecks() []*Check {
	const nvidia = "NVIDIA: RDMA counters"
	return []*Check{
		{ID: "WD-PCI-03", Title: "a bridge above a card is narrower than it", Severity: Warn, Reads: "current_link_speed and current_link_width of each bridge above", Limit: "as much as the card", Source: own,
			Remedy: "Take another slot; look for a riser or a switch that shares its lanes.", judge: each((*Site).ends, bridges)},
		{ID: "WD-PCI-04", Title: "a card asks for little at once", Severity: Warn, Reads: "the configuration space of the card: Device Control, bits 14 to 12", Limit: "4096 bytes a request", Source: "NVIDIA nic-configuration-operator sets it; Mellanox performance tuning",
			Remedy: "setpci -s BDF CAP_EXP+8.w=5000:7000 at each start, or the firmware settings of the machine.", judge: each((*Site).ends, readRequest)},
		{ID: "WD-PCI-10", Title: "a card waits for PCIe", Severity: Error, Twice: true, Reads: "ethtool -S IF: outbound_pci_stalled_wr_events, outbound_pci_buffer_overflow", Limit: "does not grow", Source: "NVIDIA: counters of mlx5; Azure on RDMA (NSDI 2023), 8.3",
			Remedy: "Look at WD-PCI-01 to WD-PCI-04 and at the NUMA node of what it writes to.", judge: growing("outbound_pci_stalled_wr_events", "outbound_pci_buffer_overflow")},
		{ID: "WD-PCI-12", Title: "the PCIe link of a NIC may sleep", Severity: Info, Reads: "/sys/bus/pci/devices/BDF/link/l1_aspm", Limit: "0", Source: "general knowledge of ASPM",
			Remedy: "echo performance >/sys/module/pcie_aspm/parameters/policy, or pcie_aspm=off.", judge: each((*Site).ends, sleepingLink)},
		{ID: "WD-FW-05", Title: "a card has another driver than it is known with", Severity: Warn, Reads: "/sys/bus/pci/devices/BDF/driver", Limit: "driver of the catalogue", Source: "the catalogue, by card",
			Remedy: "Load the driver of the card; look for one that was bound by hand.", judge: each((*Site).ends, driver)},
		{ID: "WD-FW-06", Title: "drivers of one card are of different stacks", Severity: Info, Reads: "/sys/module/DRIVER/version, which only drivers from outside of the kernel have", Limit: "what most have", Source: own,
			Remedy: "Bring all machines to one stack.", judge: stacks},
		{ID: "WD-LNK-04", Title: "blocks arrive that FEC cannot mend", Severity: Error, Twice: true, Reads: "ethtool -I --show-fec IF: uncorrectable_blocks", Limit: "does not grow", Source: "IEEE 802.3: what is not corrected is lost",
			Remedy: "Clean or replace the cable or optic.", judge: each((*Site).ethernet, lostBlocks)},
		{ID: "WD-LNK-07", Title: "an optic is too hot, or has a wrong voltage", Severity: Warn, Reads: opticLines, Limit: "the module's own thresholds", Source: "SFF-8472, SFF-8636: what the module says of itself",
			Remedy: "Look at the airflow, then replace the optic.", judge: alarms(switches.OfHeat, "temperature", "voltage")},
		{ID: "WD-LNK-09", Title: "a link went down", Severity: Error, Twice: true, Reads: "ports/1/counters/link_downed; show interface, display interface: since when the link is as it is, of ports with an LLDP neighbour", Limit: "does not grow; not since the first reading", Source: "InfiniBand architecture, PortCounters; the switch", Remedy: "Look at the cable and at the other end.", judge: wentDown},
		{ID: "WD-LNK-15", Title: "two machines have one address", Severity: Critical, Reads: "ip -j addr and ip -j neigh of all machines; no frame is sent", Limit: "each its own, and met with its own MAC address", Source: "WEKA's checks for clusters", Remedy: "Give one of them another address.", judge: sameAddress},
		{ID: "WD-LNK-12", Title: "all links of a server end at one member of a stack", Severity: Error, Reads: "LLDP of switches; of ports with three numbers the first is the member, or the card", Limit: "two members for two links", Source: own,
			Remedy: "Move one cable to another member.", judge: each((*Site).switches, oneMember)},
		{ID: "WD-MTU-04", Title: "an interface takes longer frames than what it stands on", Severity: Error, Reads: "ip -j -d addr", Limit: "the MTU of the interface below", Source: "what does not fit is dropped", Remedy: "Raise the MTU of the lower one.", judge: each((*Site).hosts, stacked)},
		{ID: "WD-ADR-01", Title: "two NICs of a machine are in one subnet", Severity: Error, Reads: "ip -j addr, ip -j rule", Limit: "a subnet for each, or rules that route by source", Source: "WEKA's checks for clusters",
			Remedy: "Give each plane a subnet of its own.", judge: each((*Site).hosts, oneSubnet)},
		{ID: "WD-ADR-04", Title: "addresses go with the link", Severity: Warn, Reads: "nmcli device, NetworkManager --print-config, files of systemd-networkd", Limit: "ignore-carrier, IgnoreCarrierLoss or ConfigureWithoutCarrier, where one of them manages the interface", Source: "WEKA's checks for clusters; NetworkManager.conf(5), systemd.network(5)",
			Remedy: "ignore-carrier=* in NetworkManager.conf, or IgnoreCarrierLoss=yes in the .network file.", judge: each((*Site).ethernet, keeps)},
		{ID: "WD-ADR-05", Title: "a firewall stands before storage", Severity: Error, Reads: "nft -j list ruleset; ports of the kernel's target", Limit: "ports of NVMe over TCP, and 4791 of RDMA in software, are let in", Source: "what is dropped does not arrive; hardware that does RDMA passes the firewall by",
			Remedy: "Let the port in: nft add rule inet filter input tcp dport 4420 accept, and keep it.", judge: each((*Site).hosts, drops)},
		{ID: "WD-ADR-03", Title: "a NIC answers for the address of another", Severity: Warn, Reads: "/proc/sys/net/ipv4/conf/{all,IF}/arp_ignore", Limit: "1 where two NICs are in one subnet", Source: "ip-sysctl of the kernel", Remedy: `sysctl "net.ipv4.conf.all.arp_ignore" { value = "1" }`, Mends: []string{"sysctl"}, judge: each((*Site).hosts, strayARP)},
		{ID: "WD-QOS-09", Title: "a lossless class has other shares on both ends", Severity: Warn, Reads: "dcb -j ets show dev IF; classes of the switch", Limit: "5 points apart", Source: own, Remedy: "Apply the fabric block.", Mends: []string{"ets", "qos"}, judge: sameShares},
		{ID: "WD-QOS-10", Title: "congestion notifications share a class with other traffic", Severity: Warn, Reads: "dcb -j app show dev IF, for DSCP 48", Limit: "a class of their own, neither lossless nor that of all other traffic", Source: "DCQCN (SIGCOMM 2015); defaults of mlx5",
			Remedy: "A traffic_class with dscp = [48] and priority = 6.", Mends: []string{"dscp"}, judge: cnpClass},
		{ID: "WD-QOS-13", Title: "two write the classes of a NIC", Severity: Error, Reads: "dcb -j dcbx show dev IF; ethtool --show-priv-flags IF; systemctl is-active lldpad", Limit: "the host alone", Source: "dcb-dcbx(8); Linux kernel, ice driver documentation",
			Remedy: "dcb dcbx set dev IF host ieee; ethtool --set-priv-flags IF fw-lldp-agent off; systemctl disable --now lldpad.", Mends: []string{"dcbx"}, judge: each((*Site).ethernet, dcbxOwner)},
		{ID: "WD-QOS-17", Title: "a priority is paused that is not lossless", Severity: Error, Twice: true, Reads: "ethtool -S IF: rx_prioN_pause", Limit: "does not grow", Source: nvidia, Remedy: "Look for maps that differ: WD-QOS-04.", judge: each((*Site).ethernet, strayPauses)},
		{ID: "WD-RDM-03", Title: "an address has no GID of RoCE v2", Severity: Error, Reads: "ports/1/gids and gid_attrs/types", Limit: "one for each address of the NIC", Source: "rdma_cm takes the GID of the address that it is told",
			Remedy: "Set the address again; look at the VLAN, and at whether the card does RoCE v2.", judge: each((*Site).ethernet, roceGID)},
		{ID: "WD-RDM-06", Title: "a connection was given up", Severity: Critical, Reads: "hw_counters/req_transport_retries_exceeded", Limit: "0", Source: nvidia, Remedy: "Look for loss on the path: weft verify.", judge: counted("req_transport_retries_exceeded", "requests were given up after all retries")},
		{ID: "WD-RDM-07", Title: "receivers were not ready", Severity: Warn, Twice: true, Reads: "hw_counters/rnr_nak_retry_err", Limit: "does not grow", Source: nvidia, Remedy: "Raise the queue depth of the receiver; look for a busy CPU there.", judge: growing("rnr_nak_retry_err")},
		{ID: "WD-RDM-10", Title: "retransmission slows down", Severity: Warn, Twice: true, Reads: "hw_counters/roce_adp_retrans, roce_slow_restart", Limit: "does not grow", Source: nvidia, Remedy: "Look for loss on the path.", judge: growing("roce_adp_retrans", "roce_slow_restart")},
		{ID: "WD-RDM-11", Title: "packets arrive with a broken checksum", Severity: Error, Twice: true, Reads: "hw_counters/rx_icrc_encapsulated", Limit: "does not grow", Source: nvidia, Remedy: "Look for a switch that rewrites packets.", judge: growing("rx_icrc_encapsulated")},
		{ID: "WD-IB-02", Title: "a port reaches nobody in its partitions", Severity: Critical, Reads: "ports/1/pkeys", Limit: "one key at least; of two that share one, one is a full member", Source: "InfiniBand architecture, partition keys",
			Remedy: "Write it into partitions.conf of opensm, as full: see opensm(8).", judge: partitions},
		{ID: "WD-IB-03", Title: "a port of InfiniBand is slower than its peers", Severity: Error, Reads: "ports/1/rate", Limit: "what most of the same card have", Source: own, Remedy: "Look at the cable, and at lanes that are lost.", judge: rate},
		{ID: "WD-IB-04", Title: "errors of a port grow", Severity: Warn, Twice: true, Reads: "ports/1/counters/symbol_error, link_error_recovery", Limit: "does not grow", Source: "InfiniBand architecture, PortCounters", Remedy: "Clean or replace the cable.", judge: growing("symbol_error", "link_error_recovery")},
	}
}
