package doctor

import "weft/switches"

// cardChecks are about slots, drivers and the counters of ports.
func cardChecks() []*Check {
	const nvidia = "NVIDIA: RDMA counters"
	return []*Check{
		{ID: "WD-PCI-03", Title: "a PCIe bridge above a card has less bandwidth than the card", Severity: Warn, Reads: "current_link_speed and current_link_width of each bridge above", Limit: "the bandwidth of the card", Source: own,
			Remedy: "Use another slot; check for a riser or PCIe switch that shares lanes.", judge: each((*Site).ends, bridges)},
		{ID: "WD-PCI-04", Title: "the maximum read request size of a card is small", Severity: Warn, Reads: "the configuration space of the card: Device Control, bits 14 to 12", Limit: "4096 bytes per request", Source: "NVIDIA nic-configuration-operator sets it; Mellanox performance tuning",
			Remedy: "Run setpci -s BDF CAP_EXP+8.w=5000:7000 at each boot, or use the firmware settings.", judge: each((*Site).ends, readRequest)},
		{ID: "WD-PCI-10", Title: "a card stalls on PCIe", Severity: Error, Twice: true, Reads: "ethtool -S IF: outbound_pci_stalled_wr_events, outbound_pci_buffer_overflow", Limit: "does not grow", Source: "NVIDIA: counters of mlx5; Azure on RDMA (NSDI 2023), 8.3",
			Remedy: "Check WD-PCI-01 to WD-PCI-04 and the NUMA node of the memory it writes to.", judge: growing("outbound_pci_stalled_wr_events", "outbound_pci_buffer_overflow")},
		{ID: "WD-PCI-12", Title: "power saving (ASPM) is enabled on the PCIe link of a NIC", Severity: Info, Reads: "/sys/bus/pci/devices/BDF/link/l1_aspm", Limit: "0", Source: "general knowledge of ASPM",
			Remedy: "Run echo performance >/sys/module/pcie_aspm/parameters/policy, or boot with pcie_aspm=off.", judge: each((*Site).ends, sleepingLink)},
		{ID: "WD-FW-05", Title: "a card uses an unexpected driver", Severity: Warn, Reads: "/sys/bus/pci/devices/BDF/driver", Limit: "driver of the catalogue", Source: "the catalogue, by card",
			Remedy: "Load the driver of the card; check for a manual binding.", judge: each((*Site).ends, driver)},
		{ID: "WD-FW-06", Title: "cards of one model use drivers from different stacks", Severity: Info, Reads: "/sys/module/DRIVER/version, which only out-of-tree drivers have", Limit: "the majority", Source: own,
			Remedy: "Use one driver stack on all machines.", judge: stacks},
		{ID: "WD-LNK-04", Title: "FEC cannot correct received blocks", Severity: Error, Twice: true, Reads: "ethtool -I --show-fec IF: uncorrectable_blocks", Limit: "does not grow", Source: "IEEE 802.3: uncorrected blocks are lost",
			Remedy: "Clean or replace the cable or optic.", judge: each((*Site).ethernet, lostBlocks)},
		{ID: "WD-LNK-07", Title: "an optic is too hot, or has a wrong voltage", Severity: Warn, Reads: opticLines, Limit: "the module's own thresholds", Source: "SFF-8472, SFF-8636: data reported by the module",
			Remedy: "Check the airflow, then replace the optic.", judge: alarms(switches.OfHeat, "temperature", "voltage")},
		{ID: "WD-LNK-09", Title: "a link went down", Severity: Error, Twice: true, Reads: "ports/1/counters/link_downed; show interface, display interface: time of the last link change, for ports with an LLDP neighbour", Limit: "does not grow; no change since the first reading", Source: "InfiniBand architecture, PortCounters; the switch", Remedy: "Check the cable and the other end.", judge: wentDown},
		{ID: "WD-LNK-15", Title: "two machines use the same IP address", Severity: Critical, Reads: "ip -j addr and ip -j neigh of all machines; no frame is sent", Limit: "unique, and resolved to the machine's own MAC address", Source: "WEKA cluster checks", Remedy: "Change one of the addresses.", judge: sameAddress},
		{ID: "WD-LNK-12", Title: "all links of a server lead to one member of a stack", Severity: Error, Reads: "LLDP of switches; the first of three numbers of a port is the stack member or the card", Limit: "two members for two links", Source: own,
			Remedy: "Move one cable to another member.", judge: each((*Site).switches, oneMember)},
		{ID: "WD-MTU-04", Title: "the MTU of an interface exceeds the interface below", Severity: Error, Reads: "ip -j -d addr", Limit: "the MTU of the interface below", Source: "longer packets are dropped", Remedy: "Raise the MTU of the lower interface.", judge: each((*Site).hosts, stacked)},
		{ID: "WD-ADR-01", Title: "two NICs of a machine share a subnet", Severity: Error, Reads: "ip -j addr, ip -j rule", Limit: "one subnet per NIC, or source routing rules", Source: "WEKA cluster checks",
			Remedy: "Use a separate subnet for each plane.", judge: each((*Site).hosts, oneSubnet)},
		{ID: "WD-ADR-04", Title: "an interface loses its addresses with the link", Severity: Warn, Reads: "nmcli device, NetworkManager --print-config, files of systemd-networkd", Limit: "ignore-carrier, IgnoreCarrierLoss or ConfigureWithoutCarrier, if NetworkManager or systemd-networkd manages the interface", Source: "WEKA's checks for clusters; NetworkManager.conf(5), systemd.network(5)",
			Remedy: "Set ignore-carrier=* in NetworkManager.conf, or IgnoreCarrierLoss=yes in the .network file.", judge: each((*Site).ethernet, keeps)},
		{ID: "WD-ADR-05", Title: "a firewall blocks storage traffic", Severity: Error, Reads: "nft -j list ruleset; ports of the kernel's target", Limit: "the ports of NVMe over TCP, and 4791 for software RDMA, are open", Source: "the firewall drops closed ports; hardware RDMA bypasses it",
			Remedy: "Open the port, and save the rule: nft add rule inet filter input tcp dport 4420 accept.", judge: each((*Site).hosts, drops)},
		{ID: "WD-ADR-03", Title: "a NIC answers ARP for the address of another NIC", Severity: Warn, Reads: "/proc/sys/net/ipv4/conf/{all,IF}/arp_ignore", Limit: "1 if two NICs share a subnet", Source: "ip-sysctl of the kernel", Remedy: `sysctl "net.ipv4.conf.all.arp_ignore" { value = "1" }`, Mends: []string{"sysctl"}, judge: each((*Site).hosts, strayARP)},
		{ID: "WD-QOS-09", Title: "the bandwidth share of a lossless class differs between both ends", Severity: Warn, Reads: "dcb -j ets show dev IF; classes of the switch", Limit: "at most 5 percentage points apart", Source: own, Remedy: "Apply the fabric block.", Mends: []string{"ets", "qos"}, judge: sameShares},
		{ID: "WD-QOS-10", Title: "congestion notifications share a class with other traffic", Severity: Warn, Reads: "dcb -j app show dev IF, for DSCP 48", Limit: "a separate class, neither lossless nor the default class", Source: "DCQCN (SIGCOMM 2015); defaults of mlx5",
			Remedy: "Add a traffic_class with dscp = [48] and priority = 6.", Mends: []string{"dscp"}, judge: cnpClass},
		{ID: "WD-QOS-13", Title: "two agents configure the classes of a NIC", Severity: Error, Reads: "dcb -j dcbx show dev IF; ethtool --show-priv-flags IF; systemctl is-active lldpad", Limit: "only the host", Source: "dcb-dcbx(8); Linux kernel, ice driver documentation",
			Remedy: "Run dcb dcbx set dev IF host ieee; ethtool --set-priv-flags IF fw-lldp-agent off; systemctl disable --now lldpad.", Mends: []string{"dcbx"}, judge: each((*Site).ethernet, dcbxOwner)},
		{ID: "WD-QOS-17", Title: "PFC pauses a priority that is not lossless", Severity: Error, Twice: true, Reads: "ethtool -S IF: rx_prioN_pause", Limit: "does not grow", Source: nvidia, Remedy: "Look for different DSCP maps: WD-QOS-04.", judge: each((*Site).ethernet, strayPauses)},
		{ID: "WD-RDM-03", Title: "an address has no RoCE v2 GID", Severity: Error, Reads: "ports/1/gids and gid_attrs/types", Limit: "one per address of the NIC", Source: "rdma_cm uses the GID of the requested address",
			Remedy: "Set the address again; check the VLAN, and that the card supports RoCE v2.", judge: each((*Site).ethernet, roceGID)},
		{ID: "WD-RDM-06", Title: "a connection failed after retransmissions", Severity: Critical, Reads: "hw_counters/req_transport_retries_exceeded", Limit: "0", Source: nvidia, Remedy: "Check the path for packet loss with weft verify.", judge: counted("req_transport_retries_exceeded", "requests were given up after all retries")},
		{ID: "WD-RDM-07", Title: "a receiver was not ready", Severity: Warn, Twice: true, Reads: "hw_counters/rnr_nak_retry_err", Limit: "does not grow", Source: nvidia, Remedy: "Raise the queue depth of the receiver; check its CPU load.", judge: growing("rnr_nak_retry_err")},
		{ID: "WD-RDM-10", Title: "RDMA retransmission reduces throughput", Severity: Warn, Twice: true, Reads: "hw_counters/roce_adp_retrans, roce_slow_restart", Limit: "does not grow", Source: nvidia, Remedy: "Check the path for packet loss.", judge: growing("roce_adp_retrans", "roce_slow_restart")},
		{ID: "WD-RDM-11", Title: "packets arrive with a wrong checksum", Severity: Error, Twice: true, Reads: "hw_counters/rx_icrc_encapsulated", Limit: "does not grow", Source: nvidia, Remedy: "Find the switch that rewrites packets.", judge: growing("rx_icrc_encapsulated")},
		{ID: "WD-IB-02", Title: "a port cannot reach any other port in its partitions", Severity: Critical, Reads: "ports/1/pkeys", Limit: "at least one key; of two ports with the same key, one is a full member", Source: "InfiniBand architecture, partition keys",
			Remedy: "Add it to partitions.conf of opensm as a full member: see opensm(8).", judge: partitions},
		{ID: "WD-IB-03", Title: "an InfiniBand port is slower than its peers", Severity: Error, Reads: "ports/1/rate", Limit: "the majority of the same card", Source: own, Remedy: "Check the cable for lost lanes.", judge: rate},
		{ID: "WD-IB-04", Title: "error counters of a port grow", Severity: Warn, Twice: true, Reads: "ports/1/counters/symbol_error, link_error_recovery", Limit: "does not grow", Source: "InfiniBand architecture, PortCounters", Remedy: "Clean or replace the cable.", judge: growing("symbol_error", "link_error_recovery")},
	}
}
