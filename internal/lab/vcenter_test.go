//go:build unix

package lab

import (
	"strings"
	"testing"

	"weft/internal/labctl"
	"weft/inventory"
)

// TestWithoutVCenter: a program that simulates no vCenter starts no lab with one.
func TestWithoutVCenter(t *testing.T) {
	m := model(1)
	v := &inventory.VCenter{Host: "vc.example.net"}
	v.Addr = "vcenter.dc1"
	m.VCenters = append(m.VCenters, v)
	dir := t.TempDir()
	if _, err := Start(t.Context(), m, Options{Dir: dir}); err == nil || !strings.HasPrefix(err.Error(), "vcenter.dc1: ") {
		t.Errorf("%v", err)
	}
	if s, err := labctl.Running(dir); s != nil || err != nil {
		t.Errorf("a lab is left: %+v, %v", s, err)
	}
}
