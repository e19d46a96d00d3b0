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
		{`pool.flash["st1"]`, `volume.fast["st1"]`, "/var/lib/weft/o/volumes/flash/fast.img"},
		{`pool.flash`, `volume.fast`, "/var/lib/weft/o/volumes/flash/fast.img"},
		{`pool.flash["st1"]`, `volume.fast["b"]`, "/var/lib/weft/o/volumes/flash/fast-b.img"},
		{`pool.flash["left"]`, `volume.fast["left"]`, "/var/lib/weft/o/volumes/flash-left/fast.img"},
		{`pool.flash[0]`, `volume.fast[1]`, "/var/lib/weft/o/volumes/flash-0/fast-1.img"},
		{`pool.flash["../x"]`, `volume.fast`, "/var/lib/weft/o/volumes/flash-..%2Fx/fast.img"},
		{`module.m["a"].pool.flash["st1"]`, `module.m["a"].volume.fast["st1"]`, "/var/lib/weft/o/volumes/m[a].flash/m[a].fast.img"},
	} {
		v := &inventory.Volume{Block: inventory.Block{Addr: c.volume}, Pool: pool(c.pool)}
		if got := VolumePath("o", v); got != c.want {
			t.Errorf("%s in %s is %s, want %s", c.volume, c.pool, got, c.want)
		}
	}
}
