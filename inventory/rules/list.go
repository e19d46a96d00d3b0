package rules

import (
	"weft/inventory"
	"weft/inventory/catalogue"
	"weft/inventory/problem"
)

// A Rule is one thing that a model must keep to.
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
		{"every device stands there once, and weft can log in", []Finding{refuses(problem.DeviceTwice), warns(problem.Login)}, (*checker).devices},
		{"a managed switch serves one plane of a fabric", []Finding{refuses(problem.Plane), warns(problem.NoFabric)}, (*checker).switches},
		{"NICs can be told apart and are hosts in one plane each",
			[]Finding{refuses(problem.Match), refuses(problem.AddrTwice), refuses(problem.NotHost), refuses(problem.NoPlane)}, (*checker).servers},
		{"an end has one cable, which stays in its plane and suits its port",
			[]Finding{refuses(problem.EndTwice), refuses(problem.Speed), refuses(problem.Crossed), refuses(problem.NoFabric), refuses(problem.Value)}, (*checker).links},
		{"the NICs of a server lead to different switches at one speed", []Finding{refuses(problem.OneSwitch), warns(problem.Uneven)}, (*checker).hosts},
		{"a distributed switch has one NIC of each host", []Finding{refuses(problem.Uplink)}, (*checker).uplinks},
		{"PVRDMA has what it needs", []Finding{refusesOrWarns(problem.PVRDMA)}, (*checker).pvrdma},
		{"what hosts send passes the switches", []Finding{refusesOrWarns(problem.MTU), warns(problem.SmallMTU)}, ofFabrics((*checker).mtu)},
		{"traffic classes can be told apart, and share what there is", []Finding{refuses(problem.DSCP), refuses(problem.Priority), refuses(problem.Class),
			refuses(problem.Share), refuses(problem.ETS), refuses(problem.ECN), refuses(problem.Headroom), warns(problem.PauseFirst), refuses(problem.Lossless),
			refuses(problem.InfiniBand)}, ofFabrics((*checker).classes)},
		{"each transport belongs to one traffic class", []Finding{refusesOrWarns(problem.Carries)}, ofFabrics((*checker).carries)},
		{"lossless classes mark, and their switches watch them", []Finding{warns(problem.NoECN), warns(problem.NoCNP), warns(problem.NoWatchdog)}, ofFabrics((*checker).congestion)},
		{"names on switches are short enough", []Finding{refuses(problem.ObjectName)}, ofFabrics((*checker).objectNames)},
		{"switches can do what is asked of them, as far as the catalogue knows", []Finding{refusesOrWarns(problem.MTU), refusesOrWarns(problem.Reserved),
			refusesOrWarns(problem.NoDrop), warns(problem.PortName), refuses(problem.File)}, func(c *checker) { c.platforms(catalogue.Load) }},
	}
}

func storageRules() []Rule {
	return []Rule{
		{"drives have stable names and one pool", []Finding{refuses(problem.Drive), refuses(problem.DriveTwice)}, (*checker).pools},
		{"volumes have a size and a name of their own, and mirrors protect",
			[]Finding{refuses(problem.VolumeName), refusesOrWarns(problem.Mirror), refuses(problem.Value)}, (*checker).volumes},
		{"a target's portals and attributes suit its engine", []Finding{refuses(problem.Target), refuses(problem.Portal)}, (*checker).targets},
		{"a target's transport runs on its fabric, and it has something to export", []Finding{refuses(problem.Transport), warns(problem.Nothing)}, (*checker).transports},
		{"subsystems and namespaces have names of their own and what they export", []Finding{refuses(problem.NQN), refuses(problem.NQNTwice),
			refuses(problem.Serial), refuses(problem.NSID), refuses(problem.UUID), refuses(problem.VolumeTwice), refuses(problem.Elsewhere),
			refuses(problem.Limits), refuses(problem.Target)}, (*checker).subsystems},
		{"hosts have names of their own", []Finding{refuses(problem.NQN), refuses(problem.HostNQNTwice)}, (*checker).initiators},
		{"what hosts and targets prove to each other goes together", []Finding{refusesOrWarns(problem.CHAP)}, (*checker).authentication},
		{"who speaks TLS has keys for it, and can", []Finding{refusesOrWarns(problem.TLS)}, (*checker).encryption},
		{"initiators reach their targets on every plane", []Finding{refuses(problem.Unreachable)}, (*checker).reach},
		{"initiators and targets of a plane are in one subnet", []Finding{refuses(problem.Segments)}, (*checker).segments},
		{"hosts that share blocks can take locks in them", []Finding{refuses(problem.Locks)}, func(c *checker) { c.locks(catalogue.Load) }},
		{"one host keeps both halves of a mirror over two servers", []Finding{refuses(problem.Half)}, (*checker).mirrored},
		{"metrics can be measured and judged", []Finding{refuses(problem.Metric), warns(problem.NoBaseline), refuses(problem.Load), refuses(problem.Unmeasured)}, (*checker).validations},
		{"phases select what there is once, in an order that can be kept",
			[]Finding{refusesOrWarns(problem.Select), refuses(problem.Order), refuses(problem.NoGate), refuses(problem.Load)}, (*checker).rollouts},
		{"a site has devices, and a device one site", []Finding{refuses(problem.Select)}, (*checker).sites},
		{"no block waits for itself", []Finding{refuses(problem.Cycle)}, (*checker).cycles},
		{"durations are such as devices take", []Finding{refuses(problem.Duration)}, (*checker).durations},
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
