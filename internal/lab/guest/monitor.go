package guest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"weft/internal/pattern"
)

// A monitor speaks QMP, QEMU's own protocol, one command at a time.
type monitor struct {
	mu  sync.Mutex
	in  io.Writer
	out *bufio.Scanner
}

// newMonitor greets QEMU.
func newMonitor(in io.Writer, out io.Reader) (*monitor, error) {
	m := &monitor{in: in, out: bufio.NewScanner(out)}
	m.out.Buffer(nil, 1<<20)
	var greeting struct {
		QMP *json.RawMessage `json:"QMP"`
	}
	if err := m.next(&greeting); err != nil {
		return nil, err
	}
	if greeting.QMP == nil {
		return nil, errors.New("QEMU does not greet")
	}
	_, err := m.do("qmp_capabilities", nil)
	return m, err
}

func (m *monitor) next(into any) error {
	if !m.out.Scan() {
		if err := m.out.Err(); err != nil {
			return fmt.Errorf("QEMU's monitor: %w", err)
		}
		return errors.New("QEMU has ended")
	}
	if err := json.Unmarshal(m.out.Bytes(), into); err != nil {
		return fmt.Errorf("QEMU's monitor: %w", err)
	}
	return nil
}

// do carries out one command and returns its result. Events that come in
// between are nothing to us.
func (m *monitor) do(command string, args map[string]any) (json.RawMessage, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	line, err := json.Marshal(struct {
		Execute   string         `json:"execute"`
		Arguments map[string]any `json:"arguments,omitempty"`
	}{command, args})
	if err != nil {
		return nil, err
	}
	if _, err := m.in.Write(append(line, '\n')); err != nil {
		return nil, fmt.Errorf("QEMU's monitor: %s: %w", command, err)
	}
	for {
		var reply struct {
			Return json.RawMessage `json:"return"`
			Error  *struct {
				Desc string `json:"desc"`
			} `json:"error"`
		}
		if err := m.next(&reply); err != nil {
			return nil, err
		}
		if reply.Error != nil {
			return nil, fmt.Errorf("QEMU refuses %s: %s", command, reply.Error.Desc)
		}
		if reply.Return != nil {
			return reply.Return, nil
		}
	}
}

// human carries out a command of the monitor for people.
func (m *monitor) human(line string) (string, error) {
	raw, err := m.do("human-monitor-command", map[string]any{"command-line": line})
	if err != nil {
		return "", err
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return "", fmt.Errorf("QEMU's monitor: %s: %w", line, err)
	}
	return text, nil
}

// forwarded is a line of "info usernet" about a forwarded port: the state, a
// file descriptor, source address and port, destination address and port, and
// the lengths of two queues.
var forwarded = pattern.New(`(?m)^\s*TCP\[HOST_FORWARD\]\s+\d+\s+127\.0\.0\.1\s+(\d+)\s+\S+\s+22\s`)

// sshPort finds the port on 127.0.0.1 that leads to SSH in the guest.
func sshPort(usernet string) (int, error) {
	found := forwarded.FindStringSubmatch(usernet)
	if found == nil {
		return 0, fmt.Errorf("QEMU does not forward SSH: %q", usernet)
	}
	port, err := strconv.Atoi(found[1])
	if err != nil || port < 1 || port > 65535 {
		return 0, fmt.Errorf("QEMU forwards SSH from port %s", found[1])
	}
	return port, nil
}
