package sshd

import (
	"io"
	"sync"
)

// A pipe stands between a command and its client, as between a process and an
// SSH server: what is written while the last of it is on its way goes together.
// A writer waits while the pipe is full.
type pipe struct {
	to   io.Writer
	done chan struct{}

	mu      sync.Mutex
	changed sync.Cond
	held    []byte
	closed  bool
	err     error // of the client's end
}

// pipeSize is how much a pipe holds: as on Linux.
const pipeSize = 64 << 10

func newPipe(to io.Writer) *pipe {
	p := &pipe{to: to, done: make(chan struct{})}
	p.changed.L = &p.mu
	go p.carry()
	return p
}

// carry brings what is written to the client until the pipe ends.
func (p *pipe) carry() {
	defer close(p.done)
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		for len(p.held) == 0 && !p.closed {
			p.changed.Wait()
		}
		if len(p.held) == 0 {
			return
		}
		part := p.held
		p.held = nil
		p.mu.Unlock()
		_, err := p.to.Write(part)
		p.mu.Lock()
		if err != nil {
			p.err = err
		}
		p.changed.Broadcast()
	}
}

// Write implements io.Writer. An error is that of an earlier write.
func (p *pipe) Write(b []byte) (n int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(b) > 0 {
		for len(p.held) >= pipeSize && p.err == nil {
			p.changed.Wait()
		}
		if p.err != nil {
			return n, p.err
		}
		part := b[:min(len(b), pipeSize-len(p.held))]
		p.held = append(p.held, part...)
		n, b = n+len(part), b[len(part):]
		p.changed.Broadcast()
	}
	return n, nil
}

// end waits until the client has got everything.
func (p *pipe) end() {
	p.mu.Lock()
	p.closed = true
	p.changed.Broadcast()
	p.mu.Unlock()
	<-p.done
}
