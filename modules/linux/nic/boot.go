package nic

import (
	"strings"

	"weft/internal/remote"
	"weft/modules/linux/put"
)

// onNIC writes the command of a boot script that sets something of a NIC port.
func onNIC(pci string, before, after []string) string {
	line := "do_ " + remote.Quote(before...) + ` "$(nic ` + remote.Quote(pci) + `)"`
	if len(after) > 0 {
		line += " " + remote.Quote(after...)
	}
	return line
}

// anyNIC stands for an interface in steps that become lines of a boot script.
const anyNIC = "weft-nic"

func dcbLines(pci string, steps []remote.Step) []string {
	var lines []string
	for _, s := range steps {
		lines = append(lines, "do_ "+strings.Replace(remote.Quote(s.Args...), anyNIC, `"$(nic `+remote.Quote(pci)+`)"`, 1))
	}
	return lines
}

// rdmaAtBoot is what finds RDMA devices at boot.
func RdmaAtBoot() put.BootFunctions {
	return put.BootFunctions{Called: func(line string) bool { return strings.Contains(line, "$(rdma_of ") }, Text: bootRDMA}
}

// bootRDMA is for scripts that need it.
const bootRDMA = `# rdma_of prints the RDMA device of a network interface, which it waits for.
rdma_of() {
	left=30
	while :; do
		found=$(rdma link show | while read -r what port rest; do
			case " $rest " in *" netdev $1 "*) echo "${port%/*}" ;; esac
		done | head -n 1)
		if [ -n "$found" ]; then echo "$found"; return 0; fi
		left=$((left - 1))
		if [ $left -le 0 ]; then echo "$1 has no RDMA device" >&2; return 1; fi
		sleep 1
	done
}

`
