package sshd

import (
	"context"
	"io"
	"net"
	"sync"
)

// A Machine is what stands behind an SSH server. Its methods are called
// concurrently, once per session, and must return soon after their context
// ends. It ends when the client closes the session, signals the command, or
// disappears, and when the server is told to stop.
//
// [SessionFrom] tells more about the session a context belongs to.
type Machine interface {
	// Exec runs one command line and returns its exit status.
	Exec(ctx context.Context, user, line string, stdin io.Reader, stdout, stderr io.Writer) int
	// Shell serves an interactive terminal until it ends and returns the exit
	// status. Reads return io.EOF when the client hangs up.
	Shell(ctx context.Context, user string, term io.ReadWriter) int
}

// A FileServer is a Machine with an sftp subsystem. Other machines refuse it.
type FileServer interface {
	// SFTP serves the sftp subsystem on ch until the client closes it.
	SFTP(ctx context.Context, user string, ch io.ReadWriteCloser) error
}

// A Session is what the client asked of one session channel.
type Session struct {
	User   string
	Remote net.Addr

	conn net.Conn
	mu   sync.Mutex
	env  map[string]string
	pty  *PTY
}

// A PTY is the terminal that the client described.
type PTY struct {
	Term          string // such as "vt100"
	Columns, Rows int    // 0: not told
}

// Env is the value of an environment variable that the client sent.
func (s *Session) Env(name string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.env[name]
	return v, ok
}

// PTY is the terminal as of now; false: the client asked for none.
func (s *Session) PTY() (PTY, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pty == nil {
		return PTY{}, false
	}
	return *s.pty, true
}

// Drop cuts the session's connection without a word, as a dying device does:
// the client sees a reset. All sessions of the connection go with it.
func (s *Session) Drop() {
	if tcp, ok := s.conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // a reset is best effort; the close below is what counts
	}
	_ = s.conn.Close()
}

type sessionKey struct{}

// SessionFrom is the session that a Machine's context belongs to, or nil.
func SessionFrom(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}
