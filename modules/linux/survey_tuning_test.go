package linux

import (
	"reflect"
	"testing"

	"weft/modules/host"
)

// What others keep in the kernel is told, the last file of it; of its command line only
// what has to do with speed, and nothing that weft keeps.
func TestTuning(t *testing.T) {
	const text = `/proc/cmdline:BOOT_IMAGE=/vmlinuz root=/dev/vda1 ro iommu=pt rd.iscsi.password=secret nvme_core.multipath=Y quiet
/etc/sysctl.d/10-net.conf:net.core.rmem_max = 16777216
/etc/sysctl.d/10-net.conf:-net.ipv4.tcp_rmem=4096   87380	16777216
/etc/sysctl.d/99-weft-vm.swappiness.conf:vm.swappiness=10
/etc/sysctl.d/odd.conf:no value
/etc/sysctl.conf:net.core.rmem_max=33554432
?/etc/sysctl.d/70-secret.conf
`
	want := &host.Tuning{Unread: []string{"/etc/sysctl.d/70-secret.conf"}, KernelLine: []string{"iommu=pt", "nvme_core.multipath=Y"}, Sysctls: []host.Sysctl{
		{Key: "net.core.rmem_max", Value: "33554432", File: "/etc/sysctl.conf"},
		{Key: "net.ipv4.tcp_rmem", Value: "4096 87380 16777216", File: "/etc/sysctl.d/10-net.conf"},
	}}
	if got := parseTuning([]byte(text)); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, wanted %+v", got, want)
	}
}
