package linux

import (
	"weft/modules/linux/nic"
	"weft/modules/linux/nvme"
	"weft/modules/linux/put"
	"weft/modules/linux/storage"
)

// atBoot are the functions that lines of boot scripts may call.
func AtBoot() []put.BootFunctions {
	return []put.BootFunctions{nvme.TargetsAtBoot(), nvme.ConnectionsAtBoot(), storage.MirrorsAtBoot(), nic.RdmaAtBoot()}
}
