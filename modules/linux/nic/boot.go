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
const bootRDMA = `# rdma_of prints the RDMA device of a network interface, or of its bond, which it waits for.
rdma_of() {
	left=30
	while :; do
		bond=$(readlink "/sys/class/net/$1/master") || bond=
		found=$(rdma link show | while read -r what port rest; do
			case " $rest " in
			*" netdev $1 "*) echo "0 ${port%/*}" ;;
			*" netdev ${bond##*/} "*) echo "1 ${port%/*}" ;;
			esac
		done | sort | head -n 1)
		found=${found#* }
		if [ -z "$found" ] && [ -n "$bond" ]; then # one of the bond, at the first port of the card
			card=$(readlink -f "/sys/class/net/$1/device")
			for r in "${card%.*}.0/infiniband/"*; do if [ -e "$r" ]; then found=${r##*/}; fi; done
		fi
		if [ -n "$found" ]; then echo "$found"; return 0; fi
		left=$((left - 1))
		if [ $left -le 0 ]; then echo "$1 has no RDMA device" >&2; return 1; fi
		sleep 1
	done
}

`
