// Package bundle carries the agents, one executable per platform, inside weft.
package bundle

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"

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
	checked  map[string]func() (int, error)
}

type agent struct {
	bytes []byte
	sum   string
}

// New returns the agents that were embedded when weft was built.
func New() *Bundle { return From(agents) }

// From returns the agents of another folder, laid out as this package's own:
// agents/<goos>-<goarch>/<name>.gz.
func From(files fs.FS) *Bundle {
	return &Bundle{files: files, unpacked: map[string]func() (agent, error){}, checked: map[string]func() (int, error){}}
}

// Open returns the executable of an agent, such as "weft-target", for a
// platform in Go's words, and its SHA-256 in hexadecimal. The bytes are shared:
// do not change them. An agent that was not built is an error that wraps
// fs.ErrNotExist.
func (b *Bundle) Open(goos, goarch, name string) (exe []byte, sum string, err error) {
	a, err := once(b, b.unpacked, fileOf(goos, goarch, name), unpack)()
	return a.bytes, a.sum, unfit(goos, goarch, name, err)
}

// Size is how long the executable is that Open unpacks, and that it can be
// unpacked: to tell that of one whose sums were packed nothing is unpacked.
func (b *Bundle) Size(goos, goarch, name string) (int, error) {
	size, err := once(b, b.checked, fileOf(goos, goarch, name), b.check)()
	return size, unfit(goos, goarch, name, err)
}

// fileOf is where an agent is.
func fileOf(goos, goarch, name string) string {
	return path.Join("agents", goos+"-"+goarch, name+".gz")
}

// unfit says which agent cannot be had.
func unfit(goos, goarch, name string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return missing(goos, goarch, name)
	case err != nil:
		return fmt.Errorf("unpacking %s for %s/%s: %w", name, goos, goarch, err)
	}
	return nil
}

// Sum returns what Open does without the bytes: where the sum was packed too, to
// tell it nothing is unpacked.
func (b *Bundle) Sum(goos, goarch, name string) (string, error) {
	file := fileOf(goos, goarch, name)
	sum, _, err := told(b.files, file)
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

// told is the sum that was packed with an agent, and that of the file in which it
// was packed; "": none was.
func told(files fs.FS, file string) (sum, whole string, err error) {
	text, err := fs.ReadFile(files, file+".sum")
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	sums := strings.Fields(string(text))
	for _, sum := range sums {
		if _, err := hex.DecodeString(sum); err != nil || len(sum) != 2*sha256.Size {
			return "", "", fmt.Errorf("%s.sum holds %q, which is no SHA-256", file, sum)
		}
	}
	switch len(sums) {
	case 1:
		return sums[0], "", nil
	case 2:
		return sums[0], sums[1], nil
	}
	return "", "", fmt.Errorf("%s.sum holds %d sums", file, len(sums))
}

// once is what get returns for a file, which it is asked for once.
func once[T any](b *Bundle, kept map[string]func() (T, error), file string, get func(fs.FS, string) (T, error)) func() (T, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f, ok := kept[file]
	if !ok {
		f = sync.OnceValues(func() (T, error) { return get(b.files, file) })
		kept[file] = f
	}
	return f
}

// check is the size of an agent whose file is as it was packed, or which can be
// unpacked.
func (b *Bundle) check(files fs.FS, file string) (int, error) {
	_, whole, err := told(files, file)
	if err != nil {
		return 0, err
	}
	if whole == "" {
		a, err := once(b, b.unpacked, file, unpack)()
		return len(a.bytes), err
	}
	packed, err := fs.ReadFile(files, file)
	if err != nil {
		return 0, err
	}
	if digest := sha256.Sum256(packed); hex.EncodeToString(digest[:]) != whole {
		return 0, fmt.Errorf("the SHA-256 of the packed file is %x, and was %s when it was packed", digest, whole)
	}
	return unpackedSize(packed), nil
}

// unpackedSize is what the end of a gzip file says of its content (RFC 1952,
// section 2.3.1, ISIZE).
func unpackedSize(packed []byte) int {
	if len(packed) < 4 {
		return 0
	}
	return int(binary.LittleEndian.Uint32(packed[len(packed)-4:]))
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
	var exe bytes.Buffer
	exe.Grow(min(unpackedSize(packed), maxAgent) + bytes.MinRead) // that it is read at once
	if _, err := exe.ReadFrom(io.LimitReader(z, maxAgent+1)); err != nil {
		return agent{}, err
	}
	if exe.Len() > maxAgent {
		return agent{}, fmt.Errorf("larger than %d bytes", maxAgent)
	}
	digest := sha256.Sum256(exe.Bytes())
	sum := hex.EncodeToString(digest[:])
	if packed, _, err := told(files, file); err != nil || packed != "" && packed != sum {
		return agent{}, cmp.Or(err, fmt.Errorf("its SHA-256 is %s, and that of what was packed %s", sum, packed))
	}
	return agent{exe.Bytes(), sum}, nil
}
