//go:build unix

package lab

import (
	"strings"
	"testing"

	"weft/internal/labctl"
	"weft/inventory"
)

// TestWithoutVCenter starts a lab where the program that simulates vCenter does not lie beside
// its own, as that of tests: its state says so, which lab up shows.
func TestWithoutVCenter(t *testing.T) {
	m := model(1)
	v := &inventory.VCenter{Host: "vc.example.net"}
	v.Addr = "vcenter.dc1"
	m.VCenters = append(m.VCenters, v)
	dir := t.TempDir()
	start(t, m, dir)
	s, err := labctl.Running(dir)
	if err != nil || s == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	if len(s.Without) != 1 || !strings.HasPrefix(s.Without[0], "vcenter.dc1 is not simulated: ") || !strings.Contains(s.Without[0], VCenterProgram+" is not there (make labvcenter)") {
		t.Errorf("%q", s.Without)
	}
}
