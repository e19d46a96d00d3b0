package nxos

import (
	"strings"

	"weft/switches"
)

const showStations = "show mac address-table"

// stationsHead stands above a table, also an empty one.
const stationsHead = `(?im)^\s*VLAN\S*\s+MAC Address\s+Type\b`

// parseStations reads the lines of addresses that were learned:
//
//	   VLAN     MAC Address      Type      age     Secure NTFY   Ports
//	* 217      a016.2131.1e31    dynamic   3590       F    F  Eth1/11
//
// Those that a vPC peer has learned begin with a plus.
func parseStations(text string) (list []switches.Station) {
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 4 || w[0] != "*" || w[3] != "dynamic" {
			continue
		}
		mac := switches.PlainMAC(w[2])
		number, ok := strings.CutPrefix(w[len(w)-1], "Eth")
		if mac == "" || !ok || number == "" || number[0] < '0' || number[0] > '9' {
			continue
		}
		list = append(list, switches.Station{Port: "Ethernet" + number, MAC: mac})
	}
	return list
}
