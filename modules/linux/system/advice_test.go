package system

import (
	"strings"
	"testing"
)

// What tools answer, and a word of what people are told to do about it.
func TestAdvice(t *testing.T) {
	pkg, mod := newPackage("fio", "", false), newKernelModule("nvme-core", map[string]string{"multipath": "N"})
	for _, c := range []struct {
		kind        interface{ Advice(reply string) string }
		reply, hint string
	}{
		{pkg, "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (apt-get)", "another package tool"},
		{pkg, "dpkg: error: dpkg frontend lock was locked by another process with pid 4711", "another package tool"},
		{pkg, "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct the problem.", "dpkg --configure"},
		{pkg, "E: Held packages were changed and -y was used without --allow-change-held-packages.", "apt-mark unhold"},
		{pkg, "E: Packages need to be removed but remove is disabled.", "removes nothing"},
		{pkg, "E: Unable to locate package fio", "apt-get update"},
		{pkg, "E: Version '1' for 'fio' was not found", "apt-cache policy"},
		{pkg, "Error: Unable to find a match: fio", "dnf makecache"},
		{pkg, "dpkg: dependency problems prevent removal of libx:\n y depends on libx.", "other packages need it"},
		{pkg, "No space left on device", ""},
		{mod, "modprobe: FATAL: Module nvme_core is in use.", "lsmod"},
		{mod, "modprobe: FATAL: Module nvme-core not found in directory /lib/modules/6.1.0", "modules-extra"},
		{mod, "modprobe: ERROR: could not insert 'nvme_core': Invalid argument", "modinfo -p nvme-core"},
		{mod, "", "did not take a parameter"},
		{newKernelModule("nvmet", nil), "", ""},
		{newSysctl("vm.swappiness", "10"), `sysctl: setting key "vm.swappiness": Invalid argument`, "does not take that value"},
		{newSysctl("vm.swappiness", "10"), `sysctl: setting key "vm.swappiness", ignoring: Read-only file system`, "on its host"},
		{newSysctl("vm.swappiness", "10"), "", "rounded"},
		{&Command{Creates: "/x", Done: true}, "", "/x is not there"},
		{&Command{Unless: []string{"is", "done"}, Done: true}, "", "is done"},
		{&Command{Creates: "/x", Done: true}, "exit 1: no", ""},
		{newService("chrony", true, true), "Job for chrony.service failed", "journalctl -u chrony.service"},
	} {
		if got := c.kind.Advice(c.reply); c.hint == "" && got != "" || !strings.Contains(got, c.hint) {
			t.Errorf("%q: %q, want %q", c.reply, got, c.hint)
		}
	}
}
