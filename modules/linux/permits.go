package linux

import (
	"slices"

	"weft/internal/remote"
	"weft/modules/linux/nic"
	"weft/modules/linux/nvme"
	"weft/modules/linux/storage"
	"weft/modules/linux/system"
)

// Permits are the looks that only root has, of those that weft plan, facts, drift, discover
// and doctor take: what a reader does for a login that may read only. Keys are not among
// them, nor the content of any file, nor a command of the files.
func Permits() []remote.Permit {
	own := []remote.Permit{
		{What: "the machine and its NICs", Look: factsLook(true, nil), Each: "nics|all|every|*:??:??.?"},
		{What: "how the machine is", Look: healthLook()},
		{What: "NVMe: what is exported, connected and built on it", Look: nvmeLook()},
		{What: "whom its ports hear", Look: heardLook()},
		{What: "the switches of InfiniBand that its ports are plugged into", Look: subnetLook()},
		{What: "reverts that are armed", Look: timer{}.Look()},
	}
	return slices.Concat(own, keepsakes().Permits(), nic.Permits(), nvme.Permits(), storage.Permits(), system.Permits())
}
