package rules

import (
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/problem"
)

// A Rule is one condition that a model must meet.
type Rule struct {
	Says  string // one line
	Finds []Finding
	check func(*checker)
}

// A Finding is a code that a rule reports.
type Finding struct {
	Code   problem.Code
	Errors bool // it may be an error
	Warns  bool // it may be a warning
}

func refuses(code problem.Code) Finding        { return Finding{Code: code, Errors: true} }
func warns(code problem.Code) Finding          { return Finding{Code: code, Warns: true} }
func refusesOrWarns(code problem.Code) Finding { return Finding{Code: code, Errors: true, Warns: true} }

// All returns the rules in the order in which they are applied.
func All() []Rule {
	return append(networkRules(), storageRules()...)
}

func networkRules() []Rule {
	return []Rule{
		{"planes are subnets that do not overlap", []Finding{refuses(problem.NotHost), refuses(problem.Overlap)}, (*checker).planes},
		{"every device is declared once and has a login", []Finding{refuses(problem.DeviceTwice), warns(problem.Login)}, (*checker).devices},
		{"a managed switch belongs to one plane of a fabric", []Finding{refuses(problem.Plane), warns(problem.NoFabric)}, (*checker).switches},
		{"each NIC has unique hardware and a host address in one plane",
			[]Finding{refuses(problem.Match), refuses(problem.AddrTwice), refuses(problem.NotHost), refuses(problem.NoPlane)}, (*checker).servers},
		{"a port has one cable, within its plane and at a supported speed",
			[]Finding{refuses(problem.EndTwice), refuses(problem.Speed), refuses(problem.Crossed), refuses(problem.NoFabric), refuses(problem.Value)}, (*checker).links},
		{"the NICs of a server use different switches at the same speed", []Finding{refuses(problem.OneSwitch), warns(problem.Uneven)}, (*checker).hosts},
		{"a distributed switch has one NIC of each host", []Finding{refuses(problem.Uplink)}, (*checker).uplinks},
		{"PVRDMA requirements are met", []Finding{refusesOrWarns(problem.PVRDMA)}, (*checker).pvrdma},
		{"packets of hosts fit through the switches", []Finding{refusesOrWarns(problem.MTU), warns(problem.SmallMTU)}, ofFabrics((*checker).mtu)},
		{"traffic classes are distinct and their shares sum to 100", []Finding{refuses(problem.DSCP), refuses(problem.Priority), refuses(problem.Class),
			refuses(problem.Share), refuses(problem.ETS), refuses(problem.ECN), refuses(problem.Headroom), warns(problem.PauseFirst), refuses(problem.Lossless),
			refuses(problem.InfiniBand)}, ofFabrics((*checker).classes)},
		{"each transport belongs to one traffic class", []Finding{refusesOrWarns(problem.Carries)}, ofFabrics((*checker).carries)},
		{"lossless classes use ECN and a watchdog", []Finding{warns(problem.NoECN), warns(problem.NoCNP), warns(problem.NoWatchdog)}, ofFabrics((*checker).congestion)},
		{"names on switches are short enough", []Finding{refuses(problem.ObjectName)}, ofFabrics((*checker).objectNames)},
		{"switches support the settings, according to the catalogue", []Finding{refusesOrWarns(problem.MTU), refusesOrWarns(problem.Reserved),
			refusesOrWarns(problem.NoDrop), warns(problem.PortName), refuses(problem.File)}, func(c *checker) { c.platforms(catalogue.Load) }},
	}
}

func storageRules() []Rule {
	return []Rule{
		{"drives have stable names and belong to one pool", []Finding{refuses(problem.Drive), refuses(problem.DriveTwice)}, (*checker).pools},
		{"volumes have a size and a unique name, and mirrors are effective",
			[]Finding{refuses(problem.VolumeName), refusesOrWarns(problem.Mirror), refuses(problem.Value)}, (*checker).volumes},
		{"a target's portals and attributes match its engine", []Finding{refuses(problem.Target), refuses(problem.Portal)}, (*checker).targets},
		{"a target's transport runs on its fabric, and it has something to export", []Finding{refuses(problem.Transport), warns(problem.Nothing)}, (*checker).transports},
		{"subsystems and namespaces have unique names and export local volumes", []Finding{refuses(problem.NQN), refuses(problem.NQNTwice),
			refuses(problem.Serial), refuses(problem.NSID), refuses(problem.UUID), refuses(problem.VolumeTwice), refuses(problem.Elsewhere),
			refuses(problem.Limits), refuses(problem.Target)}, (*checker).subsystems},
		{"hosts have unique NQNs", []Finding{refuses(problem.NQN), refuses(problem.HostNQNTwice)}, (*checker).initiators},
		{"authentication settings of hosts and targets are consistent", []Finding{refusesOrWarns(problem.CHAP)}, (*checker).authentication},
		{"TLS is possible and every host has a key", []Finding{refusesOrWarns(problem.TLS)}, (*checker).encryption},
		{"initiators reach their targets on every plane", []Finding{refuses(problem.Unreachable)}, (*checker).reach},
		{"initiators and targets of a plane are in one subnet", []Finding{refuses(problem.Segments)}, (*checker).segments},
		{"hosts that share a datastore can lock its blocks", []Finding{refuses(problem.Locks)}, func(c *checker) { c.locks(catalogue.Load) }},
		{"one host connects to both halves of a mirror over two servers", []Finding{refuses(problem.Half)}, (*checker).mirrored},
		{"metrics can be measured and evaluated", []Finding{refuses(problem.Metric), warns(problem.NoBaseline), refuses(problem.Load), refuses(problem.Unmeasured)}, (*checker).validations},
		{"phases select each device once, in the order of dependencies",
			[]Finding{refusesOrWarns(problem.Select), refuses(problem.Order), refuses(problem.NoGate), refuses(problem.Load)}, (*checker).rollouts},
		{"a site selects devices, and a device belongs to one site", []Finding{refuses(problem.Select)}, (*checker).sites},
		{"depends_on has no cycle", []Finding{refuses(problem.Cycle)}, (*checker).cycles},
		{"durations are in the supported range", []Finding{refuses(problem.Duration)}, (*checker).durations},
	}
}

// ofFabrics checks each fabric by itself.
func ofFabrics(check func(*checker, *inventory.Fabric)) func(*checker) {
	return func(c *checker) {
		for _, f := range c.Fabrics {
			check(c, f)
		}
	}
}
