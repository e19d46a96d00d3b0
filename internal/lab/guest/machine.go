//go:build linux

package guest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"weft/internal/hint"
)

// A tool is a program that guests need on this machine, and the Debian package
// that has it.
type tool struct{ program, deb string }

func tools() []tool {
	return []tool{
		{"debootstrap", "debootstrap"}, {"wget", "wget"}, {"mkfs.ext4", "e2fsprogs"}, {"qemu-system-x86_64", "qemu-system-x86"},
	}
}

// Missing says why this machine cannot run guests, everything at once and with
// what would help as its hint; nil: it can.
func Missing() error {
	var lacks, debs []string
	if os.Geteuid() != 0 {
		lacks = append(lacks, "root")
	}
	for _, t := range tools() {
		if _, err := find(t.program); err != nil {
			lacks = append(lacks, t.program)
			debs = append(debs, t.deb)
		}
	}
	if lacks == nil && !namespaces() {
		lacks = append(lacks, "the right to make mount and process namespaces (CAP_SYS_ADMIN)")
	}
	if lacks == nil {
		return nil
	}
	advice := "run it as root on a machine of your own, not in an unprivileged container"
	if debs != nil {
		advice = "on Debian, as root: apt-get install " + strings.Join(debs, " ")
	}
	return hint.Wrap(unavailable{fmt.Errorf("guests with real kernels cannot run here: missing %s", strings.Join(lacks, ", "))}, "%s", advice)
}

// find looks a program up where root's programs are, too.
func find(program string) (string, error) {
	path, err := exec.LookPath(program)
	if err == nil {
		return path, nil
	}
	for _, dir := range []string{"/usr/sbin", "/sbin"} {
		if path, err := exec.LookPath(dir + "/" + program); err == nil {
			return path, nil
		}
	}
	return "", err
}

// namespaces says whether processes may get namespaces of their own.
func namespaces() bool {
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = apart()
	return cmd.Run() == nil
}

// apart puts a process and all its children into namespaces of their own: what
// they mount goes with them, and none outlives the first.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:   syscall.CLONE_NEWPID,
		Unshareflags: syscall.CLONE_NEWNS,
		Pdeathsig:    syscall.SIGKILL,
	}
}

// unavailable is why this machine cannot run guests at present, which is
// nobody's fault.
type unavailable struct{ error }

func (u unavailable) Unwrap() error { return u.error }

// Unavailable says whether an error means that this machine cannot run guests
// at present: something is missing here, or no mirror of Debian answers.
func Unavailable(err error) bool { return errors.As(err, new(unavailable)) }

// errNoImage says that an image could not be made.
var errNoImage = errors.New("no image for guests")
