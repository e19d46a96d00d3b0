//go:build unix

package labctl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"weft/internal/hint"
)

// weft starts weft-lab serve, which first writes its Hello to standard output. weft writes an
// Order to standard input, and weft-lab an Answer when the lab is up or cannot be. The lab
// stops when its standard input ends, and writes another Answer when it has stopped. A detached
// lab runs on without its standard input.

// A Hello states the version of weft-lab.
type Hello struct {
	Version string `json:"version"`
}

// An Order is a lab to start.
type Order struct {
	Dir      string   `json:"dir"`  // has the lab's folder, .weft/lab
	Real     bool     `json:"real"` // servers are guests with real kernels
	Detached bool     `json:"detached"`
	Lacks    []string `json:"lacks,omitempty"` // of the lab's state
	Devices  *Devices `json:"devices"`
	StandIn  *StandIn `json:"stand_in,omitempty"` // nil: no server runs Windows
}

// A StandIn is the agent that a simulated Windows host runs instead of the one for Windows.
type StandIn struct {
	For     string `json:"for"`               // SHA-256 of the agent for Windows
	Exe     []byte `json:"exe"`               // for the machine of the lab
	Missing string `json:"missing,omitempty"` // why there is none
}

// An Answer is the result of an Order, or of the lab's end.
type Answer struct {
	State *State `json:"state,omitempty"`
	Error string `json:"error,omitempty"`
	Hint  string `json:"hint,omitempty"`
}

func (a Answer) err() error {
	if a.Error == "" {
		return nil
	}
	err := errors.New(a.Error)
	if a.Hint == "" {
		return err
	}
	return hint.Wrap(err, "%s", a.Hint)
}

// A Process is a lab that this process has started.
type Process struct {
	State *State

	program string
	cmd     *exec.Cmd
	stdin   io.Closer
	answers *json.Decoder
	said    func() string // the end of its log
}

// helloTimeout is how long a program may take to state its version.
const helloTimeout = time.Minute

// Start starts a lab and waits until it is up. The program writes its log to log. When ctx ends
// before, the lab is stopped.
func Start(ctx context.Context, program string, o Order, log io.Writer) (*Process, error) {
	said := &tail{}
	p := &Process{program: program, cmd: exec.Command(program, "serve"), said: said.String}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // Ctrl-C is for weft, which then stops the lab
	p.cmd.WaitDelay = 10 * time.Second                     // a device may keep the log open
	if file, ok := log.(*os.File); ok {                    // for a lab that goes on when weft has ended
		p.cmd.Stderr = file
		p.said = func() string {
			text, _ := os.ReadFile(file.Name())
			return string(text[max(0, len(text)-tailSize):])
		}
	} else {
		p.cmd.Stderr = io.MultiWriter(said, log)
	}
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", program, err)
	}
	p.stdin, p.answers = stdin, json.NewDecoder(out)
	if err := p.greet(ctx); err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { _ = stdin.Close() })() // the lab stops
	_ = json.NewEncoder(stdin).Encode(o)                         // if it has ended, there is no answer
	a, err := p.answer()
	if err == nil {
		err = a.err()
	}
	if err == nil && a.State == nil {
		err = fmt.Errorf("%s did not report a state", program)
	}
	if err != nil {
		_ = stdin.Close()
		_ = p.cmd.Wait() // its answer is the cause
		return nil, err
	}
	p.State = a.State
	return p, nil
}

// greet reads the Hello, and ends a program that sends none or is another version.
func (p *Process) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	var h Hello
	err := p.answers.Decode(&h)
	if err == nil && h.Version == "" {
		err = errors.New("no version")
	}
	if err != nil {
		err = fmt.Errorf("%s does not state its version: %w", p.program, errors.Join(ctx.Err(), err))
	} else {
		err = sameVersion(p.program, h.Version)
	}
	if err != nil {
		_ = p.cmd.Process.Kill()
		_ = p.cmd.Wait() // it was killed
		return p.quoted(err)
	}
	return nil
}

func sameVersion(program, version string) error {
	if version == Version() {
		return nil
	}
	return hint.Wrap(fmt.Errorf("%s is version %s, and this weft is version %s: both must be the same version", program, version, Version()),
		"make build makes both: copy them together")
}

// answer reads the next Answer.
func (p *Process) answer() (a Answer, err error) {
	if err := p.answers.Decode(&a); err != nil {
		ended := p.cmd.Wait()
		if ended == nil {
			ended = err
		}
		return a, p.quoted(fmt.Errorf("%s ended early: %w", p.program, ended))
	}
	return a, nil
}

// quoted adds the last lines of the program's log to an error.
func (p *Process) quoted(err error) error {
	if text := strings.TrimSpace(p.said()); text != "" {
		return fmt.Errorf("%w:\n%s", err, text)
	}
	return err
}

// Wait waits until the lab has stopped. When ctx ends before, it stops the lab.
func (p *Process) Wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = p.stdin.Close() })()
	a, err := p.answer()
	if err != nil {
		return err
	}
	_ = p.stdin.Close()
	return errors.Join(a.err(), p.cmd.Wait())
}

// Stop stops the lab and waits until it has.
func (p *Process) Stop() error {
	_ = p.stdin.Close()
	return p.Wait(context.Background())
}

// Detach leaves a lab running that was started detached.
func (p *Process) Detach() error {
	_ = p.stdin.Close()
	return p.cmd.Process.Release()
}

// A tail keeps the end of what is written to it.
type tail struct{ text []byte }

// tailSize is how many bytes a tail keeps.
const tailSize = 4 << 10

// Write implements io.Writer.
func (t *tail) Write(text []byte) (int, error) {
	t.text = append(t.text, text...)
	t.text = t.text[max(0, len(t.text)-tailSize):]
	return len(text), nil
}

func (t *tail) String() string { return string(t.text) }
