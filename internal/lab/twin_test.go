package lab

import (
	"strings"
	"testing"

	"weft/inventory"
)

// The lab refuses cables to ports that are made of others, however they are written.
func TestCablesToAggregates(t *testing.T) {
	for _, test := range []struct {
		os, port string
		refused  bool
	}{
		{"nxos", "Ethernet1/1", false}, {"nxos", "port-channel5", true}, {"nxos", "po5", true}, {"nxos", "Port-Channel 5", true},
		{"comware", "HundredGigE1/0/1", false}, {"comware", "Bridge-Aggregation5", true}, {"comware", "bagg5", true},
	} {
		sw := &inventory.Switch{Block: inventory.Block{Addr: "switch.leaf"}, Name: "leaf", Host: "leaf.example.net", OS: test.os}
		spine := &inventory.Switch{Block: inventory.Block{Addr: "switch.spine"}, Name: "spine", Host: "spine.example.net", OS: test.os}
		link := &inventory.Link{Block: inventory.Block{Addr: "link.up"}, From: inventory.LinkEnd{Switch: spine, Port: "Ethernet1/1"}, To: inventory.LinkEnd{Switch: sw, Port: test.port}}
		_, err := newTwin(&inventory.Model{Name: "o", Switches: []*inventory.Switch{sw, spine}, Links: []*inventory.Link{link}})
		if (err != nil) != test.refused || test.refused && !strings.Contains(err.Error(), "link.up: switch.leaf "+test.port+" is made of other ports") {
			t.Errorf("%s %s: %v", test.os, test.port, err)
		}
	}
}
