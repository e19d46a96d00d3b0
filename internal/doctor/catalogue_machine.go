package doctor

import "weft/switches"

// machineChecks are about CPUs, the system and NVMe.
func machineChecks() []*Check {
	return []*Check{
		{ID: "WD-CPU-02", Title: "CPUs use deep sleep states", Severity: Warn, Reads: "/sys/devices/system/cpu/cpu0/cpuidle", Limit: "no state with an exit latency above 20 µs", Source: own, Remedy: "Run tuned-adm profile latency-performance, or boot with intel_idle.max_cstate=1.", judge: each((*Site).hosts, sleep)},
		{ID: "WD-CPU-03", Title: "interrupts of a NIC run on another NUMA node", Severity: Warn, Reads: "/proc/irq/N/effective_affinity_list, local_cpulist of the card", Limit: "the CPUs of the NIC's NUMA node", Source: "vendors' tuning guides", Remedy: "Run the driver's set_irq_affinity_bynode.sh, and stop or configure irqbalance.", judge: each((*Site).ends, interrupts)},
		{ID: "WD-CPU-05", Title: "machines of a role have different CPU mitigations", Severity: Info, Reads: "/sys/devices/system/cpu/vulnerabilities, smt/active", Limit: "the majority of the role", Source: own, Remedy: "Use the same kernel command line and firmware.", judge: flaws},
		{ID: "WD-CPU-06", Title: "the hypervisor takes CPU time", Severity: Warn, Twice: true, Reads: "/proc/stat", Limit: "1 % of the time between two readings", Source: own, Remedy: "Do not measure on it; assign dedicated CPUs to the guest.", judge: each((*Site).hosts, stolen)},
		{ID: "WD-MEM-01", Title: "machines of a role reserve different huge pages", Severity: Warn, Reads: "/proc/meminfo: HugePages_Total", Limit: "the majority of the role", Source: own + "; SPDK needs 512 of 2 MiB", Remedy: `sysctl "vm.nr_hugepages" { value = "…" }`, Mends: []string{"sysctl"}, judge: hugePages},
		{ID: "WD-OS-04", Title: "another service changes settings that weft manages", Severity: Warn, Reads: "systemctl is-active lldpad nvmet", Limit: "neither is active", Source: "lldpad(8) configures classes; nvmet.service removes the kernel's exports when it stops", Remedy: "Run systemctl disable --now for that service.", judge: each((*Site).hosts, managers)},
		{ID: "WD-OS-05", Title: "a file system is full", Severity: Warn, Reads: "df -P / /var", Limit: "95 %", Source: own, Remedy: "Free space, for example logs and old kernels.", judge: each((*Site).hosts, full)},
		{ID: "WD-OS-06", Title: "kernel lockdown is active", Severity: Info, Reads: "/sys/kernel/security/lockdown", Limit: "none", Source: "kernel_lockdown(7)", Remedy: "If debugfs is needed, boot without Secure Boot, or set ECN with the vendor's tool.", judge: each((*Site).hosts, lockdown)},
		{ID: "WD-NVM-06", Title: "a connection has no keep-alive", Severity: Warn, Reads: "/sys/class/nvme/*/kato", Limit: "more than 0", Source: "NVMe base specification, Keep Alive", Remedy: "Set keep_alive_tmo of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, keepAlive)},
		{ID: "WD-NVM-07", Title: "a connection has more queues than its NIC supports", Severity: Warn, Reads: "/sys/class/nvme/*/queue_count", Limit: "io_queues of the catalogue", Source: "the catalogue, by card", Remedy: "Set io_queues of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, queues)},
		{ID: "WD-NVM-08", Title: "queues are longer than the kernel supports", Severity: Info, Reads: "/sys/class/nvme/*/sqsize", Limit: "128 before Linux 6.9", Source: "Linux, drivers/nvme/host/fabrics.h", Remedy: "Set queue-size of nvme connect.", judge: each((*Site).hosts, queueSize)},
		{ID: "WD-NVM-10", Title: "two targets export the same name", Severity: Critical, Reads: "/sys/kernel/config/nvmet/subsystems", Limit: "each NQN and UUID once, unless both set ranges of controller IDs", Source: "NVMe base specification: hosts treat them as one", Remedy: "Give one of them another NQN and UUID.", judge: twins},
		{ID: "WD-NVM-11", Title: "controller IDs of two targets overlap", Severity: Critical, Reads: "attr_cntlid_min and attr_cntlid_max", Limit: "ranges that do not overlap", Source: "NVMe base specification: a controller ID is unique in its subsystem", Remedy: "Use a separate range for each target.", judge: controllerIDs},
		{ID: "WD-NVM-12", Title: "a target admits any host", Severity: Error, Reads: "attr_allow_any_host", Limit: "0", Source: "the kernel's documentation of nvmet", Remedy: "List the hosts: allow_hosts of the subsystem.", Mends: []string{"nvmet_subsystem"}, judge: each((*Site).hosts, anyHost)},
		{ID: "WD-NVM-13", Title: "a device is exported and mounted", Severity: Critical, Reads: "device_path of namespaces; /proc/mounts", Limit: "exported or mounted, not both", Source: "two writers of one file system destroy it", Remedy: "Unmount it, or disable the namespace, before the next write.", judge: each((*Site).hosts, exportedAndMounted)},
		{ID: "WD-NVM-20", Title: "a drive reports a health problem", Severity: Error, Reads: "nvme smart-log DEV -o json, if nvme-cli is installed", Limit: "critical_warning 0, percentage_used at most 90, media_errors 0", Source: "NVMe base specification, SMART / Health Information", Remedy: "Replace the drive.", judge: each((*Site).hosts, smart)},
		{ID: "WD-NVM-21", Title: "a drive is too hot", Severity: Warn, Reads: "/sys/class/nvme/*/hwmon*/temp1_input and temp1_max", Limit: "the threshold of the drive", Source: "NVMe base specification: warning composite temperature threshold", Remedy: "Check the airflow.", judge: each((*Site).hosts, heat)},
		{ID: "WD-NVM-23", Title: "drives are missing", Severity: Critical, Reads: "/dev/disk/by-id", Limit: "the drives named in pools", Source: "the files", Remedy: "Reseat or replace the drive; check its slot.", judge: each((*Site).hosts, missing)},
		{ID: "WD-NVM-16", Title: "an admitted host is not connected", Severity: Info, Reads: "allowed_hosts of configfs, /sys/kernel/debug/nvmet", Limit: "each admitted host is connected", Source: "Linux kernel, drivers/nvme/target/debugfs.c",
			Remedy: "Connect it, or remove it from the allowed hosts.", judge: each((*Site).hosts, nobodyConnects)},
		{ID: "WD-NVM-27", Title: "a thin pool fills up", Severity: Error, Reads: "lvs, if dm_thin_pool is loaded", Limit: "80 % of data, 90 % of metadata", Source: "lvmthin(7): a full pool stops its volumes; the figures are " + own,
			Remedy: "Extend it with lvextend, or delete unused volumes.", judge: each((*Site).hosts, thinPools)},
		{ID: "WD-NVM-26", Title: "timeouts are out of order", Severity: Warn, Reads: "kato, reconnect_delay and ctrl_loss_tmo", Limit: "ctrl_loss_tmo is the longest", Source: own, Remedy: "Set ctrl_loss_tmo and reconnect_delay of connect.", Mends: []string{"nvme_connection"}, judge: each((*Site).hosts, timeouts)},
	}
}

// gpuChecks are made on machines with a driver of NVIDIA's.
func gpuChecks() []*Check {
	const gds = "NVIDIA GPUDirect Storage guides"
	return []*Check{
		{ID: "WD-GPU-01", Title: "the GPU driver is proprietary", Severity: Error, Reads: "/proc/driver/nvidia/version", Limit: "the open kernel modules, if GPUDirect Storage is configured", Source: gds, Remedy: "Install the open kernel modules.", judge: each((*Site).direct, gpuDriver)},
		{ID: "WD-GPU-02", Title: "NICs cannot access GPU memory", Severity: Error, Reads: "/sys/module/nvidia_peermem, the kernel and the driver", Limit: "nvidia_peermem, or dma-buf (open driver, kernel 5.12)", Source: "NVIDIA GPUDirect RDMA", Remedy: "Run modprobe nvidia_peermem, or use the open driver.", judge: each((*Site).withGPUs, gpuPeer)},
		{ID: "WD-GPU-03", Title: "the legacy module nv_peer_mem is loaded", Severity: Error, Reads: "/sys/module/nv_peer_mem", Limit: "not loaded", Source: "NVIDIA GPUDirect RDMA", Remedy: "Remove its package, and load nvidia_peermem.", judge: each((*Site).withGPUs, gpuLegacy)},
		{ID: "WD-GPU-05", Title: "nvme_rdma lacks the hooks of nvidia-fs", Severity: Error, Reads: "/proc/kallsyms: nvme_rdma_v1_register_nvfs_dma_ops", Limit: "present if nvidia-fs and nvme_rdma are loaded", Source: "NVIDIA gds-nvidia-fs, src/nvfs-dma.c", Remedy: "Install DOCA or MLNX_OFED with --with-nvmf, and reload nvme_rdma.", judge: each((*Site).direct, gpuHooks)},
		{ID: "WD-GPU-11", Title: "ACS redirects traffic between GPUs and NICs", Severity: Error, Reads: "setpci ECAP_ACS+0x6.w of the bridges above", Limit: "0000 if GPUDirect Storage is configured", Source: gds, Remedy: "Disable ACS in the firmware, or with setpci at each boot, unless virtual machines need it.", judge: each((*Site).direct, gpuACS)},
		{ID: "WD-GPU-04", Title: "nvidia-fs is missing", Severity: Error, Reads: "/proc/driver/nvidia-fs/version, /etc/cufile.json", Limit: "loaded if cufile.json exists, or use_pci_p2pdma", Source: gds, Remedy: "Install nvidia-gds, and load nvidia_fs.", judge: each((*Site).withGPUs, gpuFS)},
		{ID: "WD-GPU-07", Title: "compatibility mode hides missing GPUDirect Storage", Severity: Warn, Reads: "allow_compat_mode of /etc/cufile.json", Limit: "false if nvidia-fs is not loaded", Source: gds, Remedy: "Set allow_compat_mode to false, on one machine first.", judge: each((*Site).direct, gpuCompat)},
		{ID: "WD-GPU-08", Title: "a GPU shares no PCIe root with an RDMA NIC", Severity: Warn, Reads: "the PCI tree in /sys/devices", Limit: "one NIC on the GPU's root", Source: gds, Remedy: "Move the NIC to a slot on that root.", judge: each((*Site).withGPUs, gpuDistance)},
		{ID: "WD-GPU-12", Title: "the IOMMU translates traffic between GPUs and NICs", Severity: Error, Reads: "/proc/cmdline", Limit: "off, or iommu=pt", Source: gds, Remedy: "Boot the kernel with iommu=pt.", judge: each((*Site).withGPUs, gpuIOMMU)},
		{ID: "WD-GPU-13", Title: "NVMe multipath and PCI peer-to-peer are both enabled", Severity: Error, Reads: "nvme_core.multipath, use_pci_p2pdma of cufile.json", Limit: "N with use_pci_p2pdma, Y with several paths", Source: gds, Remedy: "Use either several paths or PCI P2PDMA.", judge: each((*Site).direct, gpuMultipath)},
		{ID: "WD-GPU-14", Title: "cufile.json names addresses that no NIC has", Severity: Error, Reads: "rdma_dev_addr_list of cufile.json, ip -j addr", Limit: "addresses of RDMA NICs", Source: gds, Remedy: "Enter the addresses of this machine's NICs.", judge: each((*Site).direct, gpuAddresses)},
		{ID: "WD-GPU-15", Title: "the kernel lacks PCI P2PDMA", Severity: Error, Reads: "CONFIG_PCI_P2PDMA in /boot/config-…", Limit: "y if use_pci_p2pdma is set", Source: gds, Remedy: "Use a kernel with it, 6.2 or later.", judge: each((*Site).direct, gpuKernel)},
		{ID: "WD-GPU-17", Title: "a machine with GPUs uses storage over TCP", Severity: Warn, Reads: "/sys/class/nvme/*/transport", Limit: "rdma", Source: gds, Remedy: "Repair RDMA, and reconnect.", judge: each((*Site).withGPUs, gpuTCP)},
		{ID: "WD-GPU-18", Title: "statistics of nvidia-fs are off", Severity: Info, Reads: "rw_stats_enabled of nvidia_fs", Limit: "1 to verify direct I/O", Source: gds, Remedy: "Run echo 1 >/sys/module/nvidia_fs/parameters/rw_stats_enabled for the test.", judge: each((*Site).withGPUs, gpuCounters)},
	}
}

// fileChecks are about file systems over RDMA, where they are.
func fileChecks() []*Check {
	const lustre, wk, nfs = "Lustre Operations Manual, LNet", "WEKA documentation", "Linux, nfs(5) and rpc.nfsd(8)"
	return []*Check{
		{ID: "WD-FS-01", Title: "LNet is down", Severity: Error, Reads: "lnetctl net show -v 4", Limit: "up", Source: lustre, Remedy: "Run lnetctl lnet configure --all; check its NIC.", judge: each((*Site).hosts, lnetUp)},
		{ID: "WD-FS-02", Title: "an LNet interface is unhealthy", Severity: Warn, Reads: "lnetctl net show -v 4: health value", Limit: "1000", Source: lustre, Remedy: "Check its link and MTU.", judge: lnetHealth},
		{ID: "WD-FS-03", Title: "LNet is not in the lossless class", Severity: Error, Reads: "/sys/module/ko2iblnd/parameters/tos", Limit: "the value of the lossless class, if there is one", Source: "Lustre, ko2iblnd parameters", Remedy: "Set options ko2iblnd tos=104 (DSCP 26), and reload the module.", judge: lnetMarks},
		{ID: "WD-FS-04", Title: "LNet machines have different peer credits", Severity: Warn, Reads: "lnetctl net show -v 4: peer_credits", Limit: "the majority", Source: "general knowledge of ko2iblnd", Remedy: "Use the same modprobe line on all machines.", judge: lnetCredits},
		{ID: "WD-FS-05", Title: "a Lustre target is unavailable", Severity: Error, Reads: "lfs check servers", Limit: "active", Source: "Lustre Operations Manual", Remedy: "Check its server.", judge: each((*Site).hosts, lustreTargets)},
		{ID: "WD-FS-06", Title: "LNet uses only one plane", Severity: Warn, Reads: "lnetctl net show", Limit: "a network interface (NI) on each NIC of the fabric", Source: "Lustre Operations Manual, LNet Multi-Rail", Remedy: "Run lnetctl net add for the other NIC.", judge: each((*Site).hosts, lnetPlanes)},
		{ID: "WD-FS-07", Title: "WEKA reports a problem", Severity: Error, Reads: "weka status --json", Limit: "OK or REDISTRIBUTING, and I/O STARTED", Source: wk, Remedy: "Run weka alerts.", judge: each((*Site).hosts, wekaState)},
		{ID: "WD-FS-09", Title: "the clock difference is too large for WEKA", Severity: Warn, Reads: "date; allowed_clock_skew_secs of weka status", Limit: "half of the allowed difference", Source: wk, Remedy: "Start chrony.", judge: wekaClock},
		{ID: "WD-FS-10", Title: "NICs of a WEKA machine have mixed MTUs", Severity: Error, Reads: "/sys/class/net/IF/mtu", Limit: "all at least 4076, or all below", Source: wk, Remedy: "Use one MTU for all NICs.", judge: each((*Site).hosts, wekaMTU)},
		{ID: "WD-FS-11", Title: "NFS fell back to TCP", Severity: Warn, Reads: "/proc/mounts; /proc/fs/nfsd/portlist of the server", Limit: "rdma, if the server listens on it", Source: nfs, Remedy: "Mount with proto=rdma,port=20049.", judge: nfsFallback},
		{ID: "WD-FS-13", Title: "NFS over RDMA is not in the lossless class", Severity: Warn, Reads: "default_roce_tos of configfs, rdma_cm", Limit: "a DSCP of a lossless class, if there is one", Source: nfs + "; cma_configfs of the kernel", Remedy: "Set default_roce_tos of the NIC to four times the DSCP, for example with the roce block.", Mends: []string{"roce"}, judge: nfsMarks},
		{ID: "WD-FS-12", Title: "NFS does not listen on RDMA", Severity: Error, Reads: "/proc/fs/nfsd/portlist", Limit: "rdma 20049", Source: nfs, Remedy: "Set rdma=y in /etc/nfs.conf.", judge: each((*Site).hosts, nfsListens)},
		{ID: "WD-FS-14", Title: "NFS reconnects repeatedly", Severity: Warn, Twice: true, Reads: "/proc/self/mountstats: xprt rdma, third number", Limit: "does not grow", Source: "general knowledge of sunrpc", Remedy: "Check the path for packet loss.", judge: each((*Site).hosts, nfsReconnects)},
	}
}

// switchChecks are about switches as machines.
func switchChecks() []*Check {
	return []*Check{
		{ID: "WD-SW-01", Title: "a component of a switch has failed", Severity: Error, Reads: "show module; display device", Limit: "ok, active or standby; Normal, Master or Standby", Source: "the switch",
			Remedy: "Replace the component.", judge: tells(switches.OfHardware)},
		{ID: "WD-SW-02", Title: "the switches of a vPC pair disagree", Severity: Critical, Reads: "show vpc, if vPC is configured", Limit: "peer adjacency formed ok, peer is alive, success", Source: "the switch",
			Remedy: "Check the peer link and the keep-alive; show vpc consistency-parameters global lists the differences.", judge: tells(switches.OfPair)},
		{ID: "WD-SW-03", Title: "the power supply of a switch is not redundant", Severity: Error, Reads: "show environment; display power", Limit: "no failed supply, and two working ones; the configured redundancy", Source: "the switch",
			Remedy: "Replace the supply, or check its cord and circuit.", judge: tells(switches.OfPower)},
		{ID: "WD-SW-04", Title: "a fan of a switch has failed", Severity: Error, Reads: "show environment; display fan", Limit: "Ok; Normal", Source: "the switch",
			Remedy: "Replace the fan; without it the switch shuts down.", judge: tells(switches.OfFans)},
		{ID: "WD-SW-05", Title: "a switch is too warm", Severity: Warn, Reads: "show environment; display environment", Limit: "the minor threshold or warning limit of the switch", Source: "the switch",
			Remedy: "Check the airflow: direction, blanking panels, and warm air at the inlet.", judge: tells(switches.OfWarmth)},
		{ID: "WD-SW-06", Title: "a switch logs less than by default", Severity: Info, Reads: "show logging level; display current-configuration: rules of the information center", Limit: "the default of each facility", Source: "the defaults in the manuals of the switch",
			Remedy: "Run no logging level FACILITY, or undo info-center source MODULE DESTINATION. Otherwise, events of watchdogs and links are not logged.", judge: tells(switches.OfLog)},
	}
}
