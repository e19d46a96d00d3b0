package leaf_test

import (
	"bytes"
	"context"
	"io"
	"strings"
	"sync"
	"time"
)

// A fate is what becomes of a terminal at one line.
type fate int

const (
	spared  fate = iota
	cut          // it is cut once the switch has carried out the line: the answer is not heard
	gone         // it ends before the switch has the line
	mute         // nothing comes back any more, for as long as someone waits
	halfway      // the switch closes its side and still carries out what is typed
	late         // the answer takes its time
)

// lateness is far below any timeout that is set, and far above what an answer
// takes.
const lateness = 300 * time.Millisecond

func (l *rig) dial(context.Context) (io.ReadWriteCloser, error) {
	in, typed := io.Pipe()
	out := &printed{crumbs: l.crumbs}
	out.more.L = &out.mu
	done := make(chan struct{})
	answers := l.sw
	l.mu.Lock()
	if l.other != nil {
		answers = l.other
	}
	l.mu.Unlock()
	l.serving.Go(func() {
		defer close(done)
		answers.Shell(context.Background(), "netops", struct {
			io.Reader
			io.Writer
		}{in, out})
		in.Close()
		out.end()
	})
	return &tapped{rig: l, typed: typed, printed: out, done: done}, nil
}

// login is another owner, who types lines on a Nexus and stays.
func (l *rig) login(lines ...string) io.Closer {
	l.t.Helper()
	c, err := l.dial(l.t.Context())
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { c.Close() })
	b := make([]byte, 4096)
	for _, line := range append([]string{""}, lines...) {
		if _, err := io.WriteString(c, line+"\n"); err != nil {
			l.t.Fatal(err)
		}
		for text := ""; !strings.HasSuffix(text, "# ") || !strings.Contains(text, line+"\r"); {
			n, err := c.Read(b)
			if err != nil {
				l.t.Fatal(err)
			}
			text += string(b[:n])
		}
	}
	return c
}

// A tapped terminal meets its fate at the end of some line.
type tapped struct {
	*printed
	rig   *rig
	typed *io.PipeWriter
	done  chan struct{} // the switch has carried out what was typed, and the session has ended
	line  bytes.Buffer
}

// Write implements io.Writer.
func (c *tapped) Write(b []byte) (int, error) {
	for chunk := range bytes.Lines(b) {
		text, whole := bytes.CutSuffix(chunk, []byte("\n"))
		c.line.Write(text)
		if _, err := c.typed.Write(text); err != nil || !whole {
			if err != nil {
				return 0, err
			}
			continue
		}
		line := strings.TrimSpace(c.line.String())
		c.line.Reset()
		met := c.rig.meets(line)
		if met == gone {
			c.Close()
			return len(b), nil
		}
		c.silence(met == mute || met == cut)
		switch met {
		case halfway:
			c.end()
		case late:
			time.Sleep(lateness) // the fault itself: nothing is waited for
		}
		if _, err := c.typed.Write([]byte("\n")); err != nil {
			return 0, err
		}
		if met == cut {
			c.typed.Close()
			<-c.done
		}
	}
	return len(b), nil
}

// Close implements io.Closer.
func (c *tapped) Close() error {
	c.end()
	return c.typed.Close()
}

// A printed text is what the switch has printed and nobody has read yet.
type printed struct {
	mu     sync.Mutex
	more   sync.Cond
	text   []byte
	mute   bool // what is printed is lost
	crumbs bool // it is read in pieces that end where a line does
	ended  bool
}

// Write implements io.Writer.
func (p *printed) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return 0, io.ErrClosedPipe
	}
	if !p.mute {
		p.text = append(p.text, b...)
		p.more.Signal()
	}
	return len(b), nil
}

// Read implements io.Reader.
func (p *printed) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.text) == 0 && !p.ended {
		p.more.Wait()
	}
	if p.ended {
		return 0, io.EOF
	}
	whole := len(p.text)
	if end := bytes.IndexByte(p.text, '\r'); p.crumbs && end >= 0 {
		whole = max(end, 1)
	}
	n := copy(b, p.text[:whole])
	p.text = p.text[n:]
	return n, nil
}

func (p *printed) silence(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.mute = p.mute || on
}

func (p *printed) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	p.more.Broadcast()
}

func (l *rig) meets(line string) fate {
	if line == "" {
		return spared
	}
	l.mu.Lock()
	l.typed++
	l.mu.Unlock()
	if l.fate == nil {
		return spared
	}
	return l.fate(line)
}
