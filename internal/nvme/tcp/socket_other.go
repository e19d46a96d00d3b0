//go:build !linux && !darwin

package tcp

import (
	"net"
	"syscall"
)

func rawOf(net.Conn) syscall.RawConn { return nil }

func (o *outbox) tryWrite(uintptr) bool { return true }

func (p *poller) tryRead(uintptr) bool { return true }
