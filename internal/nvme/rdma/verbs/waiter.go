//go:build linux && (amd64 || arm64)

package verbs

import (
	"errors"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A waiter waits for files with epoll, through Go's own poller: nobody who waits
// keeps a thread.
type waiter struct {
	epoll *os.File // of the file descriptors
	raw   syscall.RawConn
	news  atomic.Bool // by wake

	// Of who waits.
	deadline  time.Time // as the poller knows it
	disturbed bool      // the poller may know another one, of wake
}

// What an epoll event is about.
const (
	wokeCM     = 1
	wokeDone   = 2
	wokeDevice = 3
)

func newWaiter() (*waiter, error) {
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(ep, true); err != nil { // for Go's poller; epoll itself has no such mode
		return nil, errors.Join(err, unix.Close(ep))
	}
	w := &waiter{epoll: os.NewFile(uintptr(ep), "rdma")}
	if w.raw, err = w.epoll.SyscallConn(); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *waiter) close() { _ = w.epoll.Close() } // nothing was written

// watch adds a file descriptor that never blocks; which tells it from others of
// its kind.
func (w *waiter) watch(fd int, what, which int32) error {
	var err error
	e := w.raw.Control(func(ep uintptr) {
		err = unix.EpollCtl(int(ep), unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: what, Pad: which})
	})
	return errors.Join(e, err)
}

// wake ends wait: the one in progress, or else the next.
func (w *waiter) wake() {
	w.news.Store(true)
	_ = w.epoll.SetReadDeadline(time.Unix(1, 0))
}

// wait blocks until look says that it has seen what it waits for. ErrNews is for
// who called wake; now and then it comes once more.
func (w *waiter) wait(deadline time.Time, look func(epoll uintptr) bool) error {
	if w.disturbed || !deadline.Equal(w.deadline) {
		if err := w.epoll.SetReadDeadline(deadline); err != nil {
			return err
		}
		w.deadline, w.disturbed = deadline, false
	}
	if w.news.Swap(false) { // since the deadline was set, or before
		w.disturbed = true
		return ErrNews
	}
	err := w.raw.Read(look)
	early := errors.Is(err, os.ErrDeadlineExceeded) && (deadline.IsZero() || time.Now().Before(deadline))
	if w.news.Swap(false) || early {
		w.disturbed = true
		return ErrNews
	}
	return err
}
