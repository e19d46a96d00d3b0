package modules

import (
	"testing"

	"weft/inventory"
)

// Volumes that share a pool, and pools that share a server, are kept apart.
func TestVolumePath(t *testing.T) {
	st1 := &inventory.Server{Block: inventory.Block{Addr: `server.node["st1"]`}}
	pool := func(addr string) *inventory.Pool {
		return &inventory.Pool{Block: inventory.Block{Addr: addr}, Server: st1}
	}
	for _, c := range []struct{ pool, volume, want string }{
		{`pool.flash["st1"]`, `volume.fast["st1"]`, "/dev/weft-o-flash/fast"},
		{`pool.flash`, `volume.fast`, "/dev/weft-o-flash/fast"},
		{`pool.flash["st1"]`, `volume.fast["b"]`, "/dev/weft-o-flash/fast-b"},
		{`pool.flash["left"]`, `volume.fast["left"]`, "/dev/weft-o-flash-left/fast"},
		{`pool.flash[0]`, `volume.fast[1]`, "/dev/weft-o-flash-0/fast-1"},
		{`pool.flash["../x"]`, `volume.fast`, "/dev/weft-o-flash-.._2Fx_cf7bae56/fast"},
		{`module.m["a"].pool.flash["st1"]`, `module.m["a"].volume.fast["st1"]`, "/dev/weft-o-m_a_.flash_ec86c3f8/m_a_.fast_4b4a5c1d"},
	} {
		v := &inventory.Volume{Block: inventory.Block{Addr: c.volume}, Pool: pool(c.pool)}
		if got := VolumePath("o", v, st1); got != c.want {
			t.Errorf("%s in %s is %s, want %s", c.volume, c.pool, got, c.want)
		}
	}
}
