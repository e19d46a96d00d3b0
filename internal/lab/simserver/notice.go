//go:build unix

package simserver

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// A notice is the socket on which a service of Type=notify says that it is
// ready.
type notice struct {
	dir  string
	conn *net.UnixConn
}

// newNotice makes the socket in a temporary folder of its own: the path of a
// socket must be short.
func newNotice() (*notice, error) {
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		return nil, err
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Net: "unixgram", Name: filepath.Join(dir, "n")})
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	return &notice{dir, conn}, nil
}

func (n *notice) env() string { return "NOTIFY_SOCKET=" + filepath.Join(n.dir, "n") }

// ready is closed when the service has said so. It ends when n is closed.
func (n *notice) ready(wg *sync.WaitGroup) <-chan struct{} {
	ready := make(chan struct{})
	wg.Go(func() {
		buf := make([]byte, 4096)
		for {
			k, err := n.conn.Read(buf)
			if err != nil {
				return
			}
			if slices.Contains(strings.Split(string(buf[:k]), "\n"), "READY=1") {
				close(ready)
				return
			}
		}
	})
	return ready
}

func (n *notice) close() {
	_ = n.conn.Close()
	_ = os.RemoveAll(n.dir)
}
