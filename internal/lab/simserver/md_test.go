//go:build unix

package simserver

import (
	"net/netip"
	"strings"
	"testing"
)

func TestMirrors(t *testing.T) {
	n := network(t)
	a, b := spec(t, "a"), spec(t, "b")
	a.Interfaces[1].Address = netip.MustParsePrefix("10.9.0.1/24")
	b.Interfaces[1].Address = netip.MustParsePrefix("10.9.0.2/24")
	target, host := server(t, n, a), server(t, n, b)
	const one, two = "/dev/disk/by-id/nvme-uuid.aaaaaaaa-0000-5000-8000-000000000001", "/dev/disk/by-id/nvme-uuid.aaaaaaaa-0000-5000-8000-000000000002"
	export := `modprobe nvmet-tcp; vgcreate --physicalextentsize 4m --addtag weft g /dev/disk/by-id/nvme-eui.01; cd /sys/kernel/config/nvmet; mkdir ports/1; ` +
		`for v in trtype=tcp adrfam=ipv4 traddr=10.9.0.1 trsvcid=4420; do echo ${v#*=} >ports/1/addr_${v%=*}; done; ` +
		`for i in 1 2; do lvcreate --yes --wipesignatures y --zero y --addtag weft --size 268435456b --name v$i g; mkdir subsystems/s$i subsystems/s$i/namespaces/1; ` +
		`cd subsystems/s$i/namespaces/1; echo /dev/g/v$i >device_path; echo aaaaaaaa-0000-5000-8000-00000000000$i >device_uuid; echo 1 >enable; cd ../../../..; ` +
		`echo 1 >subsystems/s$i/attr_allow_any_host; ln -s /sys/kernel/config/nvmet/subsystems/s$i ports/1/subsystems/s$i; done`
	if got := local(t, target, "root", export); got.status != 0 {
		t.Fatalf("%+v", got)
	}
	connect := `modprobe nvme-tcp; for i in 1 2; do printf %s "transport=tcp,traddr=10.9.0.1,trsvcid=4420,nqn=s$i,hostnqn=h,hostid=11111111-2222-3333-4444-555555555555" | tee /dev/nvme-fabrics >/dev/null; done`
	const create = "mdadm --create /dev/md/m --level=1 --raid-devices=2 --metadata=1.2 --bitmap=internal --homehost=any --name=m --uuid=1:2:3:4 "
	refusals{
		{"mdadm --examine --export " + one, "No md superblock"},
		{connect, ""},
		{"test -b " + one + " && test -b $(readlink -f " + two + ")", ""},
		{"cmp -s -n 1048576 -i 0:0 $(readlink -f " + one + ") /dev/zero", ""},
		{`n=$(readlink -f ` + one + `); for c in /sys/block/${n##*/}/device/nvme*/state; do read -r v <"$c"; test "$v" = live && exit; done; exit 1`, ""},
		{create + "--assume-clean " + one + " " + two, "not simulated"},
		{create + one + " /dev/nothing", "No such file"},
		{create + one + " " + two + " 2>/dev/null", ""},
		{create + one + " " + two, "part of a raid array"},
		{"case $(mdadm --examine --export " + two + ") in *MD_UUID=1:2:3:4*) ;; *) exit 1;; esac", ""},
		{"case $(mdadm --detail --export /dev/md127) in *MD_DEVNAME=m*) ;; *) exit 1;; esac", ""},
		{"test -e /sys/block/nvme0n1/holders/md127 && test -b /dev/md/m", ""},
		{"test $(cat /sys/block/md127/md/component_size) = 261120", ""},
		{"mount /dev/md127 /mnt", ""},
		{"mdadm --stop /dev/md/m", "Cannot get exclusive access"},
		{"umount /mnt && mdadm --stop /dev/md/m 2>/dev/null && ! test -e /dev/md127", ""},
		{"mdadm --stop /dev/md/m", "No such file"},
		{"mdadm --assemble /dev/md/m --uuid=1:2:3:4 --run " + one + " " + two + " 2>/dev/null", ""},
		{"mdadm /dev/md/m --remove " + one, "not simulated"},
	}.check(t, host)
	host.boot()
	if got := local(t, host, "root", "ls /sys/block; "+connect+"; cat /sys/block/md127/md/array_state"); !strings.Contains(got.out, "clean") || strings.Contains(got.out, "md127") {
		t.Errorf("after a restart: %+v", got)
	}
}
