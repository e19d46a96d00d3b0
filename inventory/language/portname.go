package language

import (
	"regexp"
	"strings"
)

// Names of ports are the kind and the number: "Eth1/11", "XGE 1/0/11".
var portParts = regexp.MustCompile(`^([A-Za-z-]+|\d+GE|\d+GigE) ?(\d[\d/:.]*)$`)

// portName writes the name of a port as the switch does in its configuration:
// people write it as its short lists do, or as they type it. A name that is
// none of those stays as it is: the device knows better.
func portName(os, name string) string {
	m := portParts.FindStringSubmatch(strings.TrimSpace(name))
	if m == nil {
		return name
	}
	kind := strings.ToLower(m[1])
	switch os {
	case "nxos":
		switch {
		case strings.HasPrefix("ethernet", kind): // any beginning, as the switch takes it
			return "Ethernet" + m[2]
		case kind == "po" || kind == "port-channel":
			return "port-channel" + m[2]
		}
	case "comware":
		for short, long := range comwareKinds() {
			if strings.EqualFold(kind, short) || strings.EqualFold(kind, long) {
				return long + m[2]
			}
		}
	}
	return name
}

// comwareKinds are the kinds of ports by the short name that lists have.
func comwareKinds() map[string]string {
	return map[string]string{
		"GE": "GigabitEthernet", "XGE": "Ten-GigabitEthernet", "FGE": "FortyGigE", "WGE": "Twenty-FiveGigE",
		"HGE": "HundredGigE", "200GE": "TwoHundredGigE", "400GE": "FourHundredGigE",
	}
}
