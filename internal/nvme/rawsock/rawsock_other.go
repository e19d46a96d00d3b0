//go:build !linux

package rawsock

import (
	"net"
	"time"
)

// A Socket is a connected stream socket; there are none on this system.
type Socket struct{}

// Detach takes the socket out of a connection.
func Detach(net.Conn) (*Socket, error) { return nil, ErrUnsupported }

// Read fills first and then second.
func (s *Socket) Read(_, _ []byte) (int, error) { return 0, ErrUnsupported }

// Write sends slices.
func (s *Socket) Write(...[]byte) (int, error) { return 0, ErrUnsupported }

// CloseWrite tells the peer that nothing more is sent.
func (s *Socket) CloseWrite() error { return ErrUnsupported }

// Hangup tells the peer that nothing more is sent or read.
func (s *Socket) Hangup() error { return ErrUnsupported }

// Close closes the socket.
func (s *Socket) Close() error { return ErrUnsupported }

// Own keeps the goroutine on its thread.
func Own(int) error { return ErrUnsupported }

// ShortSlices reports that the system knows no such thing.
func ShortSlices(time.Duration) bool { return false }

// Yield lets another thread have the processor.
func Yield() {}

// ReadPath asks about the way to a peer.
func ReadPath(uintptr) (Path, error) { return Path{}, ErrUnsupported }

// SendBuffer sets how much a socket takes.
func SendBuffer(uintptr, int) error { return ErrUnsupported }

// Hush says that the system cannot keep quiet.
func Hush(uintptr, bool) error { return ErrUnsupported }

// FD is the socket's descriptor.
func (s *Socket) FD() uintptr { return 0 }

// A Watch tells which sockets have something to read.
type Watch struct{}

// NewWatch watches nothing yet.
func NewWatch() (*Watch, error) { return nil, ErrUnsupported }

// Add watches a socket.
func (w *Watch) Add(*Socket, int32, bool, bool) error { return ErrUnsupported }

// Change watches a socket for something else.
func (w *Watch) Change(*Socket, int32, bool, bool) error { return ErrUnsupported }

// Remove watches a socket no longer.
func (w *Watch) Remove(*Socket) error { return ErrUnsupported }

// Poll calls ready for sockets that have something to read.
func (w *Watch) Poll(func(int32)) {}

// Close ends the watch.
func (w *Watch) Close() error { return ErrUnsupported }
