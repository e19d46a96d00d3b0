package modules

import (
	"errors"
	"strings"
	"testing"

	"weft/internal/hint"
	"weft/internal/remote/remotetest"
	"weft/plan"
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
		{&RDMALink{}, "exit 1: rxe_p0 is not deleted: [nvme_rdma] of the kernel uses it; weft-target (process 812) has it open", "stop the processes"},
		{&RDMALink{}, `exit 1: rxe_p0 is not deleted: rdma does not tell who uses it: Object "resource" is unknown`, "iproute2 from 5.1"},
		{newSysctl("vm.swappiness", "10"), `sysctl: setting key "vm.swappiness": Invalid argument`, "does not take that value"},
		{newSysctl("vm.swappiness", "10"), `sysctl: setting key "vm.swappiness", ignoring: Read-only file system`, "on its host"},
		{newSysctl("vm.swappiness", "10"), "", "rounded"},
		{&Command{Creates: "/x", Done: true}, "", "/x is not there"},
		{&Command{Unless: []string{"is", "done"}, Done: true}, "", "is done"},
		{&Command{Creates: "/x", Done: true}, "exit 1: no", ""},
		{&MTU{IPoIB: true}, "", "mtu=5"},
		{&MTU{IPoIB: true}, "RTNETLINK answers: Invalid argument", "at most 4092 in datagram mode"},
		{&MTU{IPoIB: true}, "RTNETLINK answers: Operation not permitted", ""},
		{&MTU{}, "Error: mtu greater than device maximum.", "maxmtu"},
		{&MTU{}, "", ""},
		{newService("chrony", true, true), "Job for chrony.service failed", "journalctl -u chrony.service"},
	} {
		if got := c.kind.Advice(c.reply); c.hint == "" && got != "" || !strings.Contains(got, c.hint) {
			t.Errorf("%q: %q, want %q", c.reply, got, c.hint)
		}
	}
}

const unitStatus = "● x.service\n   Active: failed (Result: exit-code)"

// unit is a replayed server whose unit x.service answers a start like that.
func unit(t *testing.T, start remotetest.Reply) *remotetest.Replay {
	r := machine(t)
	r.Commands["test -d /run/systemd/system"] = remotetest.Reply{}
	r.Commands["systemctl show -p LoadState,ActiveState,SubState,UnitFileState x.service"] =
		remotetest.Reply{Stdout: "LoadState=loaded\nActiveState=inactive\nSubState=dead\nUnitFileState=enabled\n"}
	r.Commands["systemctl start x.service"] = start
	r.Commands["systemctl status --no-pager --full --lines=10 x.service"] = remotetest.Reply{Stdout: unitStatus + "\n", Code: 3}
	return r
}

// A unit that does not start, or does not stay, shows its status.
func TestUnitsShowTheirStatus(t *testing.T) {
	no := new(plan.RefusedError)

	d := replayed(unit(t, remotetest.Reply{Stderr: "Job for x.service failed.\n", Code: 1}))
	s := begun(t, d, ServiceKind().Want(d, newService("x", true, true)))[0]
	err := d.Apply(t.Context(), s)
	if !errors.As(err, &no) || no.Line != "$ systemctl start x.service" || no.Reply != "exit 1: Job for x.service failed.\n"+unitStatus {
		t.Errorf("%v", err)
	}

	d = replayed(unit(t, remotetest.Reply{}))
	s = begun(t, d, ServiceKind().Want(d, newService("x", true, true)))[0]
	if err := d.Apply(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	err = d.Commit(t.Context())
	if !errors.As(err, &no) || !strings.Contains(no.Line, "systemctl status") || no.Reply != unitStatus {
		t.Errorf("%v", err)
	}
	if !strings.Contains(err.Error(), `running reads "false" after the change, wanted "true"`) || !strings.Contains(hint.Of(err), "journalctl") {
		t.Errorf("%v (%s)", err, hint.Of(err))
	}
}
