package language

import (
	"maps"
	"strings"

	"weft/internal/metric"
)

// descriptions returns the purpose of each block and attribute, by path. *.name
// is an attribute of several block types.
func descriptions() map[string]string {
	all := map[string]string{}
	for _, part := range []map[string]string{
		languageDescriptions(), deviceDescriptions(), fabricDescriptions(), storageDescriptions(), rolloutDescriptions(),
	} {
		maps.Copy(all, part)
	}
	return all
}

// unmanaged returns the words that files may contain but plan refuses, because
// weft does not manage them yet. A value of an attribute follows =.
func unmanaged() []string {
	return []string{
		"switch.safety.commit_method", "pool.on_existing_data=wipe",
	}
}

func languageDescriptions() map[string]string {
	return map[string]string{
		"*.for_each":     "Creates one instance for each key of a map or item of a set; see each.key and each.value.",
		"*.count":        "Creates this many instances; see count.index.",
		"*.enabled":      "false disables the block, and blocks that depend on it.",
		"*.protect":      "true: never pruned, and never changed in a way that loses data.",
		"*.ignore_drift": "Parts that may change outside weft, such as [service, rnic.p0.address] of a server or [host_mtu] of a fabric. weft keeps such changes until the declaration itself changes.",
		"*.depends_on":   "Blocks that must be applied first.",

		"weft":                  "The settings of the inventory; exactly one block.",
		"weft.name":             "The owner; part of the name of every object that weft creates.",
		"weft.required_version": `The versions of weft that may use these files, such as ">= 0.1".`,

		"variable":                          "An input value: var.NAME.",
		"variable.type":                     "The type of the value, such as list(string).",
		"variable.default":                  "The default value; without one, a value is required.",
		"variable.description":              "The purpose of the value.",
		"variable.sensitive":                "true hides the value in all output.",
		"variable.validation":               "A condition for the value.",
		"variable.validation.condition":     "True if the value is valid.",
		"variable.validation.error_message": "The error for an invalid value.",
		"locals":                            "Named values: local.NAME.",

		"output":                     "A value that facts and verify show; it may use observed values.",
		"output.value":               "The value.",
		"output.description":         "The meaning of the value.",
		"output.sensitive":           "true hides the value in all output; required for a sensitive value.",
		"check":                      "Conditions that facts and verify evaluate; they may use observed values.",
		"check.assert":               "One condition.",
		"check.assert.condition":     "True if the check passes.",
		"check.assert.error_message": "The error if the check fails.",

		"policy":           "A rule for plans: weft refuses a change that violates it, before anything changes.",
		"policy.when":      `The changes that the rule applies to: an expression on change and phase, such as change.impact == "link-flap"; default all.`,
		"policy.condition": "True if the change is allowed.",
		"policy.message":   "The error for a refused change.",

		"moved":      "Renames a block that is already applied: the ledgers adopt the new name, and devices do not change.",
		"moved.from": "The old name of the block, instance or module.",
		"moved.to":   "The new name.",

		"removed":      "Handles a device that is no longer in the files.",
		"removed.from": "The old name of the device.",
		"removed.mode": "prune reverts weft's changes on the device, forget keeps them.",

		"store":          `The run store: store "nats" or "directory", at most one, with constant values.`,
		"store.url":      "The address of the hub: tls://HOST:PORT, or nats://HOST:PORT on this machine.",
		"store.creds":    "The file that weft hub credential add created; ~ is the home directory. It also contains the address.",
		"store.path":     "The directory that several machines or inventories share.",
		"store.replicas": "The number of copies on servers of the hub, when weft creates the store.",
		"store.lease":    `How long to wait for the holder of a run if it stops responding; default "5m".`,

		"module":        "Includes the blocks of another directory; other attributes set its variables.",
		"module.source": "The directory, relative to this one.",
	}
}

func deviceDescriptions() map[string]string {
	return map[string]string{
		"connection":                 `How to connect to devices; "default" is used unless a device names another. Falls back to ~/.ssh/config.`,
		"connection.user":            "The login user.",
		"connection.port":            "The SSH port.",
		"connection.become":          "Privilege escalation: sudo for all commands, or weft-read, a program that only reads.",
		"connection.connect_timeout": "The time limit for a login.",
		"connection.command_timeout": "The time limit for one command.",
		"credential":                 "A login; weft reads its secret when it connects.",
		"credential.user":            "The login user.",
		"credential.password":        `The password, from env("NAME") or file("PATH").`,

		"switch":                       "A switch.",
		"switch.os":                    "The operating system; required unless the switch is unmanaged.",
		"switch.host":                  "The management name or address; required unless the switch is unmanaged.",
		"switch.serial":                "The serial number; weft refuses a switch with another one.",
		"switch.credential":            "The login.",
		"switch.connection":            "The connection, if it is not connection.default.",
		"switch.fabric":                "The fabric of the switch.",
		"switch.plane":                 "The plane of the fabric.",
		"switch.unmanaged":             "true: part of the paths, but never changed.",
		"switch.adopt":                 "true: replace settings that weft did not create.",
		"switch.safety":                "Protection of changes.",
		"switch.safety.commit_confirm": `The time after which the switch reverts a change that weft has not confirmed; "none" disables it.`,
		"switch.safety.save":           "When weft saves the running configuration.",
		"switch.safety.commit_method":  "The method of the timed revert; default the first that the switch supports.",

		"server":                    "A server.",
		"server.os":                 "The operating system.",
		"server.host":               "The management name or address.",
		"server.machine_id":         "The machine identity; weft refuses a server with another one. The content of /etc/machine-id; for ESXi, the output of esxcli system uuid get without dashes.",
		"server.labels":             "Labels for selecting servers.",
		"server.credential":         "The login, if a key is not enough: user and password.",
		"server.connection":         "The connection, if it is not connection.default.",
		"server.rnic":               "A port of a NIC in a fabric.",
		"server.rnic.match":         "The PCI address (pci) or MAC address (mac) of the port; names such as eth1 can change. port selects one of several ports of a PCI function.",
		"server.rnic.address":       "The IP address; it determines the plane.",
		"server.rnic.fabric":        "The fabric; it determines the MTU, PFC and all settings that hosts share.",
		"server.rnic.software":      "true: use software RDMA if the card has none; slow, for tests.",
		"server.rnic.vlan":          "Windows and ESXi: the VLAN of its frames; the switch classifies them by the priority in the tag. Required for RDMA of Windows.",
		"server.rnic.vmk":           "ESXi: the VMkernel port that has the address.",
		"server.rnic.vmk.id":        "The name, such as vmk2.",
		"server.rnic.vmk.vswitch":   "The standard switch that weft creates, with the NIC as its only uplink and a port group of the same name.",
		"server.rnic.vmk.portgroup": "Replaces vswitch: a port group of the distributed switch that has the NIC as an uplink; vCenter creates the port.",
		"server.rnic.vmk.netstack":  "An existing TCP/IP stack; default the default stack.",
		"server.rnic.vmk.services":  "The services of the port: NVMe (weft sets the tag and creates an adapter), vSAN, or PVRDMA (weft selects the port and opens the firewall).",
		"server.smb":                "Windows: SMB Direct, file sharing over RDMA, with SMB Multichannel.",
		"server.smb.direct_port":    "The NetworkDirect port whose RDMA traffic uses the lossless class of the fabric.",
		"server.file":               "A file with the given content.",
		"server.file.content":       "The complete content.",
		"server.file.mode":          "The permissions in octal.",

		"server.kernel_module":         "A kernel module that is loaded now and at boot.",
		"server.kernel_module.options": "The module parameters.",
		"server.package":               "A package of the operating system.",
		"server.package.version":       "The version; default any.",
		"server.package.state":         "Whether the package is installed.",
		"server.service":               "A systemd unit.",
		"server.service.enabled":       "Whether the unit starts at boot.",
		"server.service.running":       "Whether the unit runs.",
		"server.command":               "A command that runs unless its result already exists.",
		"server.command.run":           "The command and its arguments; no shell is used.",
		"server.command.creates":       "A file that the command creates; if it exists, the command does not run.",
		"server.command.unless":        "A command that succeeds if run is not needed.",
		"server.command.undo":          "The command that reverts it.",

		"vcenter":            "A vCenter Server, which manages distributed switches.",
		"vcenter.host":       "The name or address.",
		"vcenter.port":       "The port of the API.",
		"vcenter.tls_sha256": "The SHA-256 of the certificate; weft refuses another one. Without it, the certificate must be signed by a trusted authority.",
		"vcenter.credential": "The login.",

		"vcenter.cluster":           "An existing cluster, by inventory path: DATACENTER/host/NAME.",
		"vcenter.cluster.vsan_rdma": "Whether the hosts use RDMA for vSAN.",

		"dvswitch":         "A distributed switch that weft creates.",
		"dvswitch.vcenter": "The vCenter.",
		"dvswitch.path":    "The inventory path: DATACENTER/network/NAME.",
		"dvswitch.uplinks": "One NIC of each ESXi host that is a member.",

		"dvswitch.portgroup":      "A port group; its name in vCenter is SWITCH-LABEL.",
		"dvswitch.portgroup.vlan": "The VLAN ID; 0 means untagged.",

		"vm":                  "An existing virtual machine that gets RDMA adapters.",
		"vm.path":             "The inventory path: DATACENTER/vm/NAME.",
		"vm.hardware_version": "The minimum virtual hardware version. Raising it cannot be undone.",

		"vm.pvrdma":                "A paravirtual RDMA adapter; it reserves all memory of the machine.",
		"vm.pvrdma.portgroup":      "The port group of a distributed switch.",
		"vm.pvrdma.protocol":       "The protocol: rocev1 within one subnet, rocev2 across subnets.",
		"vm.pvrdma.allow_degraded": "true: allow memory copy or TCP if hosts have no RDMA adapter.",

		"link":       "A cable; weft verifies it with LLDP.",
		"link.from":  `One end: a NIC, server.NAME.rnic.NAME, or a port, switch.NAME.port["PORT"].`,
		"link.to":    "The other end.",
		"link.speed": "The required speed in bits per second.",
	}
}

func fabricDescriptions() map[string]string {
	return map[string]string{
		"fabric":                               "A network fabric: the settings that switches and NICs share.",
		"fabric.transport":                     "The storage transport.",
		"fabric.mode":                          "Whether the fabric is lossless or may drop frames.",
		"fabric.mtu":                           "The minimum MTU of switch ports in bytes.",
		"fabric.host_mtu":                      "The MTU of NICs in bytes.",
		"fabric.partition":                     "InfiniBand: the partition key of the ports, such as 0x8001; without the highest bit, limited members are accepted. weft reports ports outside the partition.",
		"fabric.plane":                         "An independent path of the fabric.",
		"fabric.plane.subnet":                  "The subnet of the plane.",
		"fabric.traffic_class":                 `A class of traffic; "default" is all other traffic.`,
		"fabric.traffic_class.carries":         "The traffic of the class: rdma and tcp, each in one class of the fabric, and other, which weft does not mark. By default, RDMA belongs to the only class with pfc, and TCP to default.",
		"fabric.traffic_class.dscp":            "The DSCP values of its packets.",
		"fabric.traffic_class.priority":        "The 802.1p priority.",
		"fabric.traffic_class.bandwidth":       "The bandwidth share in percent (ETS); the shares sum to 100.",
		"fabric.traffic_class.strict":          "true: strict priority over all shares.",
		"fabric.traffic_class.pfc":             "true: lossless; packets are paused instead of dropped.",
		"fabric.traffic_class.ecn":             "ECN marking of packets before buffers are full.",
		"fabric.traffic_class.ecn.min":         "The queue length at which marking starts.",
		"fabric.traffic_class.ecn.max":         "The queue length from which every packet is marked.",
		"fabric.traffic_class.ecn.probability": "The percentage of packets marked just below max.",
		"fabric.traffic_class.headroom":        "The buffer for packets in flight when a pause is sent.",
		"fabric.traffic_class.headroom.xoff":   "The fill level at which a pause is sent.",
		"fabric.traffic_class.headroom.xon":    "The fill level at which the pause ends.",
		"fabric.traffic_class.headroom.size":   "The size of the buffer.",
		"fabric.pfc_watchdog":                  "Releases a queue that stays paused.",
		"fabric.pfc_watchdog.action":           "The handling of packets in that queue.",
		"fabric.pfc_watchdog.detect":           "How long a queue stays paused before the watchdog acts.",
		"fabric.pfc_watchdog.restore":          "How long until the queue is restored.",
	}
}

func storageDescriptions() map[string]string {
	return map[string]string{
		"pool":                  "Drives of one server.",
		"pool.server":           "The server.",
		"pool.drives":           "The names of the drives below /dev/disk/by-id.",
		"pool.on_existing_data": "The handling of drives that are not empty.",
		"volume":                "A volume in a pool.",
		"volume.pool":           "The pool.",
		"volume.size":           "The size.",
		"volume.mirror":         "The pools that hold copies.",

		"target":                                      "An NVMe target, which exports volumes.",
		"target.server":                               "The server; none for an external target.",
		"target.engine":                               "The software: weft's own target, the kernel's, or an external one that weft does not configure.",
		"target.transport":                            "The transports in order of preference.",
		"target.allow_degraded":                       "true: gates and verify accept TCP if RDMA is preferred but unavailable, and InfiniBand accepts TCP alone. It is still reported as degraded.",
		"target.portals":                              "The NICs it listens on, or the addresses of an external target.",
		"target.port":                                 "The port it listens on.",
		"target.dhchap_ctrl_key":                      `The key that authenticates the target to hosts (DH-HMAC-CHAP), of the form DHHC-1:HH:BASE64:, from env("NAME") or file("PATH").`,
		"target.dhchap_hash":                          "The hash for authentication; default chosen by the engine.",
		"target.demand_auth":                          `true requires dhchap_key of every host that may connect, and a dhchap_dhgroup other than "null".`,
		"target.dhchap_dhgroup":                       `The Diffie-Hellman group for authentication, "null" for none; default chosen by the engine, never "null" with engine = "weft".`,
		"target.tls":                                  "true requires TLS 1.3 (NVMe/TCP, pre-shared keys) with the tls_key of each initiator, and refuses plain-text connections.",
		"target.subsystem":                            "An NVMe subsystem that initiators connect to.",
		"target.subsystem.nqn":                        "The NQN.",
		"target.subsystem.serial":                     "The serial number; default derived from the NQN.",
		"target.subsystem.allow_hosts":                "The host NQNs that may connect; default those of the initiators that connect.",
		"target.subsystem.namespace":                  "A block device.",
		"target.subsystem.namespace.from":             "The volume.",
		"target.subsystem.namespace.uuid":             "The UUID; default derived from the NQN and the ID.",
		"target.subsystem.namespace.scratch":          "true: validations may write here if the command line names it (--i-will-write).",
		"target.subsystem.namespace.limits":           "Limits for all initiators together.",
		"target.subsystem.namespace.limits.iops":      "Commands per second.",
		"target.subsystem.namespace.limits.bandwidth": "Bytes per second.",

		"initiator":                          "A server that connects to targets.",
		"initiator.server":                   "The server.",
		"initiator.engine":                   `The software: the kernel, or "none" for weft's probes only.`,
		"initiator.hostid":                   "The host identifier (UUID) for hostnqn; default the UUID in hostnqn, or derived from it. A kernel accepts one for each hostnqn.",
		"initiator.hostnqn":                  "The host NQN; default derived from owner and server.",
		"initiator.probe_nqn":                "The host NQN of weft's probe.",
		"initiator.dhchap_key":               `The key that authenticates the host to targets (DH-HMAC-CHAP); targets then refuse the host without it. Of the form DHHC-1:HH:BASE64: (weft-target key creates one), from env("NAME") or file("PATH").`,
		"initiator.tls_key":                  `The TLS key for targets with tls = true, of the form NVMeTLSkey-1:HH:BASE64: (weft-target key --tls or nvme gen-tls-key creates one), from env("NAME") or file("PATH").`,
		"initiator.live_paths":               "The number of live paths to the subsystem that has the fewest.",
		"initiator.devices":                  "The block devices of its connections.",
		"initiator.connect":                  "A connection to targets.",
		"initiator.connect.to":               "The targets; a name without a key means all of its instances.",
		"initiator.connect.paths":            "The paths to use.",
		"initiator.connect.iopolicy":         "How I/O is distributed over the paths.",
		"initiator.connect.io_queues":        "The number of I/O queues per path; default chosen by the kernel.",
		"initiator.connect.ctrl_loss_tmo":    "Seconds until a lost path is given up; -1: never.",
		"initiator.connect.fast_io_fail_tmo": "Seconds after the loss of the last path until I/O fails instead of waiting. Default 5 if the target has half of a mirror; otherwise I/O waits until the path is given up.",
		"initiator.connect.reconnect_delay":  "The time between two attempts.",
		"initiator.connect.reconnect":        `"disconnect-first" accepts an outage if the kernel allows a new hostnqn or hostid only after all connections with the old one have ended.`,
		"initiator.connect.keep_alive_tmo":   "The time without a response after which a path is lost.",
	}
}

func rolloutDescriptions() map[string]string {
	latencies := metric.Names(metric.All(func(r metric.Row) bool { return r.Source == metric.Latency }))
	more := metric.Names(metric.All(func(r metric.Row) bool { return r.More }))
	return map[string]string{
		"validation":                   "A measurement with limits. It only reads, except for loads that write to scratch namespaces.",
		"validation.probe":             "The probe that generates the load; none for counters.",
		"validation.pairs":             "The measured pairs: all, or sampled, which covers every host and every portal at least once.",
		"validation.allow_unmeasured":  "Devices, and systems such as esxi, that may remain unmeasured. Any other unmeasured device makes the verdict partial.",
		"validation.sizes":             "The sizes of reads, or of the commands of a load.",
		"validation.baseline":          `The recorded baseline by size, such as baseline["4KiB"].p99: latencies of the slowest pair in microseconds (` + strings.Join(latencies, ", ") + ").",
		"validation.samples":           "The number of samples for each pair, plane and size.",
		"validation.metric":            "A metric with its limit.",
		"validation.metric.source":     "The counter; none for metrics of the probe.",
		"validation.metric.size":       "The read size that the limit applies to; default all.",
		"validation.metric.unit":       "The unit that the counter is converted to.",
		"validation.compare":           "The transports to compare: rdma and tcp at the same portals, and local, the storage on its own server.",
		"validation.before":            "An existing block device (iSCSI, FC, local) that is measured for comparison. It is only read.",
		"validation.before.server":     "The server that has it.",
		"validation.before.device":     "The path below /dev/disk/by-id.",
		"validation.depth":             "The number of commands in flight in each queue of a load or comparison.",
		"validation.runtime":           "The duration of each measurement.",
		"validation.rw":                "The access pattern of a load, as in fio; database: one queue writes a log with a flush after each write, the others read and write pages.",
		"validation.read_share":        "The percentage of reads in a mixed load.",
		"validation.queues":            "The number of queues of a load, each with a separate part of the span.",
		"validation.rate":              "Commands per second of all queues; default unlimited.",
		"validation.fsync":             "The number of writes of a queue between two flushes; default no flush.",
		"validation.span":              "The size of the namespace that a load uses, from its start.",
		"validation.metric.max":        "The upper limit.",
		"validation.metric.min":        "The lower limit, for metrics of which more is better: " + strings.Join(more, ", ") + ".",
		"validation.metric.delta":      "true: evaluate the change during the measurement.",
		"validation.metric.regression": "The allowed increase over the recorded baseline.",

		"site":                          "Devices that the workers of this site reach: weft worker --site NAME applies their part of a run.",
		"site.select":                   `The switches and servers, or labels such as "@dc=1".`,
		"rollout":                       "The phases of a change.",
		"rollout.max_unavailable":       "The number of devices that may be out of service at once.",
		"rollout.max_failures":          "The number of devices that may fail before the phase ends.",
		"rollout.on_failure":            "The action after a failure.",
		"rollout.accept_no_undo":        "true: allow changes that cannot be undone.",
		"rollout.phase":                 "One phase.",
		"rollout.phase.select":          `The resources of the phase; "remaining" selects all that no earlier phase has selected.`,
		"rollout.phase.batch":           "The number of devices changed at once, batch after batch.",
		"rollout.phase.record":          "Validations that are stored and never block.",
		"rollout.phase.gate":            "Validations that must pass.",
		"rollout.phase.soak":            "How long the gate is repeated for each batch.",
		"rollout.phase.approve":         `The required approval: "manual", by weft rollout promote; or { count = 2, not = ["author"] }, signed by that many people, none of them the author.`,
		"rollout.phase.restart":         `"rolling": before the gate, servers that require it are evacuated and restarted one after another. By default, none is restarted.`,
		"rollout.phase.restart_timeout": "The time limit for one server to be fully operational again.",
		"rollout.phase.window":          "When a batch may start: days, hours and time zone; without days, every day.",
	}
}
