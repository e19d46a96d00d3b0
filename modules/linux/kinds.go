package linux

import (
	"slices"

	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/nic"
	"weft/modules/linux/nvme"
	"weft/modules/linux/put"
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
		nvme.NVMeTHostKind(), nvme.NVMeTAuthKind(), nvme.NVMeTSubsystemKind(), nvme.NVMeTPortKind(), nvme.NVMeTAccessKind(), nvme.NVMeConnectionKind(), nvme.DHCHAPKeyKind(), nvme.TLSKeyKind(), nvme.AgentKind(), nvme.AgentAccessKind(),
		// Drives.
		storage.VolumeGroupKind(), storage.VolumeKind(), storage.MirrorKind(),
		// The system.
		system.PackageKind(), system.FileKind(), system.KernelModuleKind(), system.SysctlKind(), system.CommandKind(), system.ServiceKind(), system.MemlockKind(), system.BootKind(),
	}
}

// places is a pattern of the shell for the places of NIC ports, as inventory.RNIC.Place writes
// them: a PCI address, one with the number of a port, or a MAC address.
const places = "*:??:??.?|*:??:??.?@[0-9]|*:??:??.?@[0-9][0-9]|@??:??:??:??:??:??"

// Permits are the looks that only root has, of those that weft plan, facts, drift, discover
// and doctor take: what a reader does for a login that may read only. Keys are not among
// them, nor the content of any file, nor a command of the files.
func Permits() []remote.Permit {
	own := []remote.Permit{
		{What: "the machine and its NICs", Look: factsLook(true, nil), Each: "nics|all|every|" + places},
		{What: "how the machine is", Look: healthLook()},
		{What: "what its NICs are set to", Look: settingsLook(nil), Each: places},
		{What: "NVMe: what is exported, connected and built on it", Look: nvmeLook()},
		{What: "whom its ports hear", Look: heardLook()},
		{What: "the switches of InfiniBand that its ports are plugged into", Look: subnetLook()},
		{What: "reverts that are armed", Look: timer{}.Look()},
	}
	return slices.Concat(own, keepsakes().Permits(), nic.Permits(), nvme.Permits(), storage.Permits(), system.Permits())
}

// atBoot are the functions that lines of boot scripts may call.
func AtBoot() []put.BootFunctions {
	return []put.BootFunctions{nvme.TargetsAtBoot(), nvme.ConnectionsAtBoot(), storage.MirrorsAtBoot(), nic.RdmaAtBoot()}
}
