package agent

import "testing"

func TestPlaces(t *testing.T) {
	m, err := ParseMap("10.40.1.11:4420=127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	six, err := ParseMap("[fd00::1]:4420=[::1]:7")
	if err != nil {
		t.Fatal(err)
	}
	lab := Places{Root: ".", Maps: Maps{m, six}}
	if got := lab.Path(SocketPath); got != "run/weft/target.sock" {
		t.Errorf("socket at %s", got)
	}
	for _, name := range []string{"/../etc/weft/x", "/a/../../../etc/weft/x", "../etc/weft/x"} {
		if got := lab.Path(name); got != "etc/weft/x" {
			t.Errorf("%s is outside of the root: %s", name, got)
		}
	}
	if got := (Places{}).Path(SocketPath); got != SocketPath {
		t.Errorf("socket at %s", got)
	}
	for logical, want := range map[string]string{"10.40.1.11:4420": "127.0.0.1:0", "[fd00:0::1]:4420": "[::1]:7", "10.40.1.12:4420": "", "10.40.1.11:8009": "", "st1:4420": ""} {
		got, err := lab.Address(logical)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s is at %q, want %q (%v)", logical, got, want, err)
		}
	}
	if got, err := (Places{}).Address("10.40.1.12:4420"); err != nil || got != "10.40.1.12:4420" {
		t.Errorf("without maps: %q %v", got, err)
	}
	var flag Maps
	for _, s := range []string{"10.40.1.11:4420=127.0.0.1:0", "[fd00::1]:4420=[::1]:7"} {
		if err := flag.Set(s); err != nil {
			t.Error(err)
		}
	}
	if flag.String() != lab.Maps.String() || flag.Set("x") == nil || len(flag) != 2 {
		t.Errorf("maps are %s", &flag)
	}
	if err := flag.Set("10.40.1.11:4420=127.0.0.1:0"); err != nil {
		t.Errorf("the same map twice: %v", err)
	}
	if err := flag.Set("10.40.1.11:4420=127.0.0.1:7"); err == nil {
		t.Error("one address is at two places")
	}
	for _, s := range []string{"", "10.40.1.11:4420", "10.40.1.11=127.0.0.1:0", "10.40.1.11:4420=localhost:0", "a=b=c"} {
		if _, err := ParseMap(s); err == nil {
			t.Errorf("%q is a map", s)
		}
	}
}
