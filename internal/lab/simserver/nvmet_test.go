//go:build unix

package simserver

import (
	"net/netip"
	"strings"
	"testing"
	"time"
)

// refusals is a list of lines, each with what the server complains of; "": it
// takes it.
type refusals []struct{ line, complaint string }

func (list refusals) check(t *testing.T, s *Server) {
	t.Helper()
	for _, c := range list {
		got := local(t, s, "root", c.line)
		if c.complaint == "" && (got.status != 0 || got.err != "") {
			t.Errorf("%s: %+v", c.line, got)
		}
		if c.complaint != "" && (got.status == 0 || !strings.Contains(got.err, c.complaint)) {
			t.Errorf("%s: %+v, want %s", c.line, got, c.complaint)
		}
	}
}

// The kernel's target takes what it is made of in one order only, and lets go
// of it in another: each of these was tried on Linux 6.12.
func TestNVMeT(t *testing.T) {
	sp := spec(t, "s")
	sp.Interfaces[1].Address = netip.MustParsePrefix("10.9.0.1/24")
	sp.Interfaces[2].NoRDMA, sp.Interfaces[2].Address = true, netip.MustParsePrefix("10.9.1.1/24")
	s := server(t, network(t), sp)
	const dir = "cd /sys/kernel/config/nvmet && "
	put := func(file, value string) string {
		return dir + "printf %s '" + value + "' | tee " + file + " >/dev/null"
	}
	ns, port := "subsystems/a/namespaces/1/", "ports/7/"
	refusals{
		{"mkdir /sys/kernel/config/nvmet/subsystems/a", "No such file or directory"},
		{"modprobe nvmet", ""},
		{dir + "mkdir subsystems/a", ""},
		{dir + "mkdir subsystems/a", "File exists"},
		{put("subsystems/a/attr_serial", "123456789012345678901"), "attr_serial: Invalid argument"},
		{put("subsystems/a/attr_serial", "WEFT1"), ""},
		{dir + `test "$(cat subsystems/a/attr_serial)" = "WEFT1               "`, ""},
		{dir + "mkdir subsystems/a/namespaces/0", "Invalid argument"},
		{dir + "mkdir subsystems/a/namespaces/1", ""},
		{dir + `test "$(cat ` + ns + `device_path)" = "(null)"`, ""},
		{put(ns+"enable", "1"), "enable: Invalid argument"},
		{put(ns+"device_path", "/dev/nothing"), ""},
		{put(ns+"enable", "1"), "enable: No such file or directory"},
		{put(ns+"device_path", "/dev/disk/by-id/nvme-eui.01"), ""},
		{put(ns+"device_uuid", "6ba7b8109dad11d180b400c04fd430c8"), "device_uuid: Invalid argument"},
		{put(ns+"device_uuid", "6BA7B810-9dad-11d1-80b4-00c04fd430c8"), ""},
		{put(ns+"device_nguid", "6ba7b8109dad11d180b400c04fd430c8"), ""},
		{dir + `test "$(cat ` + ns + `device_uuid)" = "$(cat ` + ns + `device_nguid)"`, ""},
		{put(ns+"ana_grpid", "129"), "ana_grpid: Invalid argument"},
		{put(ns+"revalidate_size", "1"), "revalidate_size: Invalid argument"},
		{put(ns+"enable", "1"), ""},
		{put(ns+"device_path", "/dev/x"), "device_path: Device or resource busy"},
		{put(ns+"device_uuid", "6ba7b810-9dad-11d1-80b4-00c04fd430c8"), "device_uuid: Device or resource busy"},
		{put(ns+"resv_enable", "1"), "resv_enable: Permission denied"},

		{dir + "mkdir hosts/h", ""},
		{put("hosts/h/dhchap_key", "bad"), "dhchap_key: Invalid argument"},
		{put("subsystems/a/attr_allow_any_host", "1"), ""},
		{dir + "ln -s /sys/kernel/config/nvmet/hosts/h subsystems/a/allowed_hosts/h", "Invalid argument"},
		{put("subsystems/a/attr_allow_any_host", "0"), ""},
		{dir + "ln -s /sys/kernel/config/nvmet/hosts/h subsystems/a/allowed_hosts/h", ""},
		{put("subsystems/a/attr_allow_any_host", "1"), "attr_allow_any_host: Invalid argument"},
		{dir + "rmdir hosts/h", "Device or resource busy"},

		{dir + "mkdir ports/70000", "Invalid argument"},
		{dir + "mkdir ports/7", ""},
		{dir + "ln -s /sys/kernel/config/nvmet/subsystems/a ports/7/subsystems/a", "Invalid argument"},
		{put(port+"addr_trtype", "tcp"), ""},
		{put(port+"addr_adrfam", "ipv4"), ""},
		{put(port+"addr_traddr", "10.9.0.99"), ""},
		{put(port+"addr_trsvcid", "4420"), ""},
		{dir + "ln -s /sys/kernel/config/nvmet/subsystems/a ports/7/subsystems/a", "Invalid argument"}, // no nvmet-tcp
		{"modprobe nvmet-tcp && modprobe nvmet-rdma", ""},
		{dir + "ln -s /sys/kernel/config/nvmet/subsystems/a ports/7/subsystems/a", "Cannot assign requested address"},
		{put(port+"addr_traddr", "10.9.0.1"), ""},
		{dir + "mkdir ports/7/ana_groups/2", ""},
		{dir + `test "$(cat ports/7/ana_groups/2/ana_state)" = inaccessible`, ""},
		{dir + "rmdir ports/7/ana_groups/1", "Operation not permitted"},
		{dir + "ln -s /sys/kernel/config/nvmet/subsystems/a ports/7/subsystems/a", ""},
		{put(port+"addr_traddr", "10.9.0.1"), "addr_traddr: Permission denied"},
		{put("ports/7/ana_groups/2/ana_state", "optimized"), ""},
		{dir + "mkdir ports/8 && for v in trtype=tcp adrfam=ipv4 traddr=10.9.0.1 trsvcid=4420; do echo ${v#*=} >ports/8/addr_${v%=*}; done", ""},
		{dir + "ln -s /sys/kernel/config/nvmet/subsystems/a ports/8/subsystems/a", "Address already in use"},
		{put("ports/8/addr_trtype", "rdma"), ""},
		{dir + "ln -s /sys/kernel/config/nvmet/subsystems/a ports/8/subsystems/a", ""},
		{dir + "rm ports/8/subsystems/a && echo 10.9.1.1 >ports/8/addr_traddr", ""},
		{dir + "ln -s /sys/kernel/config/nvmet/subsystems/a ports/8/subsystems/a", "No such device"},

		{dir + "rmdir subsystems/a", "Device or resource busy"},
		{dir + "rmdir ports/7", "Directory not empty"},
		{"modprobe -r nvmet", "in use"},
		{dir + "rm ports/7/subsystems/a", ""},
		{dir + "rmdir ports/7", "Directory not empty"},
		{dir + "rmdir ports/7/ana_groups/2 && rmdir ports/7 ports/8", ""},
		{dir + "rmdir subsystems/a", "Directory not empty"},
		{dir + "rmdir subsystems/a/namespaces/1", ""},
		{dir + "rm subsystems/a/allowed_hosts/h && rmdir subsystems/a && rmdir hosts/h", ""},
		{"modprobe -r nvmet_tcp && modprobe -r nvmet_rdma && modprobe -r nvmet", ""},
	}.check(t, s)
	if got := local(t, s, "weft", "mkdir /sys/kernel/config/nvmet/hosts/x"); got.status == 0 {
		t.Errorf("anybody may change the target: %+v", got)
	}
}

// The kernel's target and weft-target cannot listen at one address with TCP, whichever
// comes first; with RDMA ports count apart.
func TestEnginesShareNoAddress(t *testing.T) {
	s := spec(t, "st1")
	s.Portals = []netip.AddrPort{netip.MustParseAddrPort("10.9.0.1:4420")}
	s.Interfaces[1].Address = netip.MustParsePrefix("10.9.0.1/24")
	srv := server(t, network(t), s)
	upload(t, srv, "weft-target")
	if err := srv.rootView().WriteFile("/etc/systemd/system/weft-target.service", []byte(unitText), 0o644); err != nil {
		t.Fatal(err)
	}
	const dir = "cd /sys/kernel/config/nvmet && "
	port := func(number, transport string) string {
		return dir + "mkdir ports/" + number + " && for v in trtype=" + transport + " adrfam=ipv4 traddr=10.9.0.1 trsvcid=4420; do echo ${v#*=} >ports/" + number + "/addr_${v%=*}; done"
	}
	link := func(number string) string {
		return dir + "ln -s /sys/kernel/config/nvmet/subsystems/a ports/" + number + "/subsystems/a"
	}
	refusals{
		{"modprobe nvmet-tcp && modprobe nvmet-rdma", ""},
		{dir + "mkdir subsystems/a", ""},
		{port("1", "tcp"), ""},
		{port("2", "rdma"), ""},
		{"systemctl start weft-target", ""},
		{link("1"), "Address already in use"},
		{link("2"), ""},
		{"systemctl stop weft-target", ""},
		{link("1"), ""},
		{"systemctl start weft-target", "Job for weft-target.service failed"},
		{"mkdir -p /etc/weft && echo \"address = '10.9.0.1:4420'\" >/etc/weft/target.toml && /usr/local/lib/weft/weft-target reload", "10.9.0.1:4420: bind: address already in use"},
		{dir + "rm ports/1/subsystems/a", ""},
		{"systemctl start weft-target && /usr/local/lib/weft/weft-target reload", ""},
		{link("1"), "Address already in use"},
	}.check(t, srv)
}

// A host connects to what is there and admits it, once, and sees the disks.
func TestNVMeConnects(t *testing.T) {
	n := network(t)
	a, b := spec(t, "a"), spec(t, "b")
	a.Interfaces[1].Address = netip.MustParsePrefix("10.9.0.1/24")
	b.Interfaces[1].Address = netip.MustParsePrefix("10.9.0.2/24")
	target, host := server(t, n, a), server(t, n, b)
	refusals{
		{"modprobe nvmet-tcp && cd /sys/kernel/config/nvmet && mkdir hosts/h1 subsystems/s subsystems/s/namespaces/1 ports/1", ""},
		{"cd /sys/kernel/config/nvmet && echo /dev/disk/by-id/nvme-eui.01 >subsystems/s/namespaces/1/device_path && echo 1 >subsystems/s/namespaces/1/enable", ""},
		{"cd /sys/kernel/config/nvmet && for v in trtype=tcp adrfam=ipv4 traddr=10.9.0.1 trsvcid=4420; do echo ${v#*=} >ports/1/addr_${v%=*}; done", ""},
		{"cd /sys/kernel/config/nvmet && ln -s /sys/kernel/config/nvmet/hosts/h1 subsystems/s/allowed_hosts/h1", ""},
	}.check(t, target)
	connect := func(options string) string {
		return "printf %s '" + options + "' | tee /dev/nvme-fabrics >/dev/null"
	}
	const ok = "transport=tcp,traddr=10.9.0.1,nqn=s,hostnqn=h1,hostid=1,host_traddr=10.9.0.2"
	refusals{
		{"modprobe nvme-tcp", ""},
		{connect(ok), "Connection refused"},
		{connect(ok + ",bogus=1"), "Invalid argument"},
		{connect("transport=rdma,traddr=10.9.0.1,nqn=s"), "Invalid argument"},
		{connect("transport=tcp,traddr=10.9.0.77,nqn=s"), "onnection timed out"},
		{connect("transport=tcp,traddr=10.77.0.1,nqn=s"), "etwork is unreachable"},
	}.check(t, host)
	refusals{{"cd /sys/kernel/config/nvmet && ln -s /sys/kernel/config/nvmet/subsystems/s ports/1/subsystems/s", ""}}.check(t, target)
	refusals{
		{connect("transport=tcp,traddr=10.9.0.1,nqn=s,hostnqn=h2,hostid=2"), "nput/output error"},
		{connect(ok), ""},
		{connect(ok), "peration already in progress"},
		{connect("transport=tcp,traddr=10.9.0.1,nqn=s,hostnqn=h3,hostid=1"), "Invalid argument"},
		{`test "$(cat /sys/class/nvme/nvme0/state)" = live`, ""},
		{"test -b /dev/nvme0n1", ""},
		{`test "$(cat /sys/class/nvme/nvme0/nvme0c0n1/ana_state /sys/class/nvme/nvme0/cntrltype)" = "$(printf 'optimized\nio')"`, ""},
		{"echo bogus | tee /sys/class/nvme-subsystem/nvme-subsys0/iopolicy >/dev/null", "Invalid argument"},
	}.check(t, host)
	// change changes the target, and waits until hosts ask it again.
	change := func(line string) {
		refusals{{line, ""}}.check(t, target)
		time.Sleep(2 * askEvery)
	}
	change("cd /sys/kernel/config/nvmet && echo inaccessible >ports/1/ana_groups/1/ana_state")
	refusals{
		{`test "$(cat /sys/class/nvme/nvme0/nvme0c0n1/ana_state)" = inaccessible && test -b /dev/nvme0n1`, ""},
		{"echo 1 >/sys/class/nvme/nvme0/delete_controller", ""},
		{connect(ok), ""},
		{`test "$(cat /sys/class/nvme/nvme0/nvme0c0n1/ana_state)" = inaccessible && ! test -e /dev/nvme0n1`, ""},
	}.check(t, host)
	change("cd /sys/kernel/config/nvmet && echo 0 >subsystems/s/namespaces/1/enable && echo optimized >ports/1/ana_groups/1/ana_state")
	refusals{{"! test -e /sys/class/nvme/nvme0/nvme0c0n1", ""}}.check(t, host)
	change("cd /sys/kernel/config/nvmet && echo 1 >subsystems/s/namespaces/1/enable")
	refusals{{"test -b /dev/nvme0n1", ""}}.check(t, host)
	refusals{
		{"printf x | tee /sys/kernel/config/nvmet/subsystems/s/attr_serial >/dev/null", "attr_serial: Invalid argument"},
		{"rm /sys/kernel/config/nvmet/ports/1/subsystems/s", ""},
	}.check(t, target)
	refusals{
		{`test "$(cat /sys/class/nvme/nvme0/state)" = connecting`, ""},
		{"echo 1 >/sys/class/nvme/nvme0/delete_controller && ! test -e /dev/nvme0n1", ""},
	}.check(t, host)
}

// Drives are taken whole and given back; what is exported is in use.
func TestVolumes(t *testing.T) {
	s := server(t, network(t), spec(t, "s"))
	const drive = "/dev/disk/by-id/nvme-eui.01"
	refusals{
		{"vgcreate --physicalextentsize 4m --addtag weft-o g /dev/disk/by-id/none", "No device found"},
		{"cmp -s -n 1048576 -i 0:0 " + drive + " /dev/zero", ""},
		{"vgcreate --physicalextentsize 4m --addtag weft-o g " + drive, ""},
		{"vgcreate --physicalextentsize 4m --addtag weft-o h " + drive, "already in volume group"},
		{"lvcreate --yes --wipesignatures y --zero y --addtag weft-o --size 2199023255552b --name v g", "insufficient free space"},
		{"lvcreate --yes --wipesignatures y --zero y --addtag weft-o --size 1073741825b --name v g", ""},
		{`test -b /dev/g/v && test "$(stat -c %s /dev/g/v)" = 1077936128`, ""},
		{"lvextend --size 1073741824b g/v", "not larger"},
		{"vgremove g", "containing 1 logical volumes"},
		{"modprobe nvmet && cd /sys/kernel/config/nvmet && mkdir subsystems/a subsystems/a/namespaces/1 && echo /dev/g/v >subsystems/a/namespaces/1/device_path && echo 1 >subsystems/a/namespaces/1/enable", ""},
		{"lvremove --yes g/v", "in use"},
		{"echo 0 >/sys/kernel/config/nvmet/subsystems/a/namespaces/1/enable && lvremove --yes g/v", ""},
		{"pvremove " + drive, "used by VG g"},
		{"vgremove g && pvremove " + drive, ""},
		{"dd if=/dev/zero of=" + drive + " bs=1M count=1 conv=notrunc,fsync && cmp -s -n 1048576 -i 0:0 " + drive + " /dev/zero", ""},
	}.check(t, s)
}
