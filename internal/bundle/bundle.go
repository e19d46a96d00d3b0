// Package bundle carries the agents, one executable per platform, inside weft.
package bundle

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
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
		return nil, "", missing(goos, goarch, name)
	case err != nil:
		return nil, "", fmt.Errorf("unpacking %s for %s/%s: %w", name, goos, goarch, err)
	}
	return a.bytes, a.sum, nil
}

// Sum returns what Open does without the bytes: where the sum was packed too, to
// tell it nothing is unpacked.
func (b *Bundle) Sum(goos, goarch, name string) (string, error) {
	file := path.Join("agents", goos+"-"+goarch, name+".gz")
	sum, err := told(b.files, file)
	if sum == "" && err == nil {
		_, sum, err = b.Open(goos, goarch, name)
		return sum, err
	}
	if _, none := fs.Stat(b.files, file); none != nil {
		return "", missing(goos, goarch, name)
	}
	return sum, err
}

func missing(goos, goarch, name string) error {
	return hint.Wrap(fmt.Errorf("this weft has no %s for %s/%s inside: %w", name, goos, goarch, fs.ErrNotExist), "run make: it builds the agents, then weft with the agents inside")
}

// told is the sum that was packed with an agent; "": none was.
func told(files fs.FS, file string) (string, error) {
	text, err := fs.ReadFile(files, file+".sum")
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	sum := strings.TrimSpace(string(text))
	if _, err := hex.DecodeString(sum); err != nil || len(sum) != 2*sha256.Size {
		return "", fmt.Errorf("%s.sum holds %q, which is no SHA-256", file, sum)
	}
	return sum, nil
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
	digest := sha256.Sum256(exe)
	sum := hex.EncodeToString(digest[:])
	if packed, err := told(files, file); err != nil || packed != "" && packed != sum {
		return agent{}, cmp.Or(err, fmt.Errorf("its SHA-256 is %s, and that of what was packed %s", sum, packed))
	}
	return agent{exe, sum}, nil
}
