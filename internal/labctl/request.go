//go:build unix

package labctl

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

	"weft/internal/hint"
	"weft/internal/wait"
)

// A Request is one line of JSON to the control socket of a lab; so is the Reply.
type Request struct {
	Token  string   `json:"token"`
	Op     string   `json:"op"` // ping, down, status, stands, edit or fault
	Device string   `json:"device,omitempty"`
	Lines  []string `json:"lines,omitempty"`
	Fault  string   `json:"fault,omitempty"`
}

// A Reply answers a Request.
type Reply struct {
	PID    int            `json:"pid"`
	Error  string         `json:"error,omitempty"`
	Status []DeviceStatus `json:"status,omitempty"`
	Stands string         `json:"stands,omitempty"`
}

// RequestTimeout bounds one request. A guest restarts on a busy machine, and then once more.
const RequestTimeout = 25 * time.Minute

// A RefusedError is the reason for which a lab that is up refuses a request.
type RefusedError struct{ Text string }

// Error implements error.
func (e *RefusedError) Error() string { return e.Text }

// Running is the state of the lab that runs for a directory; nil: none does. A state file
// whose process does not answer counts as none. A lab of another version is an error.
func Running(dir string) (*State, error) {
	s, err := At(dir).read()
	if err != nil || s == nil {
		return nil, err
	}
	r, err := s.ask(context.Background(), Request{Op: "ping"})
	if err != nil || r.PID != s.PID {
		return nil, nil
	}
	if err := s.sameVersion(dir); err != nil {
		return nil, err
	}
	return s, nil
}

// sameVersion refuses a lab of another version than this program.
func (s *State) sameVersion(dir string) error {
	if s.Version == Version() {
		return nil
	}
	version := s.Version
	if version == "" {
		version = "of an unknown version"
	}
	return hint.Wrap(fmt.Errorf("the lab of this directory is weft-lab %s, and this is weft %s: both must be the same version", version, Version()),
		"restart it: weft -C %s lab down, then weft -C %s lab up --detach", dir, dir)
}

// Config is the path of the ssh_config that leads to the devices of the lab of a directory;
// "": no lab is up. A lab of another version is an error.
func Config(dir string) (string, error) {
	p := At(dir)
	if _, err := os.Stat(p.File(configName)); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	s, err := p.read()
	if err != nil || s == nil {
		return "", err
	}
	return p.File(configName), s.sameVersion(dir)
}

// Status asks the lab of a directory for the status of its devices.
func Status(dir string) ([]DeviceStatus, error) {
	r, err := demand(dir, Request{Op: "status"})
	return r.Status, err
}

// Stands is the whole configuration of the devices of the lab of a directory, except for the
// files below the lab's folder. Tests compare it.
func Stands(dir string) (string, error) {
	r, err := demand(dir, Request{Op: "stands"})
	return r.Stands, err
}

// Edit types configuration lines on a simulated switch, as an operator at its console would.
func Edit(dir, device string, lines ...string) error {
	_, err := demand(dir, Request{Op: "edit", Device: device, Lines: lines})
	return err
}

// Fault injects a fault into a simulated device, or ends one; see Faults.
func Fault(dir, device, name string) error {
	_, err := demand(dir, Request{Op: "fault", Device: device, Fault: name})
	return err
}

// demand sends a request to the lab of a directory, which must be up.
func demand(dir string, req Request) (Reply, error) {
	s, err := At(dir).read()
	if err == nil && s == nil {
		err = hint.Wrap(errors.New("no lab is up for this directory"), "start one with: weft -C %s lab up --detach", dir)
	}
	if err == nil {
		err = s.sameVersion(dir)
	}
	if err != nil {
		return Reply{}, err
	}
	r, err := s.ask(context.Background(), req)
	if err != nil {
		return Reply{}, hint.Wrap(fmt.Errorf("the lab of this directory does not answer: %w", err), "start it again with: weft -C %s lab up --detach", dir)
	}
	if r.Error != "" {
		return r, &RefusedError{Text: r.Error}
	}
	return r, nil
}

// ask sends one request. It dials loopback only, whatever the state file says.
func (s *State) ask(ctx context.Context, req Request) (Reply, error) {
	addr, err := netip.ParseAddrPort(s.Control)
	if err != nil || !addr.Addr().IsLoopback() {
		return Reply{}, fmt.Errorf("%q is no address on loopback", s.Control)
	}
	d := net.Dialer{Timeout: RequestTimeout}
	conn, err := d.DialContext(ctx, "tcp", addr.String())
	if err != nil {
		return Reply{}, err
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(RequestTimeout))
	req.Token = s.Token
	if err := json.NewEncoder(conn).Encode(req); err != nil {
		return Reply{}, err
	}
	var r Reply
	if err := json.NewDecoder(bufio.NewReader(conn)).Decode(&r); err != nil {
		return Reply{}, fmt.Errorf("no reply: %w", err)
	}
	return r, nil
}

// Down asks the lab of a directory to stop, whatever its version, and waits until it has. If
// none runs, it removes the remains of one that crashed.
func Down(ctx context.Context, dir string) error {
	p := At(dir)
	if _, err := os.Stat(p.dir); err != nil {
		return nil // there never was one
	}
	for asked := false; ; {
		if s, err := p.read(); !asked && err == nil && s != nil {
			// A lab that does not answer has ended or is still starting: the lock tells which.
			_, err = s.ask(ctx, Request{Op: "down"})
			asked = err == nil
		}
		err := p.Lock()
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
	p.EndAgents()
	return errors.Join(p.Clean(), p.Unlock())
}
