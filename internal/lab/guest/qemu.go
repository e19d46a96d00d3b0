//go:build linux

package guest

import (
	"fmt"
	"strconv"
)

// kernelLine is what guests' kernels are told. It names what costs time under
// emulation and is of no use there: most of it at every call of the kernel, or
// for every process and page. The counter of cycles is taken for good: on a busy
// machine a kernel that checks it finds it late, and then asks a clock that costs
// an exit from the guest each time.
const kernelLine = "console=ttyS0 root=/dev/vda rw net.ifnames=0 mitigations=off loglevel=5 panic=10 " +
	"tsc=reliable no_timer_check nowatchdog nokaslr norandmaps randomize_kstack_offset=off hardened_usercopy=off " +
	"init_on_alloc=0 kfence.sample_interval=0 rcupdate.rcu_expedited=1 lsm=capability psi=0 " +
	"acpi=noirq cgroup_disable=memory,pressure raid=noautodetect cryptomgr.notests systemd.show_status=1"

// files are the names of those that belong to one guest.
type files struct {
	initrd  string
	console string // of its first serial line
	disk    string
	drives  []string
}

// arguments are QEMU's for one guest, which ends with every start of the guest.
// SSH is at a port of 127.0.0.1, 0: one that is free; the cards' sockets are the
// file descriptors from 3 upwards, in order. The counter of cycles counts
// thousands a second, 0: the guest has to find out.
func (s Spec) arguments(image *Image, accel string, of files, port, thousands int) ([]string, error) {
	line := kernelLine
	if accel == "tcg" && thousands > 0 {
		line += fmt.Sprintf(" tsc_early_khz=%d", thousands)
	}
	args := append(machine(accel),
		"-name", "weft-lab-"+s.Name,
		"-smp", strconv.Itoa(smp), "-m", strconv.Itoa(s.Memory),
		"-kernel", image.Kernel, "-initrd", of.initrd, "-append", line, "-action", "reboot=shutdown",
		"-chardev", "file,id=console,append=on,path="+escape(of.console), "-serial", "chardev:console",
		"-qmp", "stdio",
		"-device", fmt.Sprintf("virtio-rng-pci,addr=%02x.0", rngSlot),
		"-drive", "file="+escape(of.disk)+",format=raw,if=none,id=disk,cache=unsafe",
		"-device", fmt.Sprintf("virtio-blk-pci,drive=disk,addr=%02x.0", diskSlot),
		"-netdev", fmt.Sprintf("user,id=management,restrict=on,hostfwd=tcp:127.0.0.1:%d-:22", port),
		"-device", fmt.Sprintf("virtio-net-pci,netdev=management,mac=52:54:00:00:00:01,romfile=,addr=%02x.0", managementSlot),
	)
	for n, file := range of.drives {
		args = append(args,
			"-drive", fmt.Sprintf("file=%s,format=raw,if=none,id=drive%d,cache=unsafe,discard=unmap", escape(file), n),
			"-device", fmt.Sprintf("virtio-blk-pci,drive=drive%d,serial=%s,addr=%02x.%d,multifunction=on", n, driveSerial(n), drivesSlot+n/8, n%8))
	}
	var buses []int
	at := make([]pciAddress, len(s.NICs))
	for i, n := range s.NICs {
		var err error
		if at[i], err = parsePCI(n.PCI); err != nil {
			return nil, err
		}
		buses = append(buses, at[i].bus)
	}
	more, names, err := bridges(buses)
	if err != nil {
		return nil, err
	}
	args = append(args, more...)
	for i, n := range s.NICs {
		args = append(args,
			"-netdev", fmt.Sprintf("stream,id=plane%d,addr.type=fd,addr.str=%d", i, firstSocket+i),
			"-device", fmt.Sprintf("virtio-net-pci,id=nic%d,netdev=plane%d,mac=%s,romfile=,bus=%s,addr=%02x.%d,multifunction=on",
				i, i, n.MAC, names[at[i].bus], at[i].slot, at[i].function))
	}
	return args, nil
}

// firstSocket is the number under which a child gets its first extra file.
const firstSocket = 3

// machine is the hardware that all guests share.
func machine(accel string) []string {
	args := []string{"-nodefaults", "-no-user-config", "-display", "none", "-machine", "pc"}
	if accel == "kvm" {
		return append(args, "-accel", "kvm", "-cpu", "host")
	}
	// Each of these is work at every page fault or change of process, which an
	// emulator feels; erms: with it kernels copy and clear pages byte by byte.
	return append(args, "-accel", "tcg,thread=multi", "-cpu", "max,la57=off,smap=off,smep=off,pku=off,xsave=off,erms=off")
}

// escape writes a file name into a list of options, where a comma is written
// twice.
func escape(name string) string {
	var out []byte
	for _, c := range []byte(name) {
		if out = append(out, c); c == ',' {
			out = append(out, c)
		}
	}
	return string(out)
}
