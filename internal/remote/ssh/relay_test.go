package ssh

import (
	"io"
	"net"
	"os"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh/knownhosts"
)

// A relay passes bytes on until it is frozen: then it keeps the connections
// and loses every byte.
type relay struct {
	address string
	mu      sync.Mutex
	frozen  bool
}

func (r *relay) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.frozen = true
}

func (r *relay) lossy(w io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.frozen {
			return len(p), nil
		}
		return w.Write(p)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func newRelay(t *testing.T, to string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: l.Addr().String()}
	var work sync.WaitGroup
	work.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			work.Go(func() { io.Copy(r.lossy(out), in); out.Close() })
			work.Go(func() { io.Copy(r.lossy(in), out); in.Close() })
		}
	})
	t.Cleanup(func() { l.Close(); work.Wait() })
	return r
}

func must(t *testing.T, f *clientFiles, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(f.path(name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// knownLine says that an address has the key of another line.
func knownLine(address string, fields []string) string {
	return knownhosts.Normalize(address) + " " + fields[1] + " " + fields[2] + "\n"
}
