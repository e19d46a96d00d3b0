package inventory

import "testing"

func TestIsNumber(t *testing.T) {
	for host, want := range map[string]bool{
		"1": true, "10.1": true, "10.40.1": true, "0x7f": true, "0x7f.1": true, "2130706433": true, "10.40.1.256": true, "10.40.1.2.": true, "08": true, "1.2.3.4.5": true,
		"10.40.1.2": false, "fe80::1%eth0": false, "st1": false, "1st": false, "rack.7": false, "7.rack": false, "": false, "cafe": false,
	} {
		if IsNumber(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
