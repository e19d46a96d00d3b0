//go:build unix

package lab

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"

	"weft/internal/labctl"
)

const maxRequest = 1 << 20 // bytes

// A control takes requests from other processes of the same user.
type control struct {
	lab     *Lab
	token   string
	ln      net.Listener
	serving sync.WaitGroup
	mu      sync.Mutex
	conns   map[net.Conn]struct{}
	closed  bool
}

func newControl(l *Lab) (*control, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("taking requests for the lab: %w", err)
	}
	token := make([]byte, 16)
	_, _ = rand.Read(token) // never fails
	c := &control{lab: l, token: hex.EncodeToString(token), ln: ln, conns: map[net.Conn]struct{}{}}
	c.serving.Go(c.accept)
	return c, nil
}

func (c *control) addr() string { return c.ln.Addr().String() }

func (c *control) accept() {
	for {
		conn, err := c.ln.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(50 * time.Millisecond) // out of file descriptors, most likely
			continue
		}
		c.mu.Lock()
		closed := c.closed
		c.conns[conn] = struct{}{}
		c.mu.Unlock()
		if closed {
			_ = conn.Close()
			return
		}
		c.serving.Go(func() { c.answer(conn) })
	}
}

// answer serves one request per connection.
func (c *control) answer(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		c.mu.Lock()
		delete(c.conns, conn)
		c.mu.Unlock()
	}()
	_ = conn.SetDeadline(time.Now().Add(labctl.RequestTimeout))
	var req labctl.Request
	if json.NewDecoder(io.LimitReader(conn, maxRequest)).Decode(&req) != nil ||
		subtle.ConstantTimeCompare([]byte(req.Token), []byte(c.token)) != 1 {
		return // not one of ours
	}
	r := labctl.Reply{PID: os.Getpid()}
	if req.Op == "status" {
		r.Status = c.lab.status()
	} else if req.Op == "stands" {
		r.Stands = c.lab.stands()
	} else if err := c.do(req); err != nil {
		r.Error = err.Error()
	}
	_ = json.NewEncoder(conn).Encode(r) // whoever asked may be gone
	if req.Op == "down" {
		c.lab.wanted()
	}
}

func (c *control) do(req labctl.Request) error {
	switch req.Op {
	case "ping", "down":
		return nil
	}
	is := func(v *vcenter) bool { return v.device.Name == req.Device || v.device.Block == req.Device }
	if i := slices.IndexFunc(c.lab.vcenters, is); i >= 0 && req.Op == "fault" {
		c.lab.log.say("%s: fault %s", req.Device, req.Fault)
		return c.lab.vcenters[i].fault(req.Fault)
	}
	d, err := c.lab.find(req.Device)
	if err != nil {
		return err
	}
	switch req.Op {
	case "edit":
		if d.sw == nil {
			return fmt.Errorf("%s is no switch: change it over SSH", d.name)
		}
		c.lab.log.say("%s is changed by hand: %q", d.name, req.Lines)
		return d.sw.Edit(req.Lines...)
	case "fault":
		c.lab.log.say("%s: fault %s", d.name, req.Fault)
		return d.fault(req.Fault)
	}
	return fmt.Errorf("the lab does not know %q", req.Op)
}

// close stops taking requests and waits for those under way.
func (c *control) close() {
	_ = c.ln.Close() // ends accept
	c.mu.Lock()
	c.closed = true
	for conn := range c.conns {
		_ = conn.SetReadDeadline(time.Now()) // ends those that have asked nothing yet
	}
	c.mu.Unlock()
	c.serving.Wait()
}
