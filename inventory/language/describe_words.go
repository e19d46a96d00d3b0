package language

import "maps"

// descriptions say what blocks and attributes are for, by their path. *.name
// is an attribute that blocks of many types have.
func descriptions() map[string]string {
	all := map[string]string{}
	for _, part := range []map[string]string{
		languageDescriptions(), deviceDescriptions(), fabricDescriptions(), storageDescriptions(), rolloutDescriptions(),
	} {
		maps.Copy(all, part)
	}
	return all
}

// unmanaged are the words that files may hold although nothing acts on them
// yet: plan refuses them. A value of an attribute follows =.
func unmanaged() []string {
	return []string{
		"switch.safety.commit_method", "pool.on_existing_data=wipe",
	}
}

func languageDescriptions() map[string]string {
	return map[string]string{
		"*.for_each":     "One instance for each key of a map or item of a set; each.key and each.value tell them apart.",
		"*.count":        "That many instances; count.index tells them apart.",
		"*.enabled":      "false takes the block out, and with it what cannot do without it.",
		"*.protect":      "true: what this stands for is never pruned, nor changed at the cost of data.",
		"*.ignore_drift": "What others may change on devices, such as [service, rnic.p0.address] of a server or [host_mtu] of a fabric: it stays as they left it until it is declared otherwise.",
		"*.depends_on":   "What must be in force before.",

		"weft":                  "The inventory itself; exactly one.",
		"weft.name":             "The owner, which is written on everything that weft creates.",
		"weft.required_version": `Versions of weft that may work on these files, such as ">= 0.1".`,

		"variable":                          "A value that comes from outside of the files: var.NAME.",
		"variable.type":                     "The type values are converted to, such as list(string).",
		"variable.default":                  "The value where none is given; without a default one must be.",
		"variable.description":              "What the value is for.",
		"variable.sensitive":                "true keeps the value out of all output.",
		"variable.validation":               "A condition that the value must meet.",
		"variable.validation.condition":     "True for good values.",
		"variable.validation.error_message": "What is said about others.",
		"locals":                            "Values with a name: local.NAME.",

		"output":                     "A value that is shown after facts or verify; it may use what devices tell.",
		"output.value":               "The value.",
		"output.description":         "What the value is.",
		"output.sensitive":           "true keeps the value out of all output; needed where the value is sensitive.",
		"check":                      "Conditions that are looked at after facts or verify; they may use what devices tell.",
		"check.assert":               "One condition.",
		"check.assert.condition":     "True when all is well.",
		"check.assert.error_message": "What is said when it is not.",

		"policy":           "A rule for plans: what it forbids is refused before anything is changed.",
		"policy.when":      `Which changes it is about: an expression on change and phase, such as change.impact == "link-flap"; without it all.`,
		"policy.condition": "True for what is allowed.",
		"policy.message":   "What is said about the others.",

		"moved":      "Another name for what stands on devices already: ledgers follow, and nothing is changed there.",
		"moved.from": "The block, instance or module as it was called.",
		"moved.to":   "As it is called now.",

		"removed":      "What becomes of a device that stands in the files no more.",
		"removed.from": "The device as it was called.",
		"removed.mode": "Whether what weft created there is taken away, or left and forgotten.",

		"store":          `Where runs are kept: store "nats" or "directory", at most one, of constants.`,
		"store.url":      "The address of a hub: tls://HOST:PORT, or nats://HOST:PORT on this machine.",
		"store.creds":    "The file that weft hub credential add has made; ~ is the home directory. It holds the address, too.",
		"store.path":     "The directory, where several machines or directories share one.",
		"store.replicas": "How many servers of the hub keep a copy, where weft makes the store.",
		"store.lease":    `How long whoever works on a run is waited for when it does not answer; "5m" unless it is written.`,

		"module":        "The blocks of another directory; other attributes are the values of its variables.",
		"module.source": "The directory, relative to this one.",
	}
}

func deviceDescriptions() map[string]string {
	return map[string]string{
		"connection":                 `How devices are reached; "default" is for all that name no other. What is not set comes from ~/.ssh/config.`,
		"connection.user":            "The user to log in as.",
		"connection.port":            "The SSH port.",
		"connection.become":          "How root is become: with sudo, for everything; or weft-read, a program that reads and changes nothing.",
		"connection.connect_timeout": "How long to wait for a login.",
		"connection.command_timeout": "How long one command may take.",
		"credential":                 "A login whose secret is read when connecting.",
		"credential.user":            "The user to log in as.",
		"credential.password":        `Its password, read from outside: env("NAME") or file("PATH").`,

		"switch":                       "One switch.",
		"switch.os":                    "What it runs; needed unless it is unmanaged.",
		"switch.host":                  "Its management name or address; needed unless it is unmanaged.",
		"switch.serial":                "Its serial number: another box that answers is refused.",
		"switch.credential":            "How to log in.",
		"switch.connection":            "How it is reached, where that is not connection.default.",
		"switch.fabric":                "The fabric that it carries.",
		"switch.plane":                 "The plane of the fabric that it serves.",
		"switch.unmanaged":             "true: part of the paths, but never changed.",
		"switch.adopt":                 "true: take over settings that weft did not create.",
		"switch.safety":                "How changes are guarded.",
		"switch.safety.commit_confirm": `After this time the switch reverts by itself unless weft confirms; "none" does without.`,
		"switch.safety.save":           "When the running configuration is saved.",
		"switch.safety.commit_method":  "How the switch reverts; else the first method that it has.",

		"server":                    "One machine.",
		"server.os":                 "What it runs.",
		"server.host":               "Its management name or address.",
		"server.machine_id":         "Its identity, another machine that answers is refused: the content of /etc/machine-id; of ESXi what esxcli system uuid get prints, without dashes.",
		"server.labels":             "Words to select servers by.",
		"server.credential":         "How to log in where a key is not enough: user and password.",
		"server.connection":         "How it is reached, where that is not connection.default.",
		"server.rnic":               "One port of a NIC of a fabric.",
		"server.rnic.match":         "How the port is found, by pci or mac: names such as eth1 change. port, in addition to pci, is the number of one of several ports of a PCI function.",
		"server.rnic.address":       "Its address; the plane is the one whose subnet holds it.",
		"server.rnic.fabric":        "The fabric: MTU, PFC and what else hosts must agree on follow from it.",
		"server.rnic.software":      "true: RDMA is done in software where the card has none; for tests, it is slow.",
		"server.rnic.vlan":          "Of Windows and ESXi: the VLAN that its frames are tagged with; its switch tells them apart by the priority in the tag. RDMA of Windows needs one.",
		"server.rnic.vmk":           "Of ESXi: the port of the VMkernel that has the address.",
		"server.rnic.vmk.id":        "Its name, vmk2.",
		"server.rnic.vmk.vswitch":   "The standard switch that is made for it: the NIC is its only uplink, its port group has its name.",
		"server.rnic.vmk.portgroup": "In place of vswitch: a port group of the distributed switch whose uplink the NIC is; vCenter makes the port.",
		"server.rnic.vmk.netstack":  "The stack of TCP/IP that it is on, which is there already; else the default one.",
		"server.rnic.vmk.services":  "What it carries: NVMe, for which it is tagged and an adapter made, vSAN, or PVRDMA, whose port it is made and which the firewall lets in.",
		"server.smb":                "Of Windows: file sharing between hosts over RDMA, SMB Direct, over as many channels as there are.",
		"server.smb.direct_port":    "The NetworkDirect port whose RDMA has the lossless class of the fabric.",
		"server.file":               "A file that is kept as it is written here.",
		"server.file.content":       "All of the file.",
		"server.file.mode":          "Its permissions, octal.",

		"server.kernel_module":         "A module of the kernel that is loaded, now and when the server starts.",
		"server.kernel_module.options": "Its parameters.",
		"server.package":               "A package of the system.",
		"server.package.version":       "The version; else any.",
		"server.package.state":         "Whether it is there.",
		"server.service":               "A unit of systemd.",
		"server.service.enabled":       "Whether it starts with the server.",
		"server.service.running":       "Whether it runs.",
		"server.command":               "A command that runs where it has not done its work yet.",
		"server.command.run":           "The command with its arguments; no shell reads it.",
		"server.command.creates":       "The file that it creates: it does not run where that is there.",
		"server.command.unless":        "A command that succeeds where nothing is left to do.",
		"server.command.undo":          "The command that reverts it.",

		"vcenter":            "A vCenter Server: distributed switches are changed through it.",
		"vcenter.host":       "Its name or address.",
		"vcenter.port":       "The port of its API.",
		"vcenter.tls_sha256": "The SHA-256 of its certificate: another one is refused. Without it, an authority that this machine trusts must have signed it.",
		"vcenter.credential": "The user, with the password, that weft is there.",

		"vcenter.cluster":           "A cluster of hosts that others have made, by its place in the inventory: DATACENTER/host/NAME.",
		"vcenter.cluster.vsan_rdma": "Whether its hosts use RDMA for vSAN.",

		"dvswitch":         "A distributed switch, which weft makes.",
		"dvswitch.vcenter": "Where it is.",
		"dvswitch.path":    "Its place in the inventory: DATACENTER/network/NAME.",
		"dvswitch.uplinks": "One NIC of each ESXi host that is a member.",

		"dvswitch.portgroup":      "A port group of it, whose name in vCenter is that of the switch, a dash, and this.",
		"dvswitch.portgroup.vlan": "The VLAN of its frames; 0: they are not tagged.",

		"vm":                  "A virtual machine of vCenter that others have made, with adapters for RDMA.",
		"vm.path":             "Its place in the inventory: DATACENTER/vm/NAME.",
		"vm.hardware_version": "The version of its virtual hardware, at least. Raising it has no undo.",

		"vm.pvrdma":                "A paravirtual RDMA adapter. All memory of the machine is reserved with it.",
		"vm.pvrdma.portgroup":      "The port group of a distributed switch that it is on.",
		"vm.pvrdma.protocol":       "What it speaks: rocev1 within one subnet, rocev2 beyond.",
		"vm.pvrdma.allow_degraded": "Whether it may reach others by memory copy or TCP, where hosts have no adapters for RDMA.",

		"link":       "One cable, which is proven with LLDP.",
		"link.from":  "One end: a NIC, server.NAME.rnic.NAME, or a port, switch.NAME.port[\"PORT\"].",
		"link.to":    "The other end.",
		"link.speed": "The speed that it must have, in bits a second.",
	}
}

func fabricDescriptions() map[string]string {
	return map[string]string{
		"fabric":                               "What switches and NICs must agree on.",
		"fabric.transport":                     "What carries the storage.",
		"fabric.mode":                          "Whether the fabric may drop frames.",
		"fabric.mtu":                           "The MTU of switch ports in bytes, at least.",
		"fabric.host_mtu":                      "The MTU of NICs in bytes.",
		"fabric.partition":                     "On InfiniBand, the key of the partition that the ports are to be in, as 0x8001; without its highest bit limited members will do. weft says which ports are not.",
		"fabric.plane":                         "One independent path.",
		"fabric.plane.subnet":                  "The subnet whose addresses belong to the plane.",
		"fabric.traffic_class":                 `Traffic that is treated alike; "default" is all other traffic.`,
		"fabric.traffic_class.carries":         "The traffic that belongs to it: rdma and tcp, each in one class of the fabric, and other, which weft does not mark. Without it RDMA belongs to the only class with pfc, and TCP to default.",
		"fabric.traffic_class.dscp":            "The DSCPs of its packets.",
		"fabric.traffic_class.priority":        "Its 802.1p priority.",
		"fabric.traffic_class.bandwidth":       "Its share in percent (ETS); the shares sum to 100.",
		"fabric.traffic_class.strict":          "true: served before all shares.",
		"fabric.traffic_class.pfc":             "true: paused, not dropped, when buffers fill up.",
		"fabric.traffic_class.ecn":             "How packets are marked before buffers are full.",
		"fabric.traffic_class.ecn.min":         "Queue length where marking begins.",
		"fabric.traffic_class.ecn.max":         "Queue length from where every packet is marked.",
		"fabric.traffic_class.ecn.probability": "Percent of packets marked just below max.",
		"fabric.traffic_class.headroom":        "Buffer for what is in flight when a pause is sent.",
		"fabric.traffic_class.headroom.xoff":   "Fill level where a pause is sent.",
		"fabric.traffic_class.headroom.xon":    "Fill level where the pause ends.",
		"fabric.traffic_class.headroom.size":   "The buffer.",
		"fabric.pfc_watchdog":                  "Ends a queue that stays paused.",
		"fabric.pfc_watchdog.action":           "What happens to its packets.",
		"fabric.pfc_watchdog.detect":           "How long a queue stays paused before that.",
		"fabric.pfc_watchdog.restore":          "How long until it is tried again.",
	}
}

func storageDescriptions() map[string]string {
	return map[string]string{
		"pool":                  "Drives of one server.",
		"pool.server":           "The server.",
		"pool.drives":           "Their names below /dev/disk/by-id.",
		"pool.on_existing_data": "What to do with drives that are not empty.",
		"volume":                "A slice of a pool.",
		"volume.pool":           "The pool.",
		"volume.size":           "Its size.",
		"volume.mirror":         "Pools that hold copies.",

		"target":                                      "What exports volumes.",
		"target.server":                               "Where it runs; none for external ones.",
		"target.engine":                               "What answers: weft's own target, the kernel's, or something that weft does not configure.",
		"target.transport":                            "Transports in order of preference.",
		"target.allow_degraded":                       "true: gates and verify let TCP through where RDMA is preferred and not to be had, and TCP alone may be asked for on InfiniBand; it is shown as degraded all the same.",
		"target.portals":                              "The NICs it listens on, or addresses of an external one.",
		"target.port":                                 "The port it listens on.",
		"target.dhchap_ctrl_key":                      `The key that it proves to hosts, which then trust it (DH-HMAC-CHAP), of the form DHHC-1:HH:BASE64:, read from outside: env("NAME") or file("PATH").`,
		"target.dhchap_hash":                          "The hash that hosts authenticate with; else what the engine chooses.",
		"target.demand_auth":                          `true makes every host that may connect and has no dhchap_key a mistake, and dhchap_dhgroup = "null" another.`,
		"target.dhchap_dhgroup":                       `The Diffie-Hellman group that hosts authenticate with, "null" for none; else what the engine chooses, which with engine = "weft" is never "null".`,
		"target.tls":                                  "true has hosts speak TLS 1.3 with it (NVMe/TCP, pre-shared keys), each with the tls_key of its initiator, and takes nobody in clear.",
		"target.subsystem":                            "What initiators connect to.",
		"target.subsystem.nqn":                        "Its name.",
		"target.subsystem.serial":                     "Its serial number, else derived from the NQN.",
		"target.subsystem.allow_hosts":                "The host NQNs that may connect, else those of the initiators that do.",
		"target.subsystem.namespace":                  "One block device.",
		"target.subsystem.namespace.from":             "The volume behind it.",
		"target.subsystem.namespace.uuid":             "Its identity, else derived from NQN and id.",
		"target.subsystem.namespace.scratch":          "true: validations may write here, where the command line names it (--i-will-write).",
		"target.subsystem.namespace.limits":           "What initiators together may take.",
		"target.subsystem.namespace.limits.iops":      "Commands a second.",
		"target.subsystem.namespace.limits.bandwidth": "Bytes a second.",

		"initiator":                          "A server that uses targets.",
		"initiator.server":                   "The server.",
		"initiator.engine":                   `What connects: the kernel, or "none" for weft's probes only.`,
		"initiator.hostid":                   "The host identifier that goes with hostnqn, a UUID; else the UUID in hostnqn, or derived from it. A kernel takes one for each hostnqn.",
		"initiator.hostnqn":                  "The name it connects with, else derived from owner and server.",
		"initiator.probe_nqn":                "The name that weft's own probe connects with.",
		"initiator.dhchap_key":               `The key that it proves to targets (DH-HMAC-CHAP), which then let nobody in under its name who has not got it; of the form DHHC-1:HH:BASE64: (weft-target key makes one), read from outside: env("NAME") or file("PATH").`,
		"initiator.tls_key":                  `The key by which it speaks TLS with targets that have tls = true; of the form NVMeTLSkey-1:HH:BASE64: (weft-target key --tls makes one, or nvme gen-tls-key), read from outside: env("NAME") or file("PATH").`,
		"initiator.live_paths":               "How many live paths it has to the subsystem that has fewest, of those it connects to.",
		"initiator.devices":                  "The block devices that its connections have brought.",
		"initiator.connect":                  "Targets that are used in one way.",
		"initiator.connect.to":               "The targets; a name without a key means all of its instances.",
		"initiator.connect.paths":            "Which paths are used.",
		"initiator.connect.iopolicy":         "How I/O is spread over the paths.",
		"initiator.connect.io_queues":        "Queues of I/O for each path, else as many as the kernel chooses.",
		"initiator.connect.ctrl_loss_tmo":    "Seconds until a lost path is given up; -1: never.",
		"initiator.connect.fast_io_fail_tmo": "Seconds after the loss of the last path until I/O fails instead of waiting; else 5 where the target has half of a mirror, and otherwise it waits until the path is given up.",
		"initiator.connect.reconnect_delay":  "Time between two attempts.",
		"initiator.connect.reconnect":        `"disconnect-first" accepts an outage where the kernel takes a new hostnqn or hostid only once all connections by the old one have ended.`,
		"initiator.connect.keep_alive_tmo":   "Silence after which a path counts as lost.",
	}
}

func rolloutDescriptions() map[string]string {
	return map[string]string{
		"validation":                   "What is measured, and what is good enough. It only reads, but for loads that write to scratch namespaces.",
		"validation.probe":             "What makes the load; none for counters.",
		"validation.pairs":             "Between whom: all, or sampled, as many as it takes for every host and every portal to be part of one.",
		"validation.allow_unmeasured":  "Devices, and systems such as esxi, that may go without a measurement: without it a declared place that is not measured makes the verdict partial.",
		"validation.sizes":             "Sizes of reads, or of the commands of a load.",
		"validation.baseline":          `What its baseline has, by size, such as baseline["4KiB"].p99: p50, p99, p999 and added_p99 of the slowest pair, in microseconds.`,
		"validation.samples":           "How many are measured for each pair, plane and size.",
		"validation.metric":            "One measure with its limit.",
		"validation.metric.source":     "The counter it comes from; none for what the probe measures.",
		"validation.metric.size":       "The size of reads that it is about; else all.",
		"validation.metric.unit":       "What the counter is turned into.",
		"validation.compare":           "What reads go over in turn, to be compared: rdma and tcp at the same portals, and local, the storage on its own server.",
		"validation.before":            "A block device that is there already (iSCSI, FC, local), measured beside what is compared. It is only read.",
		"validation.before.server":     "The server that has it.",
		"validation.before.device":     "Its path below /dev/disk/by-id.",
		"validation.depth":             "How many commands are under way in each queue of a load, or where it is compared how much goes.",
		"validation.runtime":           "For how long, each time.",
		"validation.rw":                "What a load does, as fio names it; database: one queue writes a log and flushes after each write, the others read and write pages.",
		"validation.read_share":        "Percent of reads where a load mixes them with writes.",
		"validation.queues":            "How many queues a load has, each with a part of the span of its own.",
		"validation.rate":              "Commands a second of all queues; none: as many as go.",
		"validation.fsync":             "A flush after so many writes of a queue; none where it is not set.",
		"validation.span":              "How much of the namespace a load uses, from its beginning.",
		"validation.metric.max":        "The limit.",
		"validation.metric.min":        "The least that is good enough, of what compares and of throughput and iops.",
		"validation.metric.delta":      "true: what counts is the difference over the measurement.",
		"validation.metric.regression": "How much worse than the recorded baseline it may be.",

		"site":                          "Devices that workers of that name reach: weft worker --site NAME carries their part of a run out.",
		"site.select":                   `Its switches and servers, or labels such as "@dc=1".`,
		"rollout":                       "The order of a change.",
		"rollout.max_unavailable":       "How many devices may be out of service at once.",
		"rollout.max_failures":          "How many may fail before it stops.",
		"rollout.on_failure":            "What to do then.",
		"rollout.accept_no_undo":        "true: go on where a change cannot be reverted.",
		"rollout.phase":                 "One part of it.",
		"rollout.phase.select":          `What is changed in it; "remaining" is all that no phase before it has taken.`,
		"rollout.phase.batch":           "How many devices at once, one step after the other.",
		"rollout.phase.record":          "Validations that are kept and never block.",
		"rollout.phase.gate":            "Validations that must pass.",
		"rollout.phase.soak":            "How long each batch is watched.",
		"rollout.phase.approve":         `Whether an approval is needed first: "manual", of whoever promotes; or { count = 2, not = ["author"] }, signed by that many people, of whom none wrote it.`,
		"rollout.phase.restart":         `"rolling": servers on which a change needs it are emptied, restarted and filled again before the gate, one after another; without it none is restarted.`,
		"rollout.phase.restart_timeout": "How long each of them may take until it is as it was.",
		"rollout.phase.window":          "When a batch of it may begin: days, hours and the time zone in which they are meant; without days it is every day.",
	}
}
