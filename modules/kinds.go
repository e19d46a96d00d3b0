package modules

// Kinds are all the kinds of resources on a Linux server, which ledgers may name.
func Kinds() []AnyKind {
	return []AnyKind{
		// Network cards.
		MTUKind(), AddressKind(), RDMALinkKind(), RoCEKind(), ECNKind(), BuffersKind(),
		PauseKind(), DCBXKind(), ETSKind(), DSCPKind(), PFCKind(),
		// NVMe over fabrics.
		NVMeTHostKind(), NVMeTAuthKind(), NVMeTSubsystemKind(), NVMeTPortKind(), NVMeConnectionKind(), DHCHAPKeyKind(), AgentKind(),
		// Drives.
		VolumeGroupKind(), VolumeKind(), MirrorKind(),
		// The system.
		PackageKind(), FileKind(), KernelModuleKind(), SysctlKind(), CommandKind(), ServiceKind(), MemlockKind(), BootKind(),
	}
}

// kindSet are kinds by their names.
type kindSet map[string]AnyKind

func newKindSet(kinds []AnyKind) kindSet {
	set := make(kindSet, len(kinds))
	for _, k := range kinds {
		set[k.name()] = k
	}
	return set
}
