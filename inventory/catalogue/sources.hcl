# Where the facts of the other files were read. A row names the source of each
# of its attributes by these names; `none` stands for no source at all.

# PCI ids and drivers
pci_ids     = "pci.ids 2026.08.22"
linux_mlx5      = "Linux kernel, drivers/net/ethernet/mellanox/mlx5 and drivers/infiniband/hw/mlx5"
linux_bnxt  = "Linux kernel, drivers/infiniband/hw/bnxt_re/Kconfig"
linux_ice   = "Linux kernel, ice driver documentation"
linux_e800  = "Linux commits e523af4ee560 and c384cee14aa3: irdma on E800 devices, enable_roce and enable_iwarp"
linux_cxgb4 = "Linux kernel, drivers/infiniband/hw/cxgb4/Kconfig; commit b8759e917e9c adds T6"
linux_rxe   = "Linux kernel, drivers/infiniband/sw: rxe and siw"
intel_irdma = "Intel, Linux RDMA driver for the E810 and X722: differences of the two"
dpdk_qede   = "DPDK network drivers guide: qede"
dpdk_cxgbe  = "DPDK network drivers guide: cxgbe"
fedora_qed  = "Fedora, description of the package qed-firmware"
spdk_2772   = "SPDK issue 2772: connects time out with one queue per CPU"

# Adapters
cx4_manual   = "NVIDIA ConnectX-4 InfiniBand/Ethernet Adapter Cards User Manual: Interfaces"
cx4lx_manual = "Mellanox ConnectX-4 Lx MCX4131A User Manual, Rev 1.9"
cx5_manual   = "NVIDIA ConnectX-5 Ethernet Adapter Cards for OCP Spec 2.0 User Manual: Interfaces"
cx6_manual   = "NVIDIA ConnectX-6 Ethernet Adapter Cards for OCP Spec 3.0 User Manual: Interfaces"
cx6dx_fw     = "mlxfwmanager on MCX623106AN-CDA: description of the card"
cx6lx_fw     = "mlxfwmanager on MCX631102AS-ADA: description of the card"
cx7_manual   = "NVIDIA ConnectX-7 Cards for OCP Spec 3.0 User Manual: Supported Interfaces"
mlnx_ofed    = "NVIDIA MLNX_OFED 5.7-1.0.2.0 Release Notes, July 31, 2022"
bf2_fw       = "mlxfwmanager on MBF2M345A-HECO: description of the card"
bf3_bsp      = "NVIDIA BlueField DPU BSP v4.2.2: Supported Platforms and Interoperability"
p2100g_ds    = "Broadcom 957508-P2100G-DS, 2019: BCM957508-P2100G data sheet"
e810_review  = "ServeTheHome, review of the Intel E810-CQDA2"

# Servers
netbox          = "netbox-community/devicetype-library"
dell_infohub    = "Dell, Design Guide: Generative AI in the Enterprise, Inferencing: PowerEdge servers and NVIDIA GPUs"
sth_r770        = "ServeTheHome, review of the Dell PowerEdge R770"
dmi_r760xa      = "documentation of a public test suite: BIOS baseline of Dell Inc., PowerEdge R760xa"
dell_report     = "system report of a PowerEdge R710"
hpe_lshw        = "lshw of a ProLiant DL385 Gen10"
fusion_2288h_v7 = "xFusion FusionServer 2288H V7 Technical White Paper, issue 02, 2023-05-25"

# Switches
nxos_output    = "device output in ntc-templates and genieparser"
nxos_dme       = "Cisco NX-API DME model: ipqos network-qos MTU 576 to 9216"
nxos_confirm   = "Cisco Nexus 9000, two-stage configuration commit"
nxos_classes   = "configurations of the Cisco Nexus 9000: classes c-8q-nq1 to c-8q-nq7"
nxos_commit    = "Cisco NX-OS configuration guides: two-stage commit (Nexus 9000, 10.5), scheduler (Nexus 7000, 8.x), configure replace (Nexus 9000, 10.2)"
nxos_qos       = "Cisco Nexus 9000 Series NX-OS Quality of Service Configuration Guide, Release 10.5(x), Configuring Queuing and Scheduling"
nxos_pfc_7     = "Cisco Nexus 9000 Series NX-OS Quality of Service Configuration Guide, Release 7.x, Configuring Priority Flow Control, guidelines and limitations"
nxos_tcam      = "Cisco Nexus 9000 Series NX-OS Quality of Service Configuration Guide, Release 10.4(x), Configuring QoS TCAM Carving"
roce_enable    = "Cisco, roce_enable v0.60, April 2026: eight queues on Nexus 9300"
rdma_cluster   = "operator's notes on a C9332PQ: classes c-nq3 and c-out-q3"
c93180_notes   = "operator's notes on a 93180YC-EX with 10.3(8): smallest pause buffer accepted"
h3c_interfaces = "H3C S6805, S6825, S6850, S9850, S9820 Ethernet interface commands, R66xx"
h3c_pfc        = "H3C Comware 7 PFC command reference"
h3c_qos        = "H3C Comware 7 QoS command reference: queues be to cs7"
h3c_commit     = "HPE FlexNetwork 5510 HI manual, pages 105 and 146: commit delay, scheduler"
h3c_rdma       = "H3C RDMA Technical Reference 6W100, as summarised in a public repository"
hpe_5900       = "HPE FlexFabric 5900 QoS command reference"
s68_releases   = "deployment notes of operators: installed releases by model"

# Arrays
cinder_powerstore = "OpenStack Cinder, Dell PowerStore driver: NVMe-OF from version 2.1"
lxd_powerstore    = "Canonical LXD, PowerStore storage driver"
huawei_csi        = "Huawei CSI user guide V4.3.0: iscsi, fc, roce, fc-nvme"

# Operating systems of servers
machine_id    = "machine-id(5), systemd"
esxcli_uuid   = "Broadcom, ESXCLI Command Reference: esxcli system uuid get"
vim_fused     = "Broadcom, vSphere Web Services API: HostNvmeController, fusedOperationSupported"
esxi_uname    = "uname of ESXi, whose kernel calls itself VMkernel"
windows_guid  = "MachineGuid in HKLM\\SOFTWARE\\Microsoft\\Cryptography, made once at installation: denisbrodbeck/machineid, deajan/py-machineid; Microsoft has no page"
windows_shell = "Microsoft: messages of cmd.exe (9009) and of PowerShell (CommandNotFoundException)"
