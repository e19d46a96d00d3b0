//go:build !linux && !darwin

package tcp

import (
	"errors"
	"net"
	"syscall"
)

func rawOf(net.Conn) syscall.RawConn { return nil }

func setToS(_ any, tos uint8) error {
	if tos != 0 {
		return errors.New("set the type of service: not on this system")
	}
	return nil
}

func (o *outbox) tryWrite(uintptr) bool { return true }

func (p *poller) tryRead(uintptr) bool { return true }
