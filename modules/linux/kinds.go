package linux

import (
	"weft/modules/host"
	"weft/modules/linux/nic"
	"weft/modules/linux/nvme"
	"weft/modules/linux/storage"
	"weft/modules/linux/system"
)

// Kinds are all the kinds of resources on a Linux server, which ledgers may name.
func Kinds() []host.AnyKind {
	return []host.AnyKind{
		// Network cards.
		nic.MTUKind(), nic.AddressKind(), nic.RDMALinkKind(), nic.RoCEKind(), nic.ECNKind(),
		// What is safe to change first: who decides, then shares, then who belongs to
		// them, then who may be paused.
		nic.PauseKind(), nic.DCBXKind(), nic.ETSKind(), nic.DSCPKind(), nic.PFCKind(), nic.BuffersKind(),
		// NVMe over fabrics.
		nvme.NVMeTHostKind(), nvme.NVMeTAuthKind(), nvme.NVMeTSubsystemKind(), nvme.NVMeTPortKind(), nvme.NVMeConnectionKind(), nvme.DHCHAPKeyKind(), nvme.TLSKeyKind(), nvme.AgentKind(),
		// Drives.
		storage.VolumeGroupKind(), storage.VolumeKind(), storage.MirrorKind(),
		// The system.
		system.PackageKind(), system.FileKind(), system.KernelModuleKind(), system.SysctlKind(), system.CommandKind(), system.ServiceKind(), system.MemlockKind(), system.BootKind(),
	}
}
