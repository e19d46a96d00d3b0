package language

import (
	"github.com/zclconf/go-cty/cty"

	"weft/internal/traffic"
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/problem"
)

// language returns the schemas of all blocks that may stand in a file: the
// words of the language and nothing else.
func language(own []*inventory.BlockType) map[string]*schema {
	words := map[string]*schema{
		"weft": {attrs: attrs{
			"name":             need(ownerName()),
			"required_version": opt(text()),
		}},
		"variable": variableSchema(),
		"locals":   {}, // takes any attribute
		"output":   {label: "name", attrs: attrs{"value": {takes: anything(), raw: true, needed: true}, "description": opt(text()), "sensitive": opt(boolean()).or(cty.False)}},
		"check":    checkSchema(),
		"policy": {label: "name", attrs: attrs{
			"when":      {takes: anything(), raw: true},
			"condition": {takes: anything(), raw: true, needed: true},
			"message":   {takes: anything(), raw: true, needed: true},
		}},
		"module":     moduleSchema(),
		"removed":    removedSchema(),
		"moved":      movedSchema(),
		"connection": connectionSchema(),
		"credential": referred("name", attrs{
			"user":     need(userName()),
			"password": {takes: text(), secret: true},
		}, nil),
		"fabric":     fabricSchema(),
		"switch":     switchSchema(),
		"server":     serverSchema(own),
		"vcenter":    vcenterSchema(),
		"dvswitch":   dvswitchSchema(),
		"vm":         vmSchema(),
		"link":       resource("name", attrs{"from": need(ref("rnic", "port")), "to": need(ref("port", "rnic")), "speed": opt(rate())}, nil),
		"pool":       poolSchema(),
		"volume":     resource("name", attrs{"pool": need(ref("pool")), "size": need(size()), "mirror": opt(refs("pool"))}, nil),
		"target":     targetSchema(),
		"initiator":  initiatorSchema(),
		"validation": validationSchema(),
		"rollout":    rolloutSchema(),
		"site":       referred("name", attrs{"select": need(refsOr(`"@label=value"`, "switch", "server"))}, nil),
		"store":      storeSchema(),
	}
	for _, s := range words {
		s.prepare()
	}
	return words
}

// ownerName stands on everything that weft creates.
func ownerName() valueType {
	t := matching("an owner's name of 1 to 20 characters a-z, 0-9 and -", `[a-z0-9-]{1,20}`)
	t.code = problem.Owner
	return t
}

// moduleSchema takes values for the variables of the module as attributes.
func moduleSchema() *schema {
	return &schema{label: "name", refers: true, open: true, attrs: attrs{
		"source":     {takes: text(), raw: true, needed: true},
		"for_each":   opt(anything()),
		"count":      opt(anything()),
		"enabled":    opt(boolean()).or(cty.True),
		"depends_on": dependencies(),
	}}
}

func variableSchema() *schema {
	return &schema{label: "name",
		attrs: attrs{
			"type":        expression(),
			"default":     expression(),
			"description": expression(),
			"sensitive":   expression(),
		},
		blocks: blocks{"validation": {many: true, schema: &schema{attrs: attrs{
			"condition":     {takes: anything(), raw: true, needed: true},
			"error_message": {takes: anything(), raw: true, needed: true},
		}}}},
	}
}

func checkSchema() *schema {
	return &schema{label: "name", attrs: attrs{}, blocks: blocks{"assert": {needed: true, many: true, schema: &schema{attrs: attrs{
		"condition":     {takes: anything(), raw: true, needed: true},
		"error_message": {takes: anything(), raw: true, needed: true},
	}}}}}
}

func connectionSchema() *schema {
	return referred("name", attrs{
		"user":            opt(userName()),
		"port":            opt(integer(1, 65535)),
		"become":          opt(oneOf(inventory.Becomes()...)),
		"connect_timeout": opt(duration()).orText(inventory.DefaultConnectTimeout.String()),
		"command_timeout": opt(duration()).orText(inventory.DefaultCommandTimeout.String()),
	}, nil)
}

func fabricSchema() *schema {
	return resource("name", attrs{
		"transport": need(oneOf("rocev2", "infiniband", "iwarp", "tcp")),
		"mode":      opt(oneOf("lossless", "lossy")).orText("lossless"),
		"mtu":       opt(integer(1280, 9600)).orNumber(9216),
		"host_mtu":  opt(integer(1280, 9600)).orNumber(9000),
		"partition": opt(measured(`a partition key such as "0x8001"`, parsePartition)),
	}, blocks{
		"plane": {needed: true, schema: part("name", attrs{
			"subnet": need(prefix()),
		}, nil)},
		"traffic_class": {schema: part("name", attrs{
			"carries":   opt(wordList(inventory.RDMA, inventory.TCP, inventory.OtherTraffic)),
			"dscp":      opt(integerList(0, traffic.MaxDSCP)),
			"priority":  opt(integer(0, traffic.MaxPriority)),
			"bandwidth": opt(integer(1, 100)),
			"strict":    opt(boolean()).or(cty.False),
			"pfc":       opt(boolean()).or(cty.False),
		}, blocks{
			"ecn":      {schema: part("", attrs{"min": need(size()), "max": need(size()), "probability": need(integer(1, 100))}, nil)},
			"headroom": {schema: part("", attrs{"xoff": need(size()), "xon": need(size()), "size": need(size())}, nil)},
		})},
		"pfc_watchdog": {schema: part("", attrs{
			"action":  opt(oneOf("drop", "forward")).orText("drop"),
			"detect":  opt(duration()),
			"restore": opt(duration()),
		}, nil)},
	})
}

func switchSchema() *schema {
	return resource("name", attrs{
		"os":         opt(oneOf(catalogue.SwitchSystems()...)), // needed unless unmanaged, like host
		"host":       opt(hostName()),
		"serial":     opt(line()),
		"credential": opt(ref("credential")),
		"connection": opt(ref("connection")),
		"fabric":     opt(ref("fabric")),
		"plane":      opt(text()),
		"unmanaged":  opt(boolean()).or(cty.False),
		"adopt":      opt(boolean()).or(cty.False),
	}, blocks{
		"safety": {schema: part("", attrs{
			"commit_confirm": opt(durationOr("none")),
			"save":           opt(oneOf("after-soak", "now", "never")).orText("after-soak"),
			"commit_method":  opt(oneOf("dual-stage", "commit-delay", "scheduler", "replace")),
		}, nil)},
	})
}

func serverSchema(own []*inventory.BlockType) *schema {
	inside := serverBlocks(own)
	inside["rnic"] = nested{schema: part("name", attrs{
		"match":    need(hardware()),
		"address":  opt(prefix()),
		"fabric":   opt(ref("fabric")),
		"vlan":     opt(integer(1, 4094)),
		"software": opt(boolean()).or(cty.False),
	}, blocks{
		"vmk": {schema: part("", attrs{
			"id":        need(matching("the name of a vmkernel port: vmk2", `vmk[0-9]{1,4}`)),
			"vswitch":   opt(matching("the name of a standard switch", `[A-Za-z0-9_][A-Za-z0-9_.-]{0,30}`)),
			"portgroup": opt(ref("portgroup")),
			"netstack":  opt(matching("the name of a stack of TCP/IP", `[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}`)),
			"services":  opt(wordList("nvme-rdma", "nvme-tcp", "vsan", "pvrdma")),
		}, nil)},
	})}
	return resource("name", attrs{
		"os":         opt(hostSystem()).orText(catalogue.UsualHostSystem()),
		"host":       need(hostName()),
		"machine_id": opt(machineID()),
		"labels":     opt(lineMap()),
		"credential": opt(ref("credential")),
		"connection": opt(ref("connection")),
	}, inside)
}

func poolSchema() *schema {
	return resource("name", attrs{
		"server":           need(ref("server")),
		"drives":           need(textList()),
		"on_existing_data": opt(oneOf("refuse", "keep", "wipe")).orText("refuse"),
	}, nil)
}

func targetSchema() *schema {
	return resource("name", attrs{
		"server":         opt(ref("server")),
		"engine":         opt(oneOf("weft", "nvmet", "external")).orText("weft"),
		"transport":      opt(wordList("rdma", "tcp")).or(cty.ListVal([]cty.Value{cty.StringVal("rdma")})),
		"allow_degraded": opt(boolean()).or(cty.False),
		"portals":        need(refsOr(`an address such as "10.0.0.1:4420"`, "rnic")),
		"port":           opt(integer(1, 65535)).orNumber(4420),

		"dhchap_ctrl_key": {takes: text(), secret: true},
		"dhchap_hash":     opt(oneOf("sha256", "sha384", "sha512")),
		"demand_auth":     opt(boolean()).or(cty.False),
		"dhchap_dhgroup":  opt(oneOf("null", "ffdhe2048", "ffdhe3072", "ffdhe4096", "ffdhe6144", "ffdhe8192")),
		"tls":             opt(boolean()).or(cty.False),
	}, blocks{
		"subsystem": {needed: true, schema: part("name", attrs{
			"nqn":         need(text()),
			"serial":      opt(text()).orDerived(derivedSerial),
			"allow_hosts": opt(textList()).orDerived(derivedAllowHosts),
		}, blocks{
			"namespace": {schema: part("id", attrs{
				"from":    need(ref("volume")),
				"uuid":    opt(text()).orDerived(derivedUUID),
				"scratch": opt(boolean()).or(cty.False),
			}, blocks{
				"limits": {schema: part("", attrs{
					"iops":      opt(integer(1, 1e12)),
					"bandwidth": opt(bandwidth()),
				}, nil)},
			})},
		})},
	})
}

func initiatorSchema() *schema {
	return resource("name", attrs{
		"server":     need(ref("server")),
		"engine":     opt(oneOf("kernel", "none")).orText("kernel"),
		"hostnqn":    opt(text()).orDerived(derivedHostNQN),
		"hostid":     opt(text()),
		"probe_nqn":  {takes: text(), derive: derivedProbeNQN, computed: true},
		"dhchap_key": {takes: text(), secret: true},
		"tls_key":    {takes: text(), secret: true},
		"live_paths": observed(),
		"devices":    observed(),
	}, blocks{
		"connect": {many: true, schema: part("", attrs{
			"to":               need(refs("target")),
			"paths":            opt(oneOf("all-planes")).orText("all-planes"),
			"iopolicy":         opt(oneOf("queue-depth", "round-robin", "numa")).orText("round-robin"),
			"io_queues":        opt(integer(1, 1024)),
			"ctrl_loss_tmo":    opt(integer(-1, 86400)).orNumber(600),
			"fast_io_fail_tmo": opt(integer(1, 86400)),
			"reconnect_delay":  opt(duration()).orText("10s"),
			"keep_alive_tmo":   opt(duration()).orText("5s"),
			"reconnect":        opt(oneOf("disconnect-first")),
		}, nil)},
	})
}

func validationSchema() *schema {
	return referred("name", attrs{
		"probe":   opt(oneOf("nvme-read", "nvme-load", "verbs", "socket")),
		"pairs":   opt(oneOf("all", "sampled")).orText("all"),
		"sizes":   opt(sizeList()).orDerived(derivedSizes),
		"samples": opt(integer(1, 1e9)).orNumber(20000),
		"compare": opt(wordList("rdma", "tcp", "local")),
		"depth":   opt(integer(1, 128)).orNumber(16),
		"runtime": opt(duration()).orText("1s"),

		"rw":         opt(oneOf("read", "write", "rw", "randread", "randwrite", "randrw", "database")).orText("randread"),
		"read_share": opt(integer(0, 100)).orNumber(70),
		"queues":     opt(integer(1, 64)).orNumber(1),
		"rate":       opt(integer(1, 1e9)),
		"fsync":      opt(integer(1, 1e9)),
		"span":       opt(size()).orText("1GiB"),

		"allow_unmeasured": opt(refsOr(`a system such as "esxi"`, "switch", "server", "vm")),

		"baseline": observed(),
	}, blocks{
		"before": {schema: part("", attrs{
			"server": need(ref("server")),
			"device": need(matching("a path below /dev/disk/by-id", `/dev/disk/by-id/[A-Za-z0-9._:+=@-]+`)),
		}, nil)},
		"metric": {needed: true, schema: part("name", attrs{
			"source":     opt(matching("the dotted name of a counter", `[a-z0-9_]+(\.[a-z0-9_]+)+`)),
			"size":       opt(size()),
			"unit":       opt(line()),
			"max":        {takes: limit(), late: true},
			"min":        opt(aNumber()),
			"delta":      opt(boolean()).or(cty.False),
			"regression": opt(percent()),
		}, nil)},
	})
}

func rolloutSchema() *schema {
	return referred("name", attrs{
		"max_unavailable": opt(integer(1, 1e6)).orNumber(1),
		"max_failures":    opt(integer(0, 1e6)).orNumber(0),
		"on_failure":      opt(oneOf("pause", "rollback-phase", "rollback-all")).orText("rollback-phase"),
		"accept_no_undo":  opt(boolean()).or(cty.False),
	}, blocks{
		"phase": {needed: true, schema: part("name", attrs{
			"select":  opt(refsOr(`"remaining" or "@label=value"`, "switch", "server", "vcenter", "dvswitch", "vm", "link", "pool", "volume", "target", "initiator")),
			"batch":   opt(listMatching(`a number of devices or a percentage such as "100%"`, `[1-9][0-9]{0,5}|(100|[1-9][0-9]?)%`)),
			"record":  opt(refs("validation")),
			"gate":    opt(refs("validation")),
			"soak":    opt(duration()),
			"approve": opt(approval()),
			"window":  opt(window()),

			"restart":         opt(oneOf("rolling")),
			"restart_timeout": opt(duration()).orText("30m"),
		}, nil)},
	})
}
