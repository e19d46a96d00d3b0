package rawsock

import (
	"fmt"
	"os"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// sndbufLock is the bit of SO_BUF_LOCK that says that a send buffer has a set size
// (SOCK_SNDBUF_LOCK of include/uapi/linux/socket.h, Linux 5.14).
const sndbufLock = 1

// ReadPath asks the kernel about the way to the peer of a TCP socket (TCP_INFO of
// tcp(7)).
func ReadPath(fd uintptr) (Path, error) {
	var info unix.TCPInfo
	size := uint32(unix.SizeofTCPInfo)
	_, _, errno := syscall.RawSyscall6(syscall.SYS_GETSOCKOPT, fd, unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return Path{}, os.NewSyscallError("getsockopt(TCP_INFO)", errno)
	}
	return Path{RTT: time.Duration(info.Min_rtt) * time.Microsecond, Rate: info.Delivery_rate}, nil
}

// SendBuffer sets the send buffer of a TCP socket: what it takes that the peer has not
// acknowledged, in bytes, of which the kernel takes twice as many and counts what it needs
// for its own. 0 leaves it to the kernel again, which goes by its window of congestion.
// It fails where it could not be left to the kernel again (before Linux 5.14), and
// where no such size is allowed (net.core.wmem_max).
func SendBuffer(fd uintptr, bytes int) error {
	s := int(fd)
	lock, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_BUF_LOCK)
	if err != nil {
		return os.NewSyscallError("getsockopt(SO_BUF_LOCK)", err)
	}
	if bytes == 0 {
		return os.NewSyscallError("setsockopt(SO_BUF_LOCK)", unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_BUF_LOCK, lock&^sndbufLock))
	}
	if err := unix.SetsockoptInt(s, unix.SOL_SOCKET, unix.SO_SNDBUF, bytes); err != nil {
		return os.NewSyscallError("setsockopt(SO_SNDBUF)", err)
	}
	set, err := unix.GetsockoptInt(s, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err == nil && set < 2*bytes {
		err = fmt.Errorf("the send buffer is %d bytes and not %d: net.core.wmem_max", set/2, bytes)
	}
	return err
}
