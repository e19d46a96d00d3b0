//go:build unix

package lab

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"time"

	"weft/internal/hint"
	"weft/internal/wait"
)

// Warning stands wherever a lab shows itself.
const Warning = "SIMULATED: these devices are weft's lab on this machine"

// State is what a lab says about itself, in .weft/lab/lab.json.
type State struct {
	Warning string    `json:"warning"`
	PID     int       `json:"pid"`
	Started time.Time `json:"started"`
	Control string    `json:"control"` // address on loopback that takes requests
	Token   string    `json:"token"`   // which every request has to name
	Devices []Device  `json:"devices"`
	Without []string  `json:"without,omitempty"` // what is described and not simulated, and why
	Lacks   []string  `json:"lacks,omitempty"`   // what the files need and no lab like this has, for people
}

// Device is one simulated device.
type Device struct {
	Name    string `json:"name"`             // its host in the inventory
	Kind    string `json:"kind"`             // "server", "switch", "guest" or "vcenter"
	Block   string `json:"block"`            // HCL address
	Address string `json:"address"`          // where it answers SSH, a vCenter its API
	User    string `json:"user,omitempty"`   // who may log in with a password; "": anybody
	Login   string `json:"login,omitempty"`  // as whom its files log in to a server; "": they do not say
	SHA256  string `json:"sha256,omitempty"` // of the certificate of a vCenter
}

// A request is one line of JSON to a running lab; so is the reply.
type request struct {
	Token  string   `json:"token"`
	Op     string   `json:"op"` // ping, down, status, stands, edit or fault
	Device string   `json:"device,omitempty"`
	Lines  []string `json:"lines,omitempty"`
	Fault  string   `json:"fault,omitempty"`
}

type reply struct {
	PID    int            `json:"pid"`
	Error  string         `json:"error,omitempty"`
	Status []DeviceStatus `json:"status,omitempty"`
	Stands string         `json:"stands,omitempty"`
}

const (
	askTimeout = 25 * time.Minute // of a request: a guest restarts on a busy machine, and then once more
	maxRequest = 1 << 20
)

// A RefusedError is what a lab that is up has against a request.
type RefusedError struct{ Text string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Text }

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
	_ = conn.SetDeadline(time.Now().Add(askTimeout))
	var req request
	if json.NewDecoder(io.LimitReader(conn, maxRequest)).Decode(&req) != nil ||
		subtle.ConstantTimeCompare([]byte(req.Token), []byte(c.token)) != 1 {
		return // not one of ours
	}
	r := reply{PID: os.Getpid()}
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

func (c *control) do(req request) error {
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

// Running is the state of the lab that runs for a directory; nil: none does.
// A state file without its process counts as none.
func Running(dir string) (*State, error) {
	s, err := newPlace(dir).read()
	if err != nil || s == nil {
		return nil, err
	}
	r, err := s.ask(context.Background(), request{Op: "ping"})
	if err != nil || r.PID != s.PID {
		return nil, nil
	}
	return s, nil
}

// Edit types configuration lines on a simulated switch, as an operator at its
// console would.
func Edit(dir, device string, lines ...string) error {
	return demand(dir, request{Op: "edit", Device: device, Lines: lines})
}

// Fault makes something break on a simulated device, or mends it; see Faults.
func Fault(dir, device, name string) error {
	return demand(dir, request{Op: "fault", Device: device, Fault: name})
}

// demand sends a request to the lab of a directory.
func demand(dir string, req request) error {
	s, err := newPlace(dir).running(dir)
	if err != nil {
		return err
	}
	r, err := s.ask(context.Background(), req)
	if err != nil {
		return hint.Wrap(fmt.Errorf("the lab of this directory does not answer: %w", err), "start it again with: weft -C %s lab up --detach", dir)
	}
	if r.Error != "" {
		return &RefusedError{Text: r.Error}
	}
	return nil
}

// running reads about a lab that should be up.
func (p place) running(dir string) (*State, error) {
	s, err := p.read()
	if err == nil && s == nil {
		err = hint.Wrap(errors.New("no lab is up for this directory"), "start one with: weft -C %s lab up --detach", dir)
	}
	return s, err
}

// ask sends one request. Nothing but loopback is dialled, whatever the file
// says.
func (s *State) ask(ctx context.Context, req request) (reply, error) {
	addr, err := netip.ParseAddrPort(s.Control)
	if err != nil || !addr.Addr().IsLoopback() {
		return reply{}, fmt.Errorf("%q is no address on loopback", s.Control)
	}
	d := net.Dialer{Timeout: askTimeout}
	conn, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return reply{}, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(askTimeout))
	req.Token = s.Token
	if err := json.NewEncoder(conn).Encode(req); err != nil {
		return reply{}, err
	}
	var r reply
	if err := json.NewDecoder(bufio.NewReader(conn)).Decode(&r); err != nil {
		return reply{}, fmt.Errorf("no reply: %w", err)
	}
	return r, nil
}

// Down asks the lab of a directory to stop and waits until it has. Where none
// runs, what a crashed one left is taken away.
func Down(ctx context.Context, dir string) error {
	p := newPlace(dir)
	if _, err := os.Stat(p.dir); err != nil {
		return nil // there never was one
	}
	for asked := false; ; {
		if s, err := p.read(); !asked && err == nil && s != nil {
			// Who does not answer may be gone, or still starting: the lock tells.
			_, err = s.ask(ctx, request{Op: "down"})
			asked = err == nil
		}
		err := p.lock()
		if err == nil {
			break
		}
		if !errors.Is(err, errLocked) {
			return err
		}
		if !wait.For(ctx, 20*time.Millisecond) {
			return fmt.Errorf("waiting for the lab to stop: %w", ctx.Err())
		}
	}
	p.reap()
	return errors.Join(p.clean(), p.unlock())
}
