package doctor

import "weft/switches"

// machineChecks are about CPUs, the system and NVMe.
func machineChecks() []*Check {
	return []*Check{
		{ID: "WD-CPU-02", Title: "CPUs sleep deeply", Severity: Warn, Reads: "/sys/devices/system/cpu/cpu0/cpuidle", Limit: "no state that takes more than 20 µs to leave", Source: own, Remedy: "tuned-adm profile latency-performance, or intel_idle.max_cstate=1.", judge: each((*Site).hosts, sleep)},
		{ID: "WD-CPU-03", Title: "interrupts of a NIC run on another node", Severity: Warn, Reads: "/proc/irq/N/effective_affinity_list, local_cpulist of the card", Limit: "the CPUs of its node", Source: "vendors' tuning guides", Remedy: "set_irq_affinity_bynode.sh of the driver, and irqbalance off or told so.", judge: each((*Site).ends, interrupts)},
		{ID: "WD-CPU-05", Title: "machines of a role have different mitigations", Severity: Info, Reads: "/sys/devices/system/cpu/vulnerabilities, smt/active", Limit: "what most of the role have", Source: own, Remedy: "Bring kernel line and firmware to one.", judge: flaws},
		{ID: "WD-CPU-06", Title: "a machine below takes time", Severity: Warn, Twice: true, Reads: "/proc/stat", Limit: "1 % of the time between two readings", Source: own, Remedy: "Do not measure on it; give the guest CPUs of its own.", judge: each((*Site).hosts, stolen)},
		{ID: "WD-MEM-01", Title: "machines of a role reserve different huge pages", Severity: Warn, Reads: "/proc/meminfo: HugePages_Total", Limit: "what most of the role have", Source: own + "; SPDK wants 512 of 2 MiB", Remedy: `sysctl "vm.nr_hugepages" { value = "…" }`, Mends: []string{"sysctl"}, judge: hugePages},
		{ID: "WD-OS-04", Title: "somebody else sets what weft sets", Severity: Warn, Reads: "systemctl is-active lldpad nvmet", Limit: "neither runs", Source: "lldpad(8) writes classes; nvmet.service clears what the kernel exports when it stops", Remedy: "systemctl disable --now of that service.", judge: each((*Site).hosts, managers)},
		{ID: "WD-OS-05", Title: "a file system is full", Severity: Warn, Reads: "df -P / /var", Limit: "95 %", Source: own, Remedy: "Make room: logs, old kernels.", judge: each((*Site).hosts, full)},
		{ID: "WD-OS-06", Title: "the kernel is locked down", Severity: Info, Reads: "/sys/kernel/security/lockdown", Limit: "none", Source: "kernel_lockdown(7)", Remedy: "Where debugfs is needed, start without Secure Boot, or set ECN with the vendor's tool.", judge: each((*Site).hosts, lockdown)},
		{ID: "WD-NVM-06", Title: "a connection has no keep alive", Severity: Warn, Reads: "/sys/class/nvme/*/kato", Limit: "more than 0", Source: "NVMe base specification, Keep Alive", Remedy: "keep_alive_tmo of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, keepAlive)},
		{ID: "WD-NVM-07", Title: "a connection has more queues than its NIC takes", Severity: Warn, Reads: "/sys/class/nvme/*/queue_count", Limit: "io_queues of the catalogue", Source: "the catalogue, by card", Remedy: "io_queues of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, queues)},
		{ID: "WD-NVM-08", Title: "queues are longer than the kernel was made for", Severity: Info, Reads: "/sys/class/nvme/*/sqsize", Limit: "128 before Linux 6.9", Source: "Linux, drivers/nvme/host/fabrics.h", Remedy: "queue-size of nvme connect.", judge: each((*Site).hosts, queueSize)},
		{ID: "WD-NVM-10", Title: "two targets export one name", Severity: Critical, Reads: "/sys/kernel/config/nvmet/subsystems", Limit: "each NQN and UUID once, unless both give ranges of controller ids", Source: "NVMe base specification: hosts take them for one", Remedy: "Give one of them another NQN and UUID.", judge: twins},
		{ID: "WD-NVM-11", Title: "controller ids of two targets overlap", Severity: Critical, Reads: "attr_cntlid_min and attr_cntlid_max", Limit: "ranges that do not overlap", Source: "NVMe base specification: a controller id is unique in its subsystem", Remedy: "Give each target a range of its own.", judge: controllerIDs},
		{ID: "WD-NVM-12", Title: "a target lets anybody in", Severity: Error, Reads: "attr_allow_any_host", Limit: "0", Source: "the kernel's documentation of nvmet", Remedy: "List the hosts: allow_hosts of the subsystem.", Mends: []string{"nvmet_subsystem"}, judge: each((*Site).hosts, anyHost)},
		{ID: "WD-NVM-13", Title: "a device is exported and mounted", Severity: Critical, Reads: "device_path of namespaces; /proc/mounts", Limit: "one of both", Source: "two writers of one file system destroy it", Remedy: "Unmount it, or disable the namespace, before anybody writes.", judge: each((*Site).hosts, exportedAndMounted)},
		{ID: "WD-NVM-20", Title: "a drive is not well", Severity: Error, Reads: "nvme smart-log DEV -o json, where nvme-cli is there", Limit: "critical_warning 0, percentage_used at most 90, media_errors 0", Source: "NVMe base specification, SMART / Health Information", Remedy: "Replace the drive.", judge: each((*Site).hosts, smart)},
		{ID: "WD-NVM-21", Title: "a drive is too hot", Severity: Warn, Reads: "/sys/class/nvme/*/hwmon*/temp1_input and temp1_max", Limit: "the drive's own", Source: "NVMe base specification: warning composite temperature threshold", Remedy: "Look at the airflow.", judge: each((*Site).hosts, heat)},
		{ID: "WD-NVM-23", Title: "drives are missing", Severity: Critical, Reads: "/dev/disk/by-id", Limit: "those that pools name", Source: "the files", Remedy: "Seat or replace the drive; look at its slot.", judge: each((*Site).hosts, missing)},
		{ID: "WD-NVM-16", Title: "nobody connects", Severity: Info, Reads: "allowed_hosts of configfs, /sys/kernel/debug/nvmet", Limit: "each host that is let in is connected", Source: "Linux kernel, drivers/nvme/target/debugfs.c",
			Remedy: "Connect it, or let it in no more.", judge: each((*Site).hosts, nobodyConnects)},
		{ID: "WD-NVM-27", Title: "a thin pool fills up", Severity: Error, Reads: "lvs, where dm_thin_pool is loaded", Limit: "80 % of data, 90 % of metadata", Source: "lvmthin(7): a pool that is full stops its volumes; the figures are " + own,
			Remedy: "lvextend it, or free what nobody needs.", judge: each((*Site).hosts, thinPools)},
		{ID: "WD-NVM-26", Title: "time-outs are out of order", Severity: Warn, Reads: "kato, reconnect_delay and ctrl_loss_tmo", Limit: "ctrl_loss_tmo is the longest", Source: own, Remedy: "ctrl_loss_tmo and reconnect_delay of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, timeouts)},
	}
}

// gpuChecks are made on machines with a driver of NVIDIA's.
func gpuChecks() []*Check {
	const gds = "NVIDIA GPUDirect Storage guides"
	return []*Check{
		{ID: "WD-GPU-01", Title: "the driver is the closed one", Severity: Error, Reads: "/proc/driver/nvidia/version", Limit: "the open kernel modules, where GPUDirect Storage is set up", Source: gds, Remedy: "Install the open kernel modules.", judge: each((*Site).direct, gpuDriver)},
		{ID: "WD-GPU-02", Title: "NICs do not reach GPUs", Severity: Error, Reads: "/sys/module/nvidia_peermem, the kernel and the driver", Limit: "nvidia_peermem, or dma-buf (open driver, kernel 5.12)", Source: "NVIDIA GPUDirect RDMA", Remedy: "modprobe nvidia_peermem, or take the open driver.", judge: each((*Site).withGPUs, gpuPeer)},
		{ID: "WD-GPU-03", Title: "a legacy module is loaded", Severity: Error, Reads: "/sys/module/nv_peer_mem", Limit: "not loaded", Source: "NVIDIA GPUDirect RDMA", Remedy: "Remove its package, and load nvidia_peermem.", judge: each((*Site).withGPUs, gpuLegacy)},
		{ID: "WD-GPU-05", Title: "a transport lacks its hooks", Severity: Error, Reads: "/proc/kallsyms: nvme_rdma_v1_register_nvfs_dma_ops", Limit: "there where nvidia-fs and nvme_rdma are loaded", Source: "NVIDIA gds-nvidia-fs, src/nvfs-dma.c", Remedy: "Install DOCA or MLNX_OFED with --with-nvmf, and load nvme_rdma again.", judge: each((*Site).direct, gpuHooks)},
		{ID: "WD-GPU-11", Title: "ACS stands between GPUs and NICs", Severity: Error, Reads: "setpci ECAP_ACS+0x6.w of the bridges above", Limit: "0000 where GPUDirect Storage is set up", Source: gds, Remedy: "Switch ACS off in the firmware, or with setpci at each start, unless machines of guests need it.", judge: each((*Site).direct, gpuACS)},
		{ID: "WD-GPU-04", Title: "nvidia-fs is missing", Severity: Error, Reads: "/proc/driver/nvidia-fs/version, /etc/cufile.json", Limit: "loaded where cufile.json is there, or use_pci_p2pdma", Source: gds, Remedy: "Install nvidia-gds, and load nvidia_fs.", judge: each((*Site).withGPUs, gpuFS)},
		{ID: "WD-GPU-07", Title: "a mode hides that nothing is direct", Severity: Warn, Reads: "allow_compat_mode of /etc/cufile.json", Limit: "false where nvidia-fs is not loaded", Source: gds, Remedy: "allow_compat_mode: false on one machine first.", judge: each((*Site).direct, gpuCompat)},
		{ID: "WD-GPU-08", Title: "a GPU is far from all RDMA NICs", Severity: Warn, Reads: "the tree of PCI in /sys/devices", Limit: "one NIC on its root", Source: gds, Remedy: "Move the NIC to a slot of that root.", judge: each((*Site).withGPUs, gpuDistance)},
		{ID: "WD-GPU-12", Title: "the IOMMU stands between GPUs and NICs", Severity: Error, Reads: "/proc/cmdline", Limit: "off, or iommu=pt", Source: gds, Remedy: "Start the kernel with iommu=pt.", judge: each((*Site).withGPUs, gpuIOMMU)},
		{ID: "WD-GPU-13", Title: "multipath and peer-to-peer exclude each other", Severity: Error, Reads: "nvme_core.multipath, use_pci_p2pdma of cufile.json", Limit: "N with use_pci_p2pdma, Y with several paths", Source: gds, Remedy: "Choose one: several paths, or PCI P2PDMA.", judge: each((*Site).direct, gpuMultipath)},
		{ID: "WD-GPU-14", Title: "cufile.json names addresses that no NIC has", Severity: Error, Reads: "rdma_dev_addr_list of cufile.json, ip -j addr", Limit: "addresses of RDMA NICs", Source: gds, Remedy: "Write the addresses of this machine's NICs.", judge: each((*Site).direct, gpuAddresses)},
		{ID: "WD-GPU-15", Title: "the kernel has no peer-to-peer", Severity: Error, Reads: "CONFIG_PCI_P2PDMA in /boot/config-…", Limit: "y where use_pci_p2pdma is", Source: gds, Remedy: "Take a kernel with it, 6.2 or later.", judge: each((*Site).direct, gpuKernel)},
		{ID: "WD-GPU-17", Title: "a machine with GPUs has storage over TCP", Severity: Warn, Reads: "/sys/class/nvme/*/transport", Limit: "rdma", Source: gds, Remedy: "Mend RDMA, and connect again.", judge: each((*Site).withGPUs, gpuTCP)},
		{ID: "WD-GPU-18", Title: "nvidia-fs counts nothing", Severity: Info, Reads: "rw_stats_enabled of nvidia_fs", Limit: "1 for a proof", Source: gds, Remedy: "echo 1 >/sys/module/nvidia_fs/parameters/rw_stats_enabled for the proof.", judge: each((*Site).withGPUs, gpuCounters)},
	}
}

// fileChecks are about file systems over RDMA, where they are.
func fileChecks() []*Check {
	const lustre, wk, nfs = "Lustre Operations Manual, LNet", "WEKA documentation", "Linux, nfs(5) and rpc.nfsd(8)"
	return []*Check{
		{ID: "WD-FS-01", Title: "LNet is down", Severity: Error, Reads: "lnetctl net show -v 4", Limit: "up", Source: lustre, Remedy: "lnetctl lnet configure --all; look at its NIC.", judge: each((*Site).hosts, lnetUp)},
		{ID: "WD-FS-02", Title: "an interface of LNet is not healthy", Severity: Warn, Reads: "lnetctl net show -v 4: health value", Limit: "1000", Source: lustre, Remedy: "Look at its link and MTU.", judge: lnetHealth},
		{ID: "WD-FS-03", Title: "LNet is not in the lossless class", Severity: Error, Reads: "/sys/module/ko2iblnd/parameters/tos", Limit: "that of the class, where there is one", Source: "Lustre, ko2iblnd parameters", Remedy: "options ko2iblnd tos=104 (DSCP 26), and load it again.", judge: lnetMarks},
		{ID: "WD-FS-04", Title: "ends of LNet have different credits", Severity: Warn, Reads: "lnetctl net show -v 4: peer_credits", Limit: "what most have", Source: "general knowledge of ko2iblnd", Remedy: "The same modprobe line on all machines.", judge: lnetCredits},
		{ID: "WD-FS-05", Title: "a target of Lustre is away", Severity: Error, Reads: "lfs check servers", Limit: "active", Source: "Lustre Operations Manual", Remedy: "Look at its server.", judge: each((*Site).hosts, lustreTargets)},
		{ID: "WD-FS-06", Title: "LNet uses one plane of two", Severity: Warn, Reads: "lnetctl net show", Limit: "an NI on each NIC of the fabric", Source: "Lustre Operations Manual, LNet Multi-Rail", Remedy: "lnetctl net add on the other NIC.", judge: each((*Site).hosts, lnetPlanes)},
		{ID: "WD-FS-07", Title: "WEKA is not well", Severity: Error, Reads: "weka status --json", Limit: "OK or REDISTRIBUTING, and I/O STARTED", Source: wk, Remedy: "weka alerts.", judge: each((*Site).hosts, wekaState)},
		{ID: "WD-FS-09", Title: "the clock is too far off for WEKA", Severity: Warn, Reads: "date; allowed_clock_skew_secs of weka status", Limit: "half of what it allows", Source: wk, Remedy: "Start chrony.", judge: wekaClock},
		{ID: "WD-FS-10", Title: "NICs of a WEKA machine have mixed MTUs", Severity: Error, Reads: "/sys/class/net/IF/mtu", Limit: "all at least 4076, or none", Source: wk, Remedy: "One MTU for all.", judge: each((*Site).hosts, wekaMTU)},
		{ID: "WD-FS-11", Title: "NFS fell back to TCP", Severity: Warn, Reads: "/proc/mounts; /proc/fs/nfsd/portlist of the server", Limit: "rdma where the server listens on it", Source: nfs, Remedy: "Mount with proto=rdma,port=20049.", judge: nfsFallback},
		{ID: "WD-FS-13", Title: "NFS over RDMA is not in the lossless class", Severity: Warn, Reads: "default_roce_tos of configfs, rdma_cm", Limit: "a DSCP of a lossless class, where there is one", Source: nfs + "; cma_configfs of the kernel", Remedy: "Set default_roce_tos of the NIC to four times the DSCP: the roce block does.", Mends: []string{"roce"}, judge: nfsMarks},
		{ID: "WD-FS-12", Title: "NFS does not listen on RDMA", Severity: Error, Reads: "/proc/fs/nfsd/portlist", Limit: "rdma 20049", Source: nfs, Remedy: "rdma=y in /etc/nfs.conf.", judge: each((*Site).hosts, nfsListens)},
		{ID: "WD-FS-14", Title: "NFS connects again and again", Severity: Warn, Twice: true, Reads: "/proc/self/mountstats: xprt rdma, third number", Limit: "does not grow", Source: "general knowledge of sunrpc", Remedy: "Look for loss on the path.", judge: each((*Site).hosts, nfsReconnects)},
	}
}

// switchChecks are about switches as machines.
func switchChecks() []*Check {
	return []*Check{
		{ID: "WD-SW-01", Title: "a part of a switch is not well", Severity: Error, Reads: "show module; display device", Limit: "ok, active or standby; Normal, Master or Standby", Source: "the switch",
			Remedy: "Replace the part.", judge: tells(switches.OfHardware)},
		{ID: "WD-SW-02", Title: "two switches that act as one are not agreed", Severity: Critical, Reads: "show vpc, where there is one", Limit: "peer adjacency formed ok, peer is alive, success", Source: "the switch",
			Remedy: "Look at the peer link and the keep-alive; show vpc consistency-parameters global says what differs.", judge: tells(switches.OfPair)},
		{ID: "WD-SW-03", Title: "a switch may lose its power", Severity: Error, Reads: "show environment; display power", Limit: "no supply that fails, and two that work; redundancy as it is configured", Source: "the switch",
			Remedy: "Replace the supply, or look at its cord and its circuit.", judge: tells(switches.OfPower)},
		{ID: "WD-SW-04", Title: "a fan of a switch is not well", Severity: Error, Reads: "show environment; display fan", Limit: "Ok; Normal", Source: "the switch",
			Remedy: "Replace the fan: without it the switch shuts itself down.", judge: tells(switches.OfFans)},
		{ID: "WD-SW-05", Title: "a switch is too warm", Severity: Warn, Reads: "show environment; display environment", Limit: "its own minor threshold; its own limit to warn", Source: "the switch",
			Remedy: "Look at the air: its direction, blanks, and what blows into the inlet.", judge: tells(switches.OfWarmth)},
		{ID: "WD-SW-06", Title: "a switch logs less than by default", Severity: Info, Reads: "show logging level; display current-configuration: rules of the information center", Limit: "the default of each part", Source: "the switch's own defaults, as its manuals give them",
			Remedy: "no logging level FACILITY, undo info-center source MODULE DESTINATION: what a watchdog or a link does is otherwise lost.", judge: tells(switches.OfLog)},
	}
}
