//go:build unix

package simserver

import "testing"

func TestKernelModules(t *testing.T) {
	s := server(t, network(t), spec(t, "s"))
	where := `if test -e /sys/module/$m/initstate; then echo loaded; elif test -d /sys/module/$m || grep -qs "/$m[.]ko" "/lib/modules/$(uname -r)/modules.builtin"; then echo built in; fi`
	for _, c := range []struct {
		line string
		want result
	}{
		{"modprobe nvmet-tcp && modprobe nvmet; lsmod", result{"Module                  Size  Used by\n" +
			"ib_core                16384  0\nmlx5_ib                16384  0\n" +
			"nvmet                  16384  1 nvmet_tcp\nnvmet_tcp              16384  0\nrdma_cm                16384  0\n", "", 0}},
		{"modprobe -r nvmet", result{"", "modprobe: FATAL: Module nvmet is in use.\n", 1}},
		{"rmmod nvmet", result{"", "rmmod: ERROR: Module nvmet is in use by: nvmet_tcp\n", 1}},
		{"rmmod nvmet-tcp && modprobe -r nvmet; rmmod nvmet", result{"", "rmmod: ERROR: Module nvmet is not currently loaded\n", 1}},
		{"modprobe ext4; modprobe -r ext4", result{"", "modprobe: FATAL: Module ext4 is builtin.\n", 1}},
		{"modprobe nothing", result{"", "modprobe: FATAL: Module nothing not found in directory /lib/modules/" + kernelRelease + "\n", 1}},
		{"m=ext4; " + where, result{"built in\n", "", 0}},
		{"m=tcp_cubic; " + where + "; cat /sys/module/tcp_cubic/parameters/beta", result{"built in\n717\n", "", 0}},
		{"m=nvmet; " + where, result{"", "", 0}},
		{"modprobe nvmet; m=nvmet; " + where, result{"loaded\n", "", 0}},
	} {
		expect(t, s, c.line, c.want)
	}
	if got := local(t, s, "weft", "/usr/sbin/rmmod nvmet"); got.status != 1 {
		t.Errorf("without root: %+v", got)
	}
}

func TestDebianPackages(t *testing.T) {
	s := server(t, network(t), spec(t, "s"))
	const query = `dpkg-query -W -f '${db:Status-Status} ${Version}\n' `
	for _, c := range []struct {
		line string
		want result
	}{
		{"command -v apt-get; command -v dnf; command -v rpm", result{"/usr/bin/apt-get\n", "", 127}},
		{query + "fio", result{"", "dpkg-query: no packages found matching fio\n", 1}},
		{"apt-get -y install fio=3.0", result{"", "E: Version '3.0' for 'fio' was not found\n", 100}},
		{"apt-get -y install fio && " + query + "fio", result{"installed 3.39-1\n", "", 0}},
		{"apt-mark hold nvme-cli; apt-mark showhold", result{"nvme-cli\n", "", 0}},
		{"apt-get -y install nvme-cli", result{"", "E: Held packages were changed and -y was used without --allow-change-held-packages.\n", 100}},
		{"apt-mark unhold nvme-cli; apt-mark showhold; apt-get -y install nvme-cli", result{"", "", 0}},
		{"dpkg --remove fio && " + query + "fio", result{"", "dpkg-query: no packages found matching fio\n", 1}},
	} {
		expect(t, s, c.line, c.want)
	}
	s.LockPackages(true)
	expect(t, s, "dpkg --remove nvme-cli", result{"", "dpkg: error: dpkg frontend lock was locked by another process with pid 4711\n", 2})
	if got := local(t, s, "root", "apt-get -y install fio"); got.status != 100 {
		t.Errorf("locked: %+v", got)
	}
	s.LockPackages(false)
	expect(t, s, "dpkg --remove nvme-cli", result{"", "", 0})
}

func TestRedHatPackages(t *testing.T) {
	s := server(t, network(t), spec(t, "s"))
	const query = `rpm -q --qf 'installed %|EPOCH?{%{EPOCH}:}|%{VERSION}-%{RELEASE}\n' -- `
	for _, c := range []struct {
		line string
		want result
	}{
		{"echo x >/etc/redhat-release; command -v dnf; command -v apt-get; command -v dpkg", result{"/usr/bin/dnf\n", "", 127}},
		{query + "fio", result{"package fio is not installed\n", "", 1}},
		{"dnf -q -y install fio-1", result{"", "Error: Unable to find a match: fio-1\n", 1}},
		{"dnf -q -y install fio-3.39-1 && " + query + "fio", result{"installed 3.39-1\n", "", 0}},
		{"rpm -e fio; rpm -e fio", result{"", "error: package fio is not installed\n", 1}},
		{"dnf install fio", result{"", "dnf: not simulated in the lab: dnf install fio\n", 1}},
	} {
		expect(t, s, c.line, c.want)
	}
}
