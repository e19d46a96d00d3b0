package rawsock

import (
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Socket is a connected stream socket. Its methods are for one goroutine at
// a time.
type Socket struct {
	fd  uintptr
	vec [MaxVector]syscall.Iovec
}

// Detach takes the socket out of a connection, which is closed: the runtime no
// longer watches it. Deadlines of the connection are gone.
func Detach(c net.Conn) (*Socket, error) {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil, fmt.Errorf("take the socket out of a %T: it has none", c)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("take the socket out of a connection: %w", err)
	}
	fd, dupErr := -1, error(nil)
	err = raw.Control(func(old uintptr) {
		fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil {
		err = dupErr
	}
	if err == nil {
		err = unix.SetNonblock(fd, true)
	}
	if err != nil {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
		return nil, fmt.Errorf("take the socket out of a connection: %w", err)
	}
	_ = c.Close() // the copy lives on
	return &Socket{fd: uintptr(fd)}, nil
}

// FD is the socket's descriptor, which stays the socket's.
func (s *Socket) FD() uintptr { return s.fd }

// Read fills first and then second, which may be empty, with what is there.
// 0 without an error means nothing; the end is io.EOF. first must not be
// empty.
func (s *Socket) Read(first, second []byte) (int, error) {
	var vec [2]syscall.Iovec
	vec[0].Base = &first[0]
	vec[0].SetLen(len(first))
	n := uintptr(1)
	if len(second) > 0 {
		vec[1].Base = &second[0]
		vec[1].SetLen(len(second))
		n = 2
	}
	for {
		var got uintptr
		var errno syscall.Errno
		if n == 1 { // a plain receive is the cheaper call
			got, _, errno = syscall.RawSyscall6(syscall.SYS_RECVFROM, s.fd, uintptr(unsafe.Pointer(&first[0])), uintptr(len(first)), syscall.MSG_DONTWAIT, 0, 0)
		} else {
			got, _, errno = syscall.RawSyscall(syscall.SYS_READV, s.fd, uintptr(unsafe.Pointer(&vec)), n)
		}
		switch {
		case errno == syscall.EINTR:
			continue
		case errno == syscall.EAGAIN:
			return 0, nil
		case errno != 0:
			return 0, os.NewSyscallError("read", errno)
		case got == 0:
			return 0, io.EOF
		}
		return int(got), nil
	}
}

// Write sends as much of b, at most MaxVector slices, as the socket takes now;
// 0 means that it is full. No slice may be empty.
func (s *Socket) Write(b ...[]byte) (int, error) {
	n := min(len(b), MaxVector)
	for i := range n {
		s.vec[i].Base = &b[i][0]
		s.vec[i].SetLen(len(b[i]))
	}
	for {
		var sent uintptr
		var errno syscall.Errno
		if n == 1 {
			sent, _, errno = syscall.RawSyscall6(syscall.SYS_SENDTO, s.fd, uintptr(unsafe.Pointer(&b[0][0])), uintptr(len(b[0])), syscall.MSG_DONTWAIT|syscall.MSG_NOSIGNAL, 0, 0)
		} else {
			sent, _, errno = syscall.RawSyscall(syscall.SYS_WRITEV, s.fd, uintptr(unsafe.Pointer(&s.vec)), uintptr(n))
		}
		switch errno {
		case 0:
			return int(sent), nil
		case syscall.EINTR:
		case syscall.EAGAIN:
			return 0, nil
		default:
			return 0, os.NewSyscallError("write", errno)
		}
	}
}

// CloseWrite tells the peer that nothing more is sent.
func (s *Socket) CloseWrite() error {
	return os.NewSyscallError("shutdown", unix.Shutdown(int(s.fd), unix.SHUT_WR))
}

// Hangup tells the peer that nothing more is sent or read.
func (s *Socket) Hangup() error {
	return os.NewSyscallError("shutdown", unix.Shutdown(int(s.fd), unix.SHUT_RDWR))
}

// Close closes the socket. Nothing may use it any more, or be using it.
func (s *Socket) Close() error { return os.NewSyscallError("close", unix.Close(int(s.fd))) }

// Own keeps the goroutine on its thread, and the thread on a processor unless
// cpu is negative. The thread is for this goroutine until it ends.
func Own(cpu int) error {
	runtime.LockOSThread()
	if cpu < 0 {
		return nil
	}
	var set unix.CPUSet
	set.Set(cpu)
	if err := unix.SchedSetaffinity(0, &set); err != nil {
		return fmt.Errorf("keep a thread on processor %d: %w", cpu, err)
	}
	return nil
}

// Yield lets another thread have the processor, if one waits for it. Where only
// one may run Go at a time that is not enough: who is waited for may be a
// goroutine that has no thread.
func Yield() {
	if runtime.GOMAXPROCS(0) == 1 {
		runtime.Gosched()
	}
	_, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0)
}

// hushBytes are those of which a hushed socket says nothing: a few answers of 4 KiB,
// and no more than the usual receive buffer holds, so that the kernel enlarges none.
const hushBytes = 32 << 10

// Hush has the kernel tell nobody that a socket has something to read while that is
// less than a few answers, or again has it tell of everything. Who looks at a socket
// again and again needs no telling: it would wake a thread of the runtime for every
// message, which finds nothing to do and is in the way of those that have. The end of
// a connection is told in any case.
//
// Who waits for a socket lets it tell of everything first, and then looks once more:
// what came before may have been told to nobody.
func Hush(fd uintptr, hushed bool) error {
	least := 1
	if hushed {
		least = hushBytes
	}
	return os.NewSyscallError("setsockopt(SO_RCVLOWAT)", unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, least))
}

// A Watch tells of many sockets which of them have something to read, or take
// something to write.
type Watch struct {
	fd     int
	events [256]unix.EpollEvent
}

// NewWatch watches nothing yet.
func NewWatch() (*Watch, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("epoll_create1", err)
	}
	return &Watch{fd: fd}, nil
}

// Add watches a socket under a number of the caller's.
func (w *Watch) Add(s *Socket, number int32, read, write bool) error {
	return w.control(unix.EPOLL_CTL_ADD, s, number, read, write)
}

// Change watches a socket that is watched already for something else.
func (w *Watch) Change(s *Socket, number int32, read, write bool) error {
	return w.control(unix.EPOLL_CTL_MOD, s, number, read, write)
}

func (w *Watch) control(op int, s *Socket, number int32, read, write bool) error {
	e := unix.EpollEvent{Fd: number}
	if read {
		e.Events |= unix.EPOLLIN | unix.EPOLLRDHUP
	}
	if write {
		e.Events |= unix.EPOLLOUT
	}
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(w.fd, op, int(s.fd), &e))
}

// Remove watches a socket no longer.
func (w *Watch) Remove(s *Socket) error {
	return os.NewSyscallError("epoll_ctl", unix.EpollCtl(w.fd, unix.EPOLL_CTL_DEL, int(s.fd), nil))
}

// Poll calls ready with the number of every socket that has something to read,
// its end included, or takes something to write; at most 256 in one call.
func (w *Watch) Poll(ready func(number int32)) {
	n, _, errno := syscall.RawSyscall6(syscall.SYS_EPOLL_PWAIT, uintptr(w.fd), uintptr(unsafe.Pointer(&w.events)), uintptr(len(w.events)), 0, 0, 0)
	if errno != 0 {
		return // interrupted: next time
	}
	for i := range int(n) {
		ready(w.events[i].Fd)
	}
}

// Close ends the watch; the sockets live on.
func (w *Watch) Close() error { return os.NewSyscallError("close", unix.Close(w.fd)) }
