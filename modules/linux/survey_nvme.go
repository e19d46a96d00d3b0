package linux

import (
	"maps"
	"net"
	"slices"
	"strings"

	"weft/internal/nvme/names"
	"weft/internal/remote"
	"weft/modules/host"
)

const (
	nvmetSubsystems = "/sys/kernel/config/nvmet/subsystems/"
	nvmetPorts      = "/sys/kernel/config/nvmet/ports/"
	nvmeControllers = "/sys/class/nvme/"
)

// nvmeScript prints what the kernel exports and where, and what it is connected to:
// files as "path:content", and folders by their paths.
const nvmeScript = `t=/sys/kernel/config/nvmet; c=/sys/class/nvme
grep -sH "" $c/*/subsysnqn $c/*/transport $c/*/address $c/*/cntrltype $t/ports/*/addr_trtype $t/ports/*/addr_traddr $t/ports/*/addr_trsvcid
for d in $t/subsystems/* $t/ports/*/subsystems/*; do if [ -e "$d" ]; then echo "$d"; fi; done
exit 0`

func nvmeLook() remote.Look {
	return remote.Look{Args: []string{"sh", "-c", nvmeScript}, Root: true, Own: true}
}

// parseNVMe reads what nvmeScript printed. Lines that it does not know are left out.
func parseNVMe(text []byte) *host.NVMeFacts {
	ports, controllers := map[string]map[string]string{}, map[string]map[string]string{}
	serves := map[string][]string{} // the ports of a subsystem, by its NQN
	var nqns []string
	keep := func(in map[string]map[string]string, rest string) {
		name, rest, _ := strings.Cut(rest, "/")
		attr, value, ok := strings.Cut(rest, ":")
		if !ok {
			return
		}
		if in[name] == nil {
			in[name] = map[string]string{}
		}
		in[name][attr] = printable(value)
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if nqn, ok := strings.CutPrefix(line, nvmetSubsystems); ok {
			nqns = append(nqns, printable(nqn))
		} else if rest, ok := strings.CutPrefix(line, nvmetPorts); ok {
			if port, nqn, ok := strings.Cut(rest, "/subsystems/"); ok {
				serves[printable(nqn)] = append(serves[printable(nqn)], port)
			} else {
				keep(ports, rest)
			}
		} else if rest, ok := strings.CutPrefix(line, nvmeControllers); ok {
			keep(controllers, rest)
		}
	}
	f := &host.NVMeFacts{}
	for _, nqn := range slices.Sorted(slices.Values(nqns)) {
		x := host.NVMeExport{NQN: nqn}
		for _, name := range slices.Sorted(slices.Values(serves[nqn])) {
			p := ports[name]
			x.Ports = append(x.Ports, host.NVMePort{Transport: p["addr_trtype"], Address: net.JoinHostPort(p["addr_traddr"], p["addr_trsvcid"])})
		}
		f.Exports = append(f.Exports, x)
	}
	for _, name := range slices.Sorted(maps.Keys(controllers)) {
		c := controllers[name]
		if c["transport"] == "pcie" || c["subsysnqn"] == "" || c["subsysnqn"] == names.Discovery || c["cntrltype"] == "discovery" {
			continue // a drive, or a discovery service, which is no storage
		}
		at := map[string]string{}
		for pair := range strings.SplitSeq(c["address"], ",") {
			key, value, _ := strings.Cut(pair, "=")
			at[key] = value
		}
		address := at["traddr"] // of Fibre Channel as it is, of loop none
		if at["trsvcid"] != "" {
			address = net.JoinHostPort(address, at["trsvcid"])
		}
		f.Connections = append(f.Connections, host.NVMeConnection{NQN: c["subsysnqn"],
			NVMePort: host.NVMePort{Transport: c["transport"], Address: address}})
	}
	return f
}
