package language

import "testing"

func TestPortName(t *testing.T) {
	for _, test := range []struct{ os, name, want string }{
		{"nxos", "Ethernet1/11", "Ethernet1/11"},
		{"nxos", "Eth1/11", "Ethernet1/11"},
		{"nxos", "eth1/11", "Ethernet1/11"},
		{"nxos", "e1/3/1", "Ethernet1/3/1"},
		{"nxos", "ethernet 1/11", "Ethernet1/11"},
		{"nxos", "po10", "port-channel10"},
		{"nxos", "1/11", "1/11"},
		{"nxos", "Etx1/11", "Etx1/11"},
		{"nxos", "HGE1/0/11", "HGE1/0/11"},
		{"comware", "HundredGigE1/0/11", "HundredGigE1/0/11"},
		{"comware", "HGE1/0/11", "HundredGigE1/0/11"},
		{"comware", "hundredgige 1/0/11", "HundredGigE1/0/11"},
		{"comware", "XGE1/0/1", "Ten-GigabitEthernet1/0/1"},
		{"comware", "200GE1/0/4", "TwoHundredGigE1/0/4"},
		{"comware", "TwoHundredGigE1/0/33:1", "TwoHundredGigE1/0/33:1"},
		{"comware", "Eth1/11", "Eth1/11"},
		{"", "eth1/11", "eth1/11"},
	} {
		if got := portName(test.os, test.name); got != test.want {
			t.Errorf("%s %q is %q, want %q", test.os, test.name, got, test.want)
		}
	}
}

// The same port under two names is the same port.
func TestPortNamesMeet(t *testing.T) {
	if got := portName("comware", "XGE1/0/1"); got != portName("comware", "Ten-GigabitEthernet1/0/1") {
		t.Errorf("got %q", got)
	}
}
