package labctl

// Faults lists what Fault understands, for help texts.
func Faults() []string {
	return []string{
		"drop            cut the device's connections",
		"refuse, accept  reset new connections, and take them again",
		"slow=DURATION   delay every session of a server or line of a switch; slow=0s ends it",
		"hostile=REGEXP  answer lines that match with what terminals obey, commands of a server then fail; empty ends it",
		"reboot          of a server: what is volatile is lost, enabled services start; of a switch: it starts with what was saved; of a vCenter: it knows no session of before",
		"clock=DURATION  of a vCenter: its clock is that far ahead; clock=0s ends it",
		"timers          of a server: whatever its timers are to run later runs now",
		"stop-target, start-target  of a server: stop and start weft-target",
		"lock-packages, unlock-packages  of a server: another package tool is at work, and has ended",
		"expire, license  of an ESXi host: its licence allows no change, and allows them again",
		"runs=NAME  of an ESXi host: a virtual machine of that name runs there; without a name none does",
		"maintenance=on, maintenance=off  of an ESXi host: somebody puts it in maintenance mode, and ends that",
		"hang            of an ESXi host: the next restart that is asked for does not come to its end: nobody answers until accept",
		"vsan, no-vsan  of an ESXi host: it is a member of a cluster of vSAN, and no longer",
		"offline=NQN, online=NQN  of an ESXi host: the controllers of that subsystem are not online, or are again",
		"blocks=DRIVE=BYTES  of a server: its drive of that name in /dev/disk/by-id has such blocks",
		"blocks=NQN=BYTES  of an ESXi host: the namespaces of that subsystem have such blocks",
		"dcb=HOW  of an ESXi host: its NICs have ieee, cee or off from their switch, or are silent about it",
		"longest=BYTES  of an ESXi host: longer packets do not come through; 0: all do",
		"datastore=NQN=NAME  of an ESXi host: there is a datastore on the namespaces of that subsystem; without a name no longer",
		"constrained, german, no-admin, keys-acl, no-powershell, pwsh, greeting, atc, hyper-v, few-classes, group-policy, no-rdma, one-channel, twins, smb-copy, rdma-errors, reboot-midway, no-sftp, no-stdin, all-signed, mended  of a Windows host: its PowerShell runs no script, speaks German, its accounts are not elevated, it passes keys over, the shell of its logins is bash, PowerShell 7, or greets first, Network ATC or Hyper-V has its NICs, they have room for two traffic classes, a policy of the domain is in force, its RDMA or its SMB Multichannel is off, its adapters are described alike, files are copied over RDMA, connections of that break, it restarts in the middle of the next change, it takes no files by SFTP, no standard input, only signed files; and as it should be",
		"no-sudo, sudo   of a server: sudo asks for a password, and no longer",
		"narrow, wide    of a server: its cards run with half of their PCIe lanes, and with all",
		"vfs, no-vfs     of a server: its RDMA cards have a virtual function with a representor, and none",
		"no-sm, sm       of a server: its InfiniBand ports wait for a subnet manager, and one has set them up",
		"overrun=PORT:DSCP:PACKETS  of a switch: so many packets come in there faster than they can leave",
		"refuse-line=REGEXP  of a switch: refuse configuration lines that match; empty ends it",
		"lack=REGEXP     of a switch: it has no commands that match, as older releases; empty ends it",
		"break=REGEXP    of a switch with modules: they do not carry out lines that match; empty ends it",
		"deny=REGEXP     of a switch: refuse lines that match as those that the user may not type; empty ends it",
		"role=LINE;LINE  of a switch: its user has a role that permits these lines only, * is any word; role= ends it",
		"save            of a switch: somebody saves what runs, for the next start",
		"silent=PORT     of a switch: LLDP hears nobody there, whoever is plugged in; hear= ends it",
		"hear=PORT=PORTID=SYSTEM  of a switch: LLDP hears that there as well, SYSTEM may be empty; hear= ends it",
		"ail=WHAT        of a switch: it shows that its supply, fan or module fails, that it is warm or logs less, or optic PORT, hot PORT, as far as it shows that; ail= ends it",
		"full, room      of a switch: its file system has no room left, and has again",
		"drop-after=N    of a switch: answer N more lines, then cut the connection",
		"pass=DURATION   of a switch: time passes at once, and what its timers are to do then happens",
	}
}

// GuestFaults lists what Fault understands for guests, for help texts.
func GuestFaults() []string {
	return []string{
		"reboot          restart it in good order, and wait until it has started",
		"reset           press its button, and wait until it has started",
		"kill            end it for good, as if it had burned",
		"cut=PLANE, mend=PLANE  lose every frame to and from a plane (FABRIC.PLANE), and no longer",
	}
}
