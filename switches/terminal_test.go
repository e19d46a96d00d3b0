package switches_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// A replay answers logins from transcripts, one after the other. It expects
// exactly the lines of the transcript and prints what follows them there.
type replay struct {
	t      *testing.T
	logins []string
	hung   func() // is called where nothing comes any more; may be nil
	// indented: a line of output may begin with a space that is not part of it,
	// so that it is not taken for a prompt here.
	indented bool
	mu       sync.Mutex
	sent     []string // what was typed, over all logins
	running  sync.WaitGroup
}

// promptLine is a prompt with the line that was typed at it.
var promptLine = regexp.MustCompile(`^([\w.\-]+(?:\([\w\-]+\))*#|<[\w.\-]+>|\[[\w.\-/]+\]) ?(.*)$`)

// newReplay plays transcripts; each begins after what every login types.
func newReplay(t *testing.T, logins ...string) *replay {
	r := &replay{t: t, logins: logins}
	t.Cleanup(r.running.Wait)
	return r
}

func (r *replay) dial(context.Context) (io.ReadWriteCloser, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.logins) == 0 {
		r.t.Error("one login more than foreseen")
		return nil, io.EOF
	}
	script := r.logins[0]
	r.logins = r.logins[1:]
	near, far := net.Pipe()
	r.running.Add(1)
	go func() {
		defer r.running.Done()
		defer far.Close()
		r.serve(far, strings.Split(strings.TrimSpace(script), "\n"))
	}()
	return near, nil
}

// A line that says hangs is one after which nothing comes any more, floods one after which
// there is no end of it; later is
// followed by output that comes after the prompt.
const (
	hangs  = "(hangs)"
	floods = "(floods)"
	later  = "(later)"
)

func (r *replay) serve(conn io.ReadWriter, script []string) {
	prompt, want := splitPrompt(r.t, script[0])
	script = script[1:]
	io.WriteString(conn, "User Access Verification\r\n\r\n"+prompt+" ")
	var line bytes.Buffer
	b := make([]byte, 256)
	for {
		n, err := conn.Read(b)
		if err != nil {
			return
		}
		for _, c := range b[:n] {
			if c != '\n' {
				line.WriteByte(c)
				conn.Write([]byte{c}) // echo
				continue
			}
			typed := strings.TrimSpace(line.String())
			line.Reset()
			io.WriteString(conn, "\r\r\n")
			if typed == "" {
				io.WriteString(conn, prompt+" ")
				continue
			}
			r.mu.Lock()
			r.sent = append(r.sent, typed)
			r.mu.Unlock()
			if typed != want {
				r.t.Errorf("typed %q where the transcript has %q", typed, want)
				return
			}
			after := ""
			for len(script) > 0 {
				l := script[0]
				script = script[1:]
				if l == hangs {
					if r.hung != nil {
						r.hung()
					}
					swallow(conn, b)
					return
				}
				if l == floods {
					flood(conn)
					return
				}
				if text, ok := strings.CutPrefix(l, later); ok {
					after = text
					continue
				}
				if promptLine.MatchString(l) {
					prompt, want = splitPrompt(r.t, l)
					break
				}
				if strings.HasSuffix(l, "[Y/N]:") {
					io.WriteString(conn, l)
					prompt, want = "", script[0]
					script = script[1:]
					break
				}
				if r.indented {
					l = strings.TrimPrefix(l, " ")
				}
				io.WriteString(conn, l+"\r\n")
			}
			io.WriteString(conn, prompt+" ")
			if after != "" {
				io.WriteString(conn, after+"\r\n")
			}
		}
	}
}

// flood says the same until nobody hears it any more.
func flood(conn io.Writer) {
	text := []byte(strings.Repeat("debug: a packet came in on Ethernet1/11\r\n", 1000))
	for {
		if _, err := conn.Write(text); err != nil {
			return
		}
	}
}

// swallow swallows what is typed until the other end has gone.
func swallow(conn io.Reader, b []byte) {
	for {
		if _, err := conn.Read(b); err != nil {
			return
		}
	}
}

func splitPrompt(t *testing.T, line string) (prompt, typed string) {
	m := promptLine.FindStringSubmatch(line)
	if m == nil {
		t.Errorf("the transcript begins with %q, not with a prompt", line)
		return "", ""
	}
	return m[1], m[2]
}
