package doctor

import (
	"cmp"
	"slices"
	"strings"

	"weft/internal/lossless"
	"weft/switches"
)

// Catalogue is the list of all checks, by area in the order of their ids.
func Catalogue() []*Check {
	list := slices.Concat(pcieChecks(), linkChecks(), losslessChecks(), lineChecks(), hopChecks(), rdmaChecks(), hostChecks(), nvmeChecks(), cardChecks(), machineChecks(), gpuChecks(), fileChecks(), windowsChecks(), switchChecks(), vcenterChecks())
	area := func(c *Check) int {
		return slices.IndexFunc([]string{"PCI", "FW", "LNK", "MTU", "ADR", "QOS", "RDM", "IB", "CPU", "MEM", "TIM", "OS", "NVM", "GPU", "FS", "WIN", "SW", "VC"}, func(a string) bool { return strings.HasPrefix(c.ID, "WD-"+a+"-") })
	}
	for _, c := range list {
		if own := c.judge; slices.Contains(lossless.IDs(), c.ID) && own != nil {
			c.judge = func(s *Site, r *ruling) { own(s, r); hops(s, r) }
		} else if own == nil {
			c.judge, c.hopsOnly = hops, true
		}
	}
	slices.SortFunc(list, func(a, b *Check) int { return cmp.Or(area(a)-area(b), cmp.Compare(a.ID, b.ID)) })
	return list
}

// opticLines are what tells of optics.
const opticLines = "ethtool -m IF; show interface transceiver details, display transceiver diagnosis interface, for ports with an LLDP neighbour"

// own is a limit that weft sets itself.
const own = "set by weft; no published limit"

func pcieChecks() []*Check {
	return []*Check{
		{ID: "WD-PCI-01", Title: "a card uses fewer PCIe lanes than it supports", Severity: Error,
			Reads: "/sys/bus/pci/devices/BDF/current_link_width and max_link_width", Limit: "the lanes of the card, if the remaining bandwidth is below the speed of its port",
			Source: "PCI Express base specification: bandwidth of lanes after encoding", Remedy: "Reseat the card, use another slot, or check bifurcation in the firmware settings.", judge: each((*Site).ends, pcieWidth)},
		{ID: "WD-PCI-02", Title: "a card uses a lower PCIe speed than it supports", Severity: Warn,
			Reads: "/sys/bus/pci/devices/BDF/current_link_speed and max_link_speed", Limit: "the speed of the card, and its lanes if the remaining bandwidth is sufficient for its port",
			Source: "PCI Express base specification", Remedy: "Check the link speed in the firmware settings, and the riser.", judge: each((*Site).ends, pcieSpeed)},
		{ID: "WD-PCI-08", Title: "the IOMMU translates DMA of NICs", Severity: Warn,
			Reads: "/proc/cmdline", Limit: "no intel_iommu=on or amd_iommu=on without iommu=pt", Source: "NVIDIA GPUDirect Storage guide; Mellanox performance tuning",
			Remedy: "Boot the kernel with iommu=pt, unless virtual machines need full translation.", judge: each((*Site).hosts, iommu)},
		{ID: "WD-PCI-09", Title: "PCIe reports errors of a card", Severity: Error,
			Reads: "/sys/bus/pci/devices/BDF/aer_dev_fatal and aer_dev_nonfatal", Limit: "0", Source: "general knowledge of AER",
			Remedy: "Reseat the card; otherwise replace it or the riser.", judge: each((*Site).ends, pcieErrors)},
		{ID: "WD-PCI-11", Title: "a NIC and a drive are on different NUMA nodes", Severity: Warn,
			Reads: "numa_node of NICs and of NVMe drives", Limit: "a storage NIC on the node of each drive", Source: "vendors' tuning guides",
			Remedy: "Move one of them to a slot of the other node, or pin the process that moves the data.", judge: each((*Site).hosts, numa)},
		{ID: "WD-FW-01", Title: "a card is in recovery mode", Severity: Critical,
			Reads: "the PCI id of the card", Limit: "not 15b3:02xx", Source: "pci.ids 2026.08.22", Remedy: "Reinstall its firmware with the vendor's tool.", judge: each((*Site).hosts, recovery)},
		{ID: "WD-FW-02", Title: "cards of one model have different firmware", Severity: Warn,
			Reads: "fw_ver of RDMA devices, or ethtool -i", Limit: "the majority of the same model", Source: own,
			Remedy: "Install the same version on all; read its release notes first.", judge: firmware},
		{ID: "WD-FW-04", Title: "the link type of a port differs from its fabric", Severity: Error,
			Reads: "link_layer of the RDMA port", Limit: "InfiniBand in an InfiniBand fabric, otherwise Ethernet", Source: "the files; without files the majority of the model's ports",
			Remedy: "Set LINK_TYPE_P1 of the card with mlxconfig, and reset the card.", judge: each((*Site).ends, linkType)},
	}
}

func linkChecks() []*Check {
	return []*Check{
		{ID: "WD-LNK-01", Title: "a port has no link", Severity: Critical, Reads: "/sys/class/net/IF/carrier and operstate", Limit: "up", Source: "applies if the port is declared, or other ports of its machine use RDMA",
			Remedy: "Check the cable and the other port, which may be shut down.", judge: each((*Site).ends, linkUp)},
		{ID: "WD-LNK-02", Title: "the speed of a link is below its card", Severity: Error, Reads: "/sys/class/net/IF/speed", Limit: "speed of the link block; without it the majority of the model's ports", Source: "the files; else the peers",
			Remedy: "Check the optic or cable, and autonegotiation on both ends.", judge: linkSpeed},
		{ID: "WD-LNK-03", Title: "the FEC of a link differs from its peers, or is off", Severity: Error, Reads: "ethtool --show-fec IF", Limit: "the majority of ports of that speed; not off from 25G per lane", Source: "IEEE 802.3 (clauses 91, 108, 134); the peers",
			Remedy: "Set the same FEC on both ends: ethtool --set-fec IF encoding rs.", judge: fec},
		{ID: "WD-LNK-06", Title: "an optic raises an alarm", Severity: Error, Reads: opticLines, Limit: "the module's own thresholds", Source: "SFF-8472, SFF-8636: data reported by the module",
			Remedy: "Clean the fibre, then replace the optic.", judge: alarms(switches.OfOptics, "power", "bias", "current", "los", "fault")},
		{ID: "WD-LNK-08", Title: "a link flaps", Severity: Error, Reads: "/sys/class/net/IF/carrier_changes and /proc/uptime", Limit: "at most 5 changes in 24 hours, plus two at start", Source: "Azure health checks, check_ib_link_flapping",
			Remedy: "Replace the cable or optic; check the kernel log for carrier loss.", judge: each((*Site).ends, flaps)},
		{ID: "WD-LNK-10", Title: "a cable leads to another port than declared", Severity: Critical, Reads: "LLDP of the switch", Limit: "the link block", Source: "the files",
			Remedy: "Run weft verify cabling, which names the plugs to swap.", judge: each((*Site).ends, wrongCable)},
		{ID: "WD-LNK-11", Title: "all NICs of a server are cabled to one switch", Severity: Critical, Reads: "LLDP of switches", Limit: "two switches for two NICs", Source: "planes must not share a switch",
			Remedy: "Move one cable to the other switch.", judge: oneSwitch},
		{ID: "WD-LNK-13", Title: "no switch reports a NIC as LLDP neighbour", Severity: Warn, Reads: "LLDP of switches", Limit: "each NIC is an LLDP neighbour of a switch", Source: own,
			Remedy: "Enable LLDP on the port; start lldpd on Linux or the LLDP agent of the card. ESXi sends LLDP from distributed switches only.", Mends: []string{"port", "qos"}, judge: silent},
		{ID: "WD-LNK-16", Title: "a port receives corrupted frames", Severity: Error, Twice: true, Reads: "ethtool -S IF: rx_crc_errors_phy, rx_symbol_err_phy; show interface, display interface: CRC, for ports with an LLDP neighbour", Limit: "does not grow", Source: "general knowledge",
			Remedy: "Clean or replace the cable.", judge: brokenFrames},
		{ID: "WD-MTU-01", Title: "the MTU of a switch port is below its NIC", Severity: Error, Reads: "MTU of the NIC, and of the port it is cabled to", Limit: "at least the MTU of the NIC, and mtu of the fabric", Source: "longer packets are dropped",
			Remedy: "Raise the MTU of the port: mtu of the fabric block.", Mends: []string{"port", "qos"}, judge: portMTU},
		{ID: "WD-MTU-02", Title: "NICs of a fabric have different MTUs", Severity: Error, Reads: "/sys/class/net/IF/mtu", Limit: "host_mtu of the fabric; without files the majority", Source: "RoCE uses the smaller packet size of both ends",
			Remedy: "Set host_mtu of the fabric block, and apply.", Mends: []string{"mtu"}, judge: hostMTU},
		{ID: "WD-ADR-02", Title: "strict reverse path filtering is active on a NIC", Severity: Warn, Reads: "/proc/sys/net/ipv4/conf/{all,IF}/rp_filter: the larger value applies", Limit: "not 1", Source: "ip-sysctl of the kernel: strict filtering drops packets of machines with two NICs",
			Remedy: `sysctl "net.ipv4.conf.all.rp_filter" { value = "2" }`, Mends: []string{"sysctl"}, judge: each((*Site).ethernet, pathFilter)},
	}
}

func losslessChecks() []*Check {
	return []*Check{
		{ID: "WD-QOS-01", Title: "the ends of a cable have PFC on different priorities", Severity: Critical, Reads: "dcb -j pfc show dev IF; PFC and classes of the switch port", Limit: "the lossless classes of the fabric; without files the majority", Source: "IEEE 802.1Qbb: a priority without PFC on one end loses packets",
			Remedy: "Apply the fabric block, or change PFC by hand.", Mends: []string{"pfc", "port", "qos"}, judge: samePFC},
		{ID: "WD-QOS-02", Title: "PFC is configured on a port but not operational", Severity: Critical, Reads: "show interface priority-flow-control", Limit: "operational for the lossless priorities", Source: "the switch's own operational state",
			Remedy: "Set priority-flow-control mode on; auto waits for DCBX of the other end.", Mends: []string{"port", "qos"}, judge: each((*Site).switches, runsPFC)},
		{ID: "WD-QOS-03", Title: "a lossless port does not trust DSCP", Severity: Critical, Reads: "dcb -j app show dev IF; the trust setting of switch ports, unless policies decide", Limit: "trusts DSCP on every port with PFC", Source: "RFC 2474 and IEEE 802.1Q: routers and untagged ports drop the priority in a VLAN tag and keep the DSCP",
			Remedy: "Apply the fabric block: weft plan shows the line.", Mends: []string{"dscp", "port"}, judge: trusts},
		{ID: "WD-QOS-04", Title: "the priority of a DSCP differs from the rest of the fabric", Severity: Critical, Reads: "dcb -j app show dev IF; class maps and maps of switches", Limit: "the classes of the fabric; without files the majority", Source: "PFC does not protect packets in another queue",
			Remedy: "Apply the fabric block: weft plan shows the line.", Mends: []string{"dscp", "qos"}, judge: sameDSCP},
		{ID: "WD-QOS-06", Title: "a lossless class has no ECN", Severity: Warn, Reads: "classes of switches", Limit: "ECN marking in every class with PFC", Source: "DCQCN (SIGCOMM 2015); Meta operates without it (SIGCOMM 2024)",
			Remedy: "Add ecn { … } to the traffic_class.", Mends: []string{"qos"}, judge: each((*Site).used, marks)},
		{ID: "WD-QOS-07", Title: "ECN thresholds are out of order", Severity: Error, Reads: "classes of switches", Limit: "min < max", Source: "DCQCN (SIGCOMM 2015)",
			Remedy: "Correct min and max of ecn in the traffic_class.", Mends: []string{"qos"}, judge: each((*Site).used, thresholds)},
		{ID: "WD-QOS-26", Title: "a class pauses before ECN marks all packets", Severity: Warn, Reads: "classes of switches", Limit: "max of ECN below xoff of headroom", Source: "H3C RDMA Technical Reference: the upper limit of ECN is below the PFC threshold",
			Remedy: "Lower max of ecn, or raise xoff of headroom in the traffic_class.", Mends: []string{"qos"}, judge: each((*Site).used, pausesFirst)},
		{ID: "WD-QOS-08", Title: "bandwidth shares of a port do not sum to 100", Severity: Error, Reads: "dcb -j ets show dev IF", Limit: "100 over all classes of ETS", Source: "IEEE 802.1Qaz",
			Remedy: "Apply the fabric block.", Mends: []string{"ets"}, judge: each((*Site).ethernet, shares)},
		{ID: "WD-QOS-12", Title: "global pause is enabled on a port", Severity: Error, Reads: "ethtool -a IF", Limit: "off if PFC is on", Source: "IEEE 802.1Qbb: PFC excludes global pause",
			Remedy: "Run ethtool -A IF rx off tx off, or apply the fabric block.", Mends: []string{"pause"}, judge: each((*Site).ethernet, globalPause)},
		{ID: "WD-QOS-14", Title: "a lossless port has no PFC watchdog", Severity: Warn, Reads: "configuration of the switch", Limit: "on for every port with PFC", Source: "Microsoft, SIGCOMM 2016: a stuck receiver can stop the fabric",
			Remedy: "Add pfc_watchdog { } to the fabric block.", Mends: []string{"qos", "port"}, judge: each((*Site).used, watchdog)},
		{ID: "WD-QOS-15", Title: "a PFC watchdog shut a queue", Severity: Critical, Reads: "counters of the switch", Limit: "0", Source: "the switch",
			Remedy: "Find the slow receiver: check its PCIe, NUMA node and target.", judge: each((*Site).used, shut)},
		{ID: "WD-QOS-18", Title: "packets of a lossless class are dropped", Severity: Critical, Twice: true, Reads: "counters of switches", Limit: "does not grow", Source: "Microsoft, SIGCOMM 2016, 5.2",
			Remedy: "Check headroom and buffers of the class, and the length of the cable.", judge: each((*Site).used, losslessDrops)},
		{ID: "WD-QOS-16", Title: "a NIC is paused for a large share of the time", Severity: Error, Twice: true, Reads: "ethtool -S IF: rx_prioN_pause_duration", Limit: "10 % of the time between two readings", Source: "set by weft, based on published pause storms",
			Remedy: "Find the slow receiver behind the switch.", judge: each((*Site).ethernet, paused)},
		{ID: "WD-QOS-19", Title: "MAC addresses age out before ARP entries", Severity: Warn, Reads: "aging times of MAC addresses and ARP in the configuration, if the switch routes", Limit: "MAC aging time at least the ARP aging time", Source: "Microsoft, SIGCOMM 2016, 4.2: flooding in a lossless class can stop the fabric",
			Remedy: "Raise the MAC aging time above that of ARP: mac address-table aging-time, or mac-address timer aging.", judge: tells(switches.OfAges)},
		{ID: "WD-QOS-22", Title: "the running configuration is not saved", Severity: Warn, Reads: "show startup-config; display saved-configuration", Limit: "the lines of the running configuration, without comments, release and secrets", Source: "the switch",
			Remedy: "Save it (copy running-config startup-config, or save), or find the change.", Saved: true, judge: tells(switches.OfSaved)},
		{ID: "WD-QOS-21", Title: "switches of a fabric have different lossless classes", Severity: Critical, Reads: "classes of all switches", Limit: "the same lossless priorities", Source: "the majority of switches",
			Remedy: "Apply the fabric block to all switches.", Mends: []string{"qos"}, judge: sameClasses},
	}
}

func rdmaChecks() []*Check {
	return []*Check{
		{ID: "WD-RDM-01", Title: "a NIC of a fabric has no RDMA device", Severity: Error, Reads: "/sys/class/infiniband", Limit: "one, if the fabric uses RDMA", Source: "the files; else other NICs of the model",
			Remedy: "Load its module; check the firmware of the card.", Mends: []string{"rdma_link"}, judge: hasRDMA},
		{ID: "WD-RDM-02", Title: "ports use different RDMA protocols", Severity: Critical, Reads: "node_type and link_layer", Limit: "the majority of ports", Source: "RoCE, iWARP and InfiniBand do not interoperate",
			Remedy: "Use one protocol on all ports: enable_iwarp and enable_roce of the driver, LINK_TYPE of the card.", judge: sameRDMA},
		{ID: "WD-RDM-04", Title: "packets arrive out of order", Severity: Error, Twice: true, Reads: "hw_counters/out_of_sequence, packet_seq_err", Limit: "does not grow", Source: "NVIDIA: RDMA counters", Remedy: "Check the path for packet loss with weft verify.", judge: growing("out_of_sequence", "packet_seq_err")},
		{ID: "WD-RDM-05", Title: "acknowledgements time out", Severity: Error, Twice: true, Reads: "hw_counters/local_ack_timeout_err", Limit: "does not grow", Source: "NVIDIA: RDMA counters", Remedy: "Check the path for packet loss, and the other end.", judge: growing("local_ack_timeout_err")},
		{ID: "WD-RDM-08", Title: "a NIC has no receive buffers for incoming packets", Severity: Warn, Twice: true, Reads: "hw_counters/out_of_buffer", Limit: "does not grow", Source: "NVIDIA: RDMA counters", Remedy: "Raise queue depths; check the CPU load.", judge: growing("out_of_buffer")},
		{ID: "WD-RDM-09", Title: "a NIC ignores congestion notifications", Severity: Error, Reads: "hw_counters/rp_cnp_ignored", Limit: "0", Source: "NVIDIA: RDMA counters", Remedy: "Enable the RoCE reaction point on the port.", judge: each((*Site).ethernet, cnp)},
		{ID: "WD-RDM-12", Title: "the locked-memory limit of an agent is too low", Severity: Error, Reads: "/proc/PID/limits and CapEff of weft-target and weft-initiator", Limit: "unlimited, or CAP_IPC_LOCK, if the machine has RDMA", Source: "Linux, ib_umem_get: registered memory is locked, within RLIMIT_MEMLOCK", Remedy: "Run weft apply, which sets the limit (kind memlock), then restart the agent.", Mends: []string{"memlock"}, judge: each((*Site).hosts, locks)},
		{ID: "WD-RDM-14", Title: "RDMA is done in software", Severity: Error, Reads: "/sys/class/infiniband", Limit: "no rxe or siw device, unless declared", Source: own, Remedy: "Use a card with hardware RDMA, or set software = true if this is intended.", judge: each((*Site).ends, softRDMA)},
		{ID: "WD-IB-01", Title: "a port has no subnet manager", Severity: Critical, Reads: "sm_lid", Limit: "not 0", Source: "InfiniBand architecture", Remedy: "Start opensm, or the subnet manager of a switch.", judge: each((*Site).ends, subnetManager)},
	}
}

func hostChecks() []*Check {
	return []*Check{
		{ID: "WD-CPU-01", Title: "CPU frequency scaling saves power", Severity: Warn, Reads: "scaling_governor", Limit: "performance", Source: "vendors' tuning guides", Remedy: "Run tuned-adm profile latency-performance, or cpupower frequency-set -g performance.", judge: each((*Site).hosts, governor)},
		{ID: "WD-CPU-04", Title: "the kernel moves memory between NUMA nodes", Severity: Info, Reads: "/proc/sys/kernel/numa_balancing", Limit: "0 on targets", Source: "WEKA cluster checks", Remedy: `sysctl "kernel.numa_balancing" { value = "0" }`, Mends: []string{"sysctl"}, judge: each((*Site).hosts, balancing)},
		{ID: "WD-MEM-02", Title: "a target swaps", Severity: Warn, Reads: "/proc/swaps", Limit: "nothing in use", Source: "WEKA cluster checks", Remedy: "Find the process that uses the memory; then run swapoff -a.", judge: each((*Site).hosts, swapping)},
		{ID: "WD-MEM-03", Title: "memory has uncorrected errors", Severity: Critical, Reads: "/sys/devices/system/edac/mc/mc*/ue_count", Limit: "0", Source: "the memory controller", Remedy: "Replace the memory module.", judge: each((*Site).hosts, memory)},
		{ID: "WD-TIM-01", Title: "a clock is wrong", Severity: Warn, Reads: "date", Limit: "within 1 s of the majority", Source: own, Remedy: "Start chrony, and check its sources.", judge: clock},
		{ID: "WD-OS-01", Title: "a kernel has a known NVMe-oF bug", Severity: Warn, Reads: "uname -r", Limit: faultList(), Source: "upstream versions; distributions backport fixes to older versions, so check their changelog", Remedy: "Update the kernel, or check its changelog for the fix.", judge: each((*Site).hosts, kernelFaults)},
		{ID: "WD-OS-02", Title: "machines of a role have different kernels", Severity: Info, Reads: "uname -r", Limit: "the majority of the role", Source: own, Remedy: "Use the same kernel.", judge: kernels},
	}
}

func nvmeChecks() []*Check {
	return []*Check{
		{ID: "WD-NVM-01", Title: "a path to a subsystem is down", Severity: Critical, Reads: "/sys/class/nvme/*/state", Limit: "live", Source: "the kernel", Remedy: "Check the NIC, the cable and the target of that path.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, livePaths)},
		{ID: "WD-NVM-28", Title: "a connection provides no storage", Severity: Critical, Reads: "/sys/class/nvme/*/nvme*n*/ana_state; on ESXi esxcli nvme namespace list, storage hpp path list", Limit: "a namespace with an optimized or non-optimized path", Source: "NVMe base specification, Asymmetric Namespace Access",
			Remedy: "On the target, map a namespace to the host NQN, and connect to a port that serves it.", judge: each((*Site).hosts, storage)},
		{ID: "WD-NVM-02", Title: "NVMe multipath is off", Severity: Error, Reads: "/sys/module/nvme_core/parameters/multipath", Limit: "Y", Source: "the kernel's documentation of nvme_core", Remedy: "Set options nvme_core multipath=Y in /etc/modprobe.d, and reboot.", judge: each((*Site).hosts, multipath)},
		{ID: "WD-NVM-03", Title: "the path selection policy is numa", Severity: Warn, Reads: "/sys/class/nvme-subsystem/*/iopolicy", Limit: "not numa with several paths", Source: "the kernel's documentation: numa uses one path per node", Remedy: "Set iopolicy of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, ioPolicy)},
		{ID: "WD-NVM-04", Title: "a connection gives up too early", Severity: Warn, Reads: "/sys/class/nvme/*/ctrl_loss_tmo", Limit: "at least 60 s, or off", Source: own, Remedy: "Set ctrl_loss_tmo of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, lossTimeout)},
		{ID: "WD-NVM-09", Title: "two hosts use the same host NQN", Severity: Critical, Reads: "/sys/class/nvme/*/hostnqn", Limit: "unique for each host", Source: "NVMe base specification: targets treat them as one host", Remedy: "Set hostnqn of the initiator, or run nvme gen-hostnqn on one of them.", judge: hostNQNs},
		{ID: "WD-NVM-05", Title: "a mirror blocks while a connection is lost", Severity: Error, Reads: "/sys/class/nvme/*/fast_io_fail_tmo; slaves of raid1 and raid10 of md", Limit: "not off below an md mirror", Source: "Linux, nvme-fabrics: I/O of a lost path waits until fast_io_fail_tmo, and md waits for it",
			Remedy: "Set fast_io_fail_tmo of connect; weft plan does that below its own mirrors.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, failsFast)},
		{ID: "WD-NVM-15", Title: "the kernel's target does not listen on a configured port", Severity: Critical, Reads: "configfs of nvmet: ports with subsystems; rdma resource show cm_id", Limit: "a listener for each RDMA port", Source: "Linux, nvmet-rdma: the listener disappears with the address, and the link in configfs stays",
			Remedy: "Restore the address of the NIC. If that does not help, remove the subsystem from the port and add it again.", Mends: []string{"address", "nvmet_port"}, judge: each((*Site).hosts, listening)},
		{ID: "WD-NVM-17", Title: "a connection fell back to TCP", Severity: Error, Reads: "/sys/class/nvme/*/transport", Limit: "rdma, if the fabric uses RDMA", Source: "the files", Remedy: "Disconnect it, repair RDMA, and apply.", judge: fallback},
		{ID: "WD-NVM-18", Title: "paths of one subsystem have different transports", Severity: Warn, Reads: "/sys/class/nvme/*/transport", Limit: "one", Source: own, Remedy: "Use one transport for all paths.", judge: each((*Site).hosts, mixedPaths)},
		{ID: "WD-NVM-22", Title: "drives of a machine have different firmware", Severity: Warn, Reads: "/sys/class/nvme/*/firmware_rev", Limit: "one firmware version per model", Source: "WEKA cluster checks", Remedy: "Install the same firmware on all.", judge: each((*Site).hosts, drives)},
	}
}
