package modules

// Kinds are all the kinds of resources on a Linux server, which ledgers may name.
func Kinds() []AnyKind {
	return []AnyKind{
		// Network cards.
		MTUKind(), AddressKind(), RDMALinkKind(), RoCEKind(), ECNKind(),
		// What is safe to change first: who decides, then shares, then who belongs to
		// them, then who may be paused.
		PauseKind(), DCBXKind(), ETSKind(), DSCPKind(), PFCKind(), BuffersKind(),
		// NVMe over fabrics.
		NVMeTHostKind(), NVMeTAuthKind(), NVMeTSubsystemKind(), NVMeTPortKind(), NVMeConnectionKind(), DHCHAPKeyKind(), AgentKind(),
		// Drives.
		VolumeGroupKind(), VolumeKind(), MirrorKind(),
		// The system.
		PackageKind(), FileKind(), KernelModuleKind(), SysctlKind(), CommandKind(), ServiceKind(), MemlockKind(), BootKind(),
	}
}
