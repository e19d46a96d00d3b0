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
const opticLines = "ethtool -m IF; of ports with an LLDP neighbour show interface transceiver details, display transceiver diagnosis interface"

// own is a limit that weft sets itself.
const own = "weft's own: no document gives one"

func pcieChecks() []*Check {
	return []*Check{
		{ID: "WD-PCI-01", Title: "a card has fewer PCIe lanes than it could", Severity: Error,
			Reads: "/sys/bus/pci/devices/BDF/current_link_width and max_link_width", Limit: "as many as the card has, where what is left is less than its port needs",
			Source: "PCI Express base specification: what lanes carry after coding", Remedy: "Seat the card again, take another slot, or look for bifurcation in the firmware settings.", judge: each((*Site).ends, pcieWidth)},
		{ID: "WD-PCI-02", Title: "a card has less of PCIe than it could", Severity: Warn,
			Reads: "/sys/bus/pci/devices/BDF/current_link_speed and max_link_speed", Limit: "the speed of the card, and its lanes where the rest is still enough for its port",
			Source: "PCI Express base specification", Remedy: "Look for the link speed in the firmware settings, and for a riser.", judge: each((*Site).ends, pcieSpeed)},
		{ID: "WD-PCI-08", Title: "the IOMMU translates what NICs do", Severity: Warn,
			Reads: "/proc/cmdline", Limit: "no intel_iommu=on or amd_iommu=on without iommu=pt", Source: "NVIDIA GPUDirect Storage guide; Mellanox performance tuning",
			Remedy: "Start the kernel with iommu=pt, unless machines of guests need more.", judge: each((*Site).hosts, iommu)},
		{ID: "WD-PCI-09", Title: "PCIe reports errors of a card", Severity: Error,
			Reads: "/sys/bus/pci/devices/BDF/aer_dev_fatal and aer_dev_nonfatal", Limit: "0", Source: "general knowledge of AER",
			Remedy: "Seat the card again; replace it, or the riser.", judge: each((*Site).ends, pcieErrors)},
		{ID: "WD-PCI-11", Title: "a NIC and a drive are on different NUMA nodes", Severity: Warn,
			Reads: "numa_node of NICs and of NVMe drives", Limit: "some NIC of storage on the node of each drive", Source: "vendors' tuning guides",
			Remedy: "Move one of them to a slot of the other node, or pin what moves the data.", judge: each((*Site).hosts, numa)},
		{ID: "WD-FW-01", Title: "a card has started for recovery only", Severity: Critical,
			Reads: "the PCI id of the card", Limit: "not 15b3:02xx", Source: "pci.ids 2026.08.22", Remedy: "Write its firmware again, with the vendor's tool.", judge: each((*Site).hosts, recovery)},
		{ID: "WD-FW-02", Title: "cards of one model have different firmware", Severity: Warn,
			Reads: "fw_ver of RDMA devices, or ethtool -i", Limit: "what most of the same model have", Source: own,
			Remedy: "Bring them to one version, after reading its release notes.", judge: firmware},
		{ID: "WD-FW-04", Title: "a port speaks another link type than its fabric", Severity: Error,
			Reads: "link_layer of the RDMA port", Limit: "InfiniBand where the fabric is, Ethernet where it is not", Source: "the files; without them what most ports of the model have",
			Remedy: "Set LINK_TYPE_P1 of the card with mlxconfig, and reset it.", judge: each((*Site).ends, linkType)},
	}
}

func linkChecks() []*Check {
	return []*Check{
		{ID: "WD-LNK-01", Title: "a port has no link", Severity: Critical, Reads: "/sys/class/net/IF/carrier and operstate", Limit: "up", Source: "the port is declared, or has an RDMA device that others of its machine use",
			Remedy: "Look at the cable, at the port on the other end, and for a shutdown there.", judge: each((*Site).ends, linkUp)},
		{ID: "WD-LNK-02", Title: "a link is slower than its card", Severity: Error, Reads: "/sys/class/net/IF/speed", Limit: "speed of the link block; without one what most ports of the model have", Source: "the files; else the peers",
			Remedy: "Look at the optic or cable, and at autonegotiation on both ends.", judge: linkSpeed},
		{ID: "WD-LNK-03", Title: "a link has another FEC than its peers, or none", Severity: Error, Reads: "ethtool --show-fec IF", Limit: "what most ports of that speed have; not off from 25G a lane on", Source: "IEEE 802.3 (clauses 91, 108, 134); the peers",
			Remedy: "Set the same FEC on both ends: ethtool --set-fec IF encoding rs.", judge: fec},
		{ID: "WD-LNK-06", Title: "an optic raises an alarm", Severity: Error, Reads: opticLines, Limit: "the module's own thresholds", Source: "SFF-8472, SFF-8636: what the module says of itself",
			Remedy: "Clean the fibre, then replace the optic.", judge: alarms(switches.OfOptics, "power", "bias", "current", "los", "fault")},
		{ID: "WD-LNK-08", Title: "a link comes and goes", Severity: Error, Reads: "/sys/class/net/IF/carrier_changes and /proc/uptime", Limit: "more than 5 in 24 hours, beyond the two of coming up", Source: "Azure health checks, check_ib_link_flapping",
			Remedy: "Replace the cable or optic; look into the kernel log for lost carrier.", judge: each((*Site).ends, flaps)},
		{ID: "WD-LNK-10", Title: "a cable leads elsewhere than the files say", Severity: Critical, Reads: "LLDP of the switch", Limit: "the link block", Source: "the files",
			Remedy: "weft verify cabling says which plugs to swap.", judge: each((*Site).ends, wrongCable)},
		{ID: "WD-LNK-11", Title: "all NICs of a server are cabled to one switch", Severity: Critical, Reads: "LLDP of switches", Limit: "two switches for two NICs", Source: "what planes are for",
			Remedy: "Move one cable to the other switch.", judge: oneSwitch},
		{ID: "WD-LNK-13", Title: "nobody hears a NIC", Severity: Warn, Reads: "LLDP of switches", Limit: "each NIC at a switch is heard by one", Source: own,
			Remedy: "Switch LLDP on at the port; start lldpd on Linux, or the agent of the card; ESXi speaks it from a distributed switch only.", Mends: []string{"port", "qos"}, judge: silent},
		{ID: "WD-LNK-16", Title: "a port receives broken frames", Severity: Error, Twice: true, Reads: "ethtool -S IF: rx_crc_errors_phy, rx_symbol_err_phy; show interface, display interface: CRC, of ports with an LLDP neighbour", Limit: "does not grow", Source: "general knowledge",
			Remedy: "Clean or replace the cable.", judge: brokenFrames},
		{ID: "WD-MTU-01", Title: "a switch port takes shorter frames than its NIC sends", Severity: Error, Reads: "MTU of the NIC, and of the port it is cabled to", Limit: "the port's at least the NIC's, and mtu of the fabric", Source: "what does not fit is dropped",
			Remedy: "Raise the MTU of the port: mtu of the fabric block.", Mends: []string{"port", "qos"}, judge: portMTU},
		{ID: "WD-MTU-02", Title: "NICs of a fabric have different MTUs", Severity: Error, Reads: "/sys/class/net/IF/mtu", Limit: "host_mtu of the fabric; without files what most have", Source: "RoCE takes the smaller packet size of both ends",
			Remedy: "Set host_mtu of the fabric block, and apply.", Mends: []string{"mtu"}, judge: hostMTU},
		{ID: "WD-ADR-02", Title: "answers of a NIC are filtered by their path", Severity: Warn, Reads: "/proc/sys/net/ipv4/conf/{all,IF}/rp_filter: the larger one counts", Limit: "not 1", Source: "ip-sysctl of the kernel; with two NICs of one machine strict filtering drops",
			Remedy: `sysctl "net.ipv4.conf.all.rp_filter" { value = "2" }`, Mends: []string{"sysctl"}, judge: each((*Site).ethernet, pathFilter)},
	}
}

func losslessChecks() []*Check {
	return []*Check{
		{ID: "WD-QOS-01", Title: "both ends of a cable pause for different priorities", Severity: Critical, Reads: "dcb -j pfc show dev IF; PFC and classes of the switch port", Limit: "the lossless classes of the fabric; without files what most ends have", Source: "IEEE 802.1Qbb: what one end does not pause for is lost",
			Remedy: "Apply the fabric block, or switch PFC on or off there by hand.", Mends: []string{"pfc", "port", "qos"}, judge: samePFC},
		{ID: "WD-QOS-02", Title: "PFC is configured on a port and does not run", Severity: Critical, Reads: "show interface priority-flow-control", Limit: "runs, for the lossless priorities", Source: "the switch's own operational state",
			Remedy: "priority-flow-control mode on: auto waits for DCBX of the other end.", Mends: []string{"port", "qos"}, judge: each((*Site).switches, runsPFC)},
		{ID: "WD-QOS-03", Title: "a lossless port does not go by DSCP", Severity: Critical, Reads: "dcb -j app show dev IF; what lines of switch ports say that they go by, where policies do not", Limit: "goes by DSCP wherever PFC is on", Source: "RFC 2474 and IEEE 802.1Q: routers and untagged ports drop the priority of a tag, and leave the DSCP",
			Remedy: "Apply the fabric block: weft plan shows the line.", Mends: []string{"dscp", "port"}, judge: trusts},
		{ID: "WD-QOS-04", Title: "a DSCP gets another priority here than elsewhere", Severity: Critical, Reads: "dcb -j app show dev IF; class maps and maps of switches", Limit: "the classes of the fabric; without files what most ends have", Source: "what is in another queue is not paused for",
			Remedy: "Apply the fabric block: weft plan shows the line.", Mends: []string{"dscp", "qos"}, judge: sameDSCP},
		{ID: "WD-QOS-06", Title: "a lossless class has no ECN", Severity: Warn, Reads: "classes of switches", Limit: "every class with PFC marks", Source: "DCQCN (SIGCOMM 2015); Meta runs without (SIGCOMM 2024)",
			Remedy: "ecn { … } in the traffic_class.", Mends: []string{"qos"}, judge: each((*Site).used, marks)},
		{ID: "WD-QOS-07", Title: "ECN thresholds are out of order", Severity: Error, Reads: "classes of switches", Limit: "min < max", Source: "DCQCN (SIGCOMM 2015)",
			Remedy: "Mend min and max of ecn in the traffic_class.", Mends: []string{"qos"}, judge: each((*Site).used, thresholds)},
		{ID: "WD-QOS-26", Title: "a class pauses before ECN marks all packets", Severity: Warn, Reads: "classes of switches", Limit: "max of ECN below xoff of headroom", Source: "H3C RDMA Technical Reference: the upper limit of ECN lies below what triggers PFC",
			Remedy: "Lower max of ecn, or raise xoff of headroom in the traffic_class.", Mends: []string{"qos"}, judge: each((*Site).used, pausesFirst)},
		{ID: "WD-QOS-08", Title: "bandwidth shares of a port do not sum to 100", Severity: Error, Reads: "dcb -j ets show dev IF", Limit: "100 over all classes of ETS", Source: "IEEE 802.1Qaz",
			Remedy: "Apply the fabric block.", Mends: []string{"ets"}, judge: each((*Site).ethernet, shares)},
		{ID: "WD-QOS-12", Title: "a port pauses the whole link", Severity: Error, Reads: "ethtool -a IF", Limit: "off where PFC is on", Source: "IEEE 802.1Qbb: not both",
			Remedy: "ethtool -A IF rx off tx off; the fabric block does.", Mends: []string{"pause"}, judge: each((*Site).ethernet, globalPause)},
		{ID: "WD-QOS-14", Title: "a lossless port has no PFC watchdog", Severity: Warn, Reads: "configuration of the switch", Limit: "on wherever PFC is", Source: "Microsoft, SIGCOMM 2016: a stuck receiver stops the fabric",
			Remedy: "pfc_watchdog { } in the fabric block.", Mends: []string{"qos", "port"}, judge: each((*Site).used, watchdog)},
		{ID: "WD-QOS-15", Title: "a watchdog has shut a queue", Severity: Critical, Reads: "counters of the switch", Limit: "0", Source: "the switch",
			Remedy: "Find the receiver that does not drain: its PCIe, its NUMA node, its target.", judge: each((*Site).used, shut)},
		{ID: "WD-QOS-18", Title: "packets of a lossless class are dropped", Severity: Critical, Twice: true, Reads: "counters of switches", Limit: "does not grow", Source: "Microsoft, SIGCOMM 2016, 5.2",
			Remedy: "Look at headroom and buffers of the class, and at the length of the cable.", judge: each((*Site).used, losslessDrops)},
		{ID: "WD-QOS-16", Title: "a NIC is paused for much of the time", Severity: Error, Twice: true, Reads: "ethtool -S IF: rx_prioN_pause_duration", Limit: "10 % of the time between two readings", Source: "this weft's own limit, from what papers report of storms",
			Remedy: "Find the slow receiver behind the switch.", judge: each((*Site).ethernet, paused)},
		{ID: "WD-QOS-19", Title: "a switch forgets where a machine is before it forgets its address", Severity: Warn, Reads: "aging of MAC addresses and of ARP in the configuration, where the switch routes", Limit: "MAC addresses age no sooner than ARP", Source: "Microsoft, SIGCOMM 2016, 4.2: what is flooded in a lossless class can stop the fabric",
			Remedy: "Let MAC addresses live longer than ARP: mac address-table aging-time, or mac-address timer aging.", judge: tells(switches.OfAges)},
		{ID: "WD-QOS-22", Title: "what runs is not what is saved", Severity: Warn, Reads: "show startup-config; display saved-configuration", Limit: "the lines of the running configuration, without comments, release and secrets", Source: "the switch",
			Remedy: "Save it: copy running-config startup-config, or save; or find who changed it.", Saved: true, judge: tells(switches.OfSaved)},
		{ID: "WD-QOS-21", Title: "switches of a fabric have different classes", Severity: Critical, Reads: "classes of all switches", Limit: "the same lossless priorities", Source: "what most of them have",
			Remedy: "Apply the fabric block to all of them.", Mends: []string{"qos"}, judge: sameClasses},
	}
}

func rdmaChecks() []*Check {
	return []*Check{
		{ID: "WD-RDM-01", Title: "a NIC of a fabric has no RDMA device", Severity: Error, Reads: "/sys/class/infiniband", Limit: "one, where the fabric is of RDMA", Source: "the files; else the peers of its model",
			Remedy: "Load its module; look at the firmware of the card.", Mends: []string{"rdma_link"}, judge: hasRDMA},
		{ID: "WD-RDM-02", Title: "ports speak different kinds of RDMA", Severity: Critical, Reads: "node_type and link_layer", Limit: "what most ports have", Source: "RoCE, iWARP and InfiniBand do not connect to each other",
			Remedy: "Choose one for all: enable_iwarp and enable_roce of the driver, LINK_TYPE of the card.", judge: sameRDMA},
		{ID: "WD-RDM-04", Title: "packets arrive out of order", Severity: Error, Twice: true, Reads: "hw_counters/out_of_sequence, packet_seq_err", Limit: "does not grow", Source: "NVIDIA: RDMA counters", Remedy: "Look for loss on the path: weft verify.", judge: growing("out_of_sequence", "packet_seq_err")},
		{ID: "WD-RDM-05", Title: "acknowledgements time out", Severity: Error, Twice: true, Reads: "hw_counters/local_ack_timeout_err", Limit: "does not grow", Source: "NVIDIA: RDMA counters", Remedy: "Look for loss on the path, and at the other end.", judge: growing("local_ack_timeout_err")},
		{ID: "WD-RDM-08", Title: "a NIC has no buffers for what arrives", Severity: Warn, Twice: true, Reads: "hw_counters/out_of_buffer", Limit: "does not grow", Source: "NVIDIA: RDMA counters", Remedy: "Raise queue depths; look for a CPU that is busy.", judge: growing("out_of_buffer")},
		{ID: "WD-RDM-09", Title: "a NIC ignores congestion notifications", Severity: Error, Reads: "hw_counters/rp_cnp_ignored", Limit: "0", Source: "NVIDIA: RDMA counters", Remedy: "Enable the reaction point of RoCE on the port.", judge: each((*Site).ethernet, cnp)},
		{ID: "WD-RDM-12", Title: "an agent may lock too little memory", Severity: Error, Reads: "/proc/PID/limits and CapEff of weft-target and weft-initiator", Limit: "unlimited, or CAP_IPC_LOCK, where there is RDMA", Source: "Linux, ib_umem_get: what is registered is locked, within RLIMIT_MEMLOCK", Remedy: "Apply: the kind memlock of weft plan sets what RDMA programs may lock; then restart the agent.", Mends: []string{"memlock"}, judge: each((*Site).hosts, locks)},
		{ID: "WD-RDM-14", Title: "RDMA is done in software", Severity: Error, Reads: "/sys/class/infiniband", Limit: "none of rxe and siw, unless declared", Source: own, Remedy: "Use a card that does RDMA; software = true says that it is meant.", judge: each((*Site).ends, softRDMA)},
		{ID: "WD-IB-01", Title: "a port has no subnet manager", Severity: Critical, Reads: "sm_lid", Limit: "not 0", Source: "InfiniBand architecture", Remedy: "Start opensm, or the manager of a switch.", judge: each((*Site).ends, subnetManager)},
	}
}

func hostChecks() []*Check {
	return []*Check{
		{ID: "WD-CPU-01", Title: "CPUs save power", Severity: Warn, Reads: "scaling_governor", Limit: "performance", Source: "vendors' tuning guides", Remedy: "tuned-adm profile latency-performance, or cpupower frequency-set -g performance.", judge: each((*Site).hosts, governor)},
		{ID: "WD-CPU-04", Title: "the kernel moves memory between nodes", Severity: Info, Reads: "/proc/sys/kernel/numa_balancing", Limit: "0 on targets", Source: "WEKA's checks for clusters", Remedy: `sysctl "kernel.numa_balancing" { value = "0" }`, Mends: []string{"sysctl"}, judge: each((*Site).hosts, balancing)},
		{ID: "WD-MEM-02", Title: "a target swaps", Severity: Warn, Reads: "/proc/swaps", Limit: "nothing in use", Source: "WEKA's checks for clusters", Remedy: "Find what takes the memory; swapoff -a.", judge: each((*Site).hosts, swapping)},
		{ID: "WD-MEM-03", Title: "memory has errors that were not corrected", Severity: Critical, Reads: "/sys/devices/system/edac/mc/mc*/ue_count", Limit: "0", Source: "the memory controller", Remedy: "Replace the module.", judge: each((*Site).hosts, memory)},
		{ID: "WD-TIM-01", Title: "a clock is wrong", Severity: Warn, Reads: "date", Limit: "1 s from what most have", Source: own, Remedy: "Start chrony, and look at its sources.", judge: clock},
		{ID: "WD-OS-01", Title: "a kernel has a known fault of NVMe-oF", Severity: Warn, Reads: "uname -r", Limit: faultList(), Source: "upstream numbers; distributions mend theirs under older ones, so that their changelog decides", Remedy: "Update the kernel, or read its changelog.", judge: each((*Site).hosts, kernelFaults)},
		{ID: "WD-OS-02", Title: "machines of a role have different kernels", Severity: Info, Reads: "uname -r", Limit: "what most of the role have", Source: own, Remedy: "Bring them to one.", judge: kernels},
	}
}

func nvmeChecks() []*Check {
	return []*Check{
		{ID: "WD-NVM-01", Title: "a path to a subsystem is down", Severity: Critical, Reads: "/sys/class/nvme/*/state", Limit: "live", Source: "the kernel", Remedy: "Look at the NIC, the cable and the target of that path.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, livePaths)},
		{ID: "WD-NVM-28", Title: "a connection gives no storage", Severity: Critical, Reads: "/sys/class/nvme/*/nvme*n*/ana_state; on ESXi esxcli nvme namespace list, storage hpp path list", Limit: "a namespace, with a path that is optimized or non-optimized", Source: "NVMe base specification, Asymmetric Namespace Access",
			Remedy: "On the target, map a namespace to the host NQN; look at which of its ports serve it, and connect one of those.", judge: each((*Site).hosts, storage)},
		{ID: "WD-NVM-02", Title: "the kernel does not use several paths", Severity: Error, Reads: "/sys/module/nvme_core/parameters/multipath", Limit: "Y", Source: "the kernel's documentation of nvme_core", Remedy: "options nvme_core multipath=Y in /etc/modprobe.d, and restart.", judge: each((*Site).hosts, multipath)},
		{ID: "WD-NVM-03", Title: "paths are chosen by NUMA node only", Severity: Warn, Reads: "/sys/class/nvme-subsystem/*/iopolicy", Limit: "not numa where there are several paths", Source: "the kernel's documentation: numa uses one path of a node", Remedy: "iopolicy of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, ioPolicy)},
		{ID: "WD-NVM-04", Title: "a connection is given up soon", Severity: Warn, Reads: "/sys/class/nvme/*/ctrl_loss_tmo", Limit: "at least 60 s, or off", Source: own, Remedy: "ctrl_loss_tmo of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, lossTimeout)},
		{ID: "WD-NVM-09", Title: "two hosts use the same host NQN", Severity: Critical, Reads: "/sys/class/nvme/*/hostnqn", Limit: "each its own", Source: "NVMe base specification: targets take them for one host", Remedy: "hostnqn of the initiator, or nvme gen-hostnqn on one of them.", judge: hostNQNs},
		{ID: "WD-NVM-05", Title: "a mirror waits for a connection that does not fail", Severity: Error, Reads: "/sys/class/nvme/*/fast_io_fail_tmo; slaves of raid1 and raid10 of md", Limit: "not off below a mirror of md", Source: "Linux, nvme-fabrics: I/O of a path that is away is kept until fast_io_fail_tmo, and md waits for it",
			Remedy: "fast_io_fail_tmo of connect; weft plan sets it below its mirrors.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, failsFast)},
		{ID: "WD-NVM-15", Title: "nobody listens where the kernel's target serves", Severity: Critical, Reads: "configfs of nvmet: ports with subsystems; rdma resource show cm_id", Limit: "a listener for each port of RDMA", Source: "Linux, nvmet-rdma: its listener goes with the address, and the link in configfs stays",
			Remedy: "Give the address back to its NIC; where that does not help, take the subsystem out of the port and in again.", Mends: []string{"address", "nvmet_port"}, judge: each((*Site).hosts, listening)},
		{ID: "WD-NVM-17", Title: "a connection fell back to TCP", Severity: Error, Reads: "/sys/class/nvme/*/transport", Limit: "rdma, where the fabric is of RDMA", Source: "the files", Remedy: "Disconnect it, mend RDMA, and apply.", judge: fallback},
		{ID: "WD-NVM-18", Title: "paths of one subsystem have different transports", Severity: Warn, Reads: "/sys/class/nvme/*/transport", Limit: "one", Source: own, Remedy: "Use one transport for all paths.", judge: each((*Site).hosts, mixedPaths)},
		{ID: "WD-NVM-22", Title: "drives of a machine differ", Severity: Warn, Reads: "/sys/class/nvme/*/firmware_rev", Limit: "one firmware of a model", Source: "WEKA's checks for clusters", Remedy: "Bring them to one firmware.", judge: each((*Site).hosts, drives)},
	}
}
