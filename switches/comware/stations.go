package comware

import (
	"strings"

	"weft/switches"
)

const showStations = "display mac-address"

// stationsHead stands above a table, also an empty one.
const stationsHead = `(?im)^\s*MAC Addr(ess)?\s+VLAN ID\s+State\b`

// parseStations reads the lines of addresses that were learned, on ports whose names are
// short or long:
//
//	MAC ADDR       VLAN ID  STATE          PORT INDEX               AGING TIME(s)
//	aaaa-bbbb-cccc 10       Learned        GigabitEthernet1/0/41    AGING
func parseStations(text string) (list []switches.Station) {
	for line := range strings.Lines(text) {
		w := strings.Fields(line)
		if len(w) < 4 || !strings.EqualFold(w[2], "learned") {
			continue
		}
		if mac, port := switches.PlainMAC(w[0]), fullName(w[3]); mac != "" && port != "" {
			list = append(list, switches.Station{Port: port, MAC: mac})
		}
	}
	return list
}

// fullName is the name of a port that a display may cut short: HGE1/0/11; "": it is none
// of a single port.
func fullName(port string) string {
	at := strings.IndexAny(port, "0123456789")
	if strings.HasPrefix(port, "200GE") || strings.HasPrefix(port, "400GE") {
		at = len("200GE")
	}
	if at < 0 {
		return ""
	}
	kind, number := port[:at], port[at:]
	for _, k := range [][2]string{
		{"GE", "GigabitEthernet"}, {"XGE", "Ten-GigabitEthernet"}, {"WGE", "Twenty-FiveGigE"}, {"FGE", "FortyGigE"},
		{"HGE", "HundredGigE"}, {"200GE", "TwoHundredGigE"}, {"400GE", "FourHundredGigE"},
	} {
		if kind == k[0] || kind == k[1] {
			return k[1] + number
		}
	}
	return ""
}
