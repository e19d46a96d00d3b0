// Package bundle carries the agents, one executable per platform, inside weft.
package bundle

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"sync"

	"weft/internal/hint"
)

// The folder holds at least its README, so that everything compiles before
// the agents were built.
//
//go:embed all:agents
var agents embed.FS

// maxAgent is the largest executable that is unpacked, in bytes.
const maxAgent = 256 << 20

// A Bundle unpacks agents, each at most once. Its methods may be called
// concurrently.
type Bundle struct {
	files fs.FS

	mu       sync.Mutex
	unpacked map[string]func() (agent, error)
}

type agent struct {
	bytes []byte
	sum   string
}

// New returns the agents that were embedded when weft was built.
func New() *Bundle { return newBundle(agents) }

// From returns the agents of another folder, laid out as this package's own:
// agents/<goos>-<goarch>/<name>.gz.
func From(files fs.FS) *Bundle { return newBundle(files) }

func newBundle(files fs.FS) *Bundle {
	return &Bundle{files: files, unpacked: map[string]func() (agent, error){}}
}

// Open returns the executable of an agent, such as "weft-target", for a
// platform in Go's words, and its SHA-256 in hexadecimal. The bytes are shared:
// do not change them. An agent that was not built is an error that wraps
// fs.ErrNotExist.
func (b *Bundle) Open(goos, goarch, name string) (exe []byte, sum string, err error) {
	a, err := b.once(path.Join("agents", goos+"-"+goarch, name+".gz"))()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, "", hint.Wrap(fmt.Errorf("this weft has no %s for %s/%s inside: %w", name, goos, goarch, fs.ErrNotExist), "run make: it builds the agents, then weft with the agents inside")
	case err != nil:
		return nil, "", fmt.Errorf("unpacking %s for %s/%s: %w", name, goos, goarch, err)
	}
	return a.bytes, a.sum, nil
}

func (b *Bundle) once(file string) func() (agent, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, ok := b.unpacked[file]
	if !ok {
		f = sync.OnceValues(func() (agent, error) { return unpack(b.files, file) })
		b.unpacked[file] = f
	}
	return f
}

func unpack(files fs.FS, file string) (agent, error) {
	packed, err := fs.ReadFile(files, file)
	if err != nil {
		return agent{}, err
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return agent{}, err
	}
	exe, err := io.ReadAll(io.LimitReader(z, maxAgent+1))
	if err != nil {
		return agent{}, err
	}
	if len(exe) > maxAgent {
		return agent{}, fmt.Errorf("larger than %d bytes", maxAgent)
	}
	sum := sha256.Sum256(exe)
	return agent{exe, hex.EncodeToString(sum[:])}, nil
}
