package modules

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/google/uuid"

	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/storage"
	"weft/plan"
)

// reached is a subsystem as one initiator connects to it.
type reached struct {
	initiator *inventory.Initiator
	subsystem *inventory.Subsystem
}

// mirrorFastFail is how long I/O to half of a mirror waits once no path leads to
// it any more, seconds: the other half is there.
const mirrorFastFail = 5

// mirrors reports whether a subsystem exports half of a mirror over two servers.
func mirrors(sub *inventory.Subsystem) bool {
	return slices.ContainsFunc(sub.Namespaces, func(ns *inventory.Namespace) bool { return ns.From != nil && ns.From.Across() })
}

// mirrors expands, for each kernel that connects to both halves of a volume, the
// array over them. Rules have seen to it that no other does.
func (x *expansion) mirrors() {
	for _, i := range x.model.Initiators {
		d, ok := x.machine(i.Server)
		if i.Engine != "kernel" || !ok {
			continue
		}
		for _, v := range x.model.Volumes {
			if v.Across() {
				x.mirror(d, i, v)
			}
		}
	}
}

func (x *expansion) mirror(d *host.Machine, i *inventory.Initiator, v *inventory.Volume) {
	want := &storage.Mirror{Name: mdName("weft-" + x.model.Name + "-" + inventory.NameOnDevice(v.Origin(), "")), UUID: mdUUID(x.model.Name, v.Origin()),
		Heals: true, Later: installs(i.Server, "mdadm")}
	needs := x.packages(i.Server)
	for _, p := range []*inventory.Pool{v.Pool, v.Mirror[0]} {
		for _, t := range x.model.Targets {
			if t.Server != p.Server {
				continue
			}
			for _, sub := range t.Subsystems {
				for _, ns := range sub.Namespaces {
					ids := x.paths[reached{i, sub}]
					if ns.From == v && len(ids) > 0 {
						want.Halves = append(want.Halves, storage.MirrorHalf{Disk: "nvme-uuid." + strings.ToLower(ns.UUID), What: v.Addr + " on " + p.Server.Addr})
						needs = append(needs, ids...)
					}
				}
			}
		}
	}
	if len(want.Halves) == 2 {
		id := x.thing(plan.ID{Device: d.Address(), Kind: "mirror", Name: inventory.NameOnDevice(v.Origin(), i.Server.Origin())}, storage.MirrorKind().Want(d, want), v.At("mirror"), needs...)
		x.stand(&i.Block, id)
	}
}

// mdName makes a name that md keeps: 32 bytes with the "any:" before it, which
// says that it is the array of whatever host sees it.
func mdName(name string) string {
	clean := storage.NotLVM.ReplaceAllString(name, "_")
	if clean == name && len(name) <= 27 {
		return name
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // never fails
	return fmt.Sprintf("%.18s_%08x", clean, h.Sum32())
}

// mdUUID is the UUID of an array, which follows from whose it is and of what: so
// it is known again.
func mdUUID(owner, volume string) string {
	id := strings.ReplaceAll(uuid.NewSHA1(uuid.NameSpaceURL, []byte("weft-mirror/"+owner+"/"+volume)).String(), "-", "")
	return strings.Join([]string{id[:8], id[8:16], id[16:24], id[24:]}, ":")
}
