package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strings"
)

// A Digest names a blob by its content: sha256- and 64 hex digits.
type Digest string

const digestPrefix = "sha256-"

// NewDigest is the name of what was hashed with SHA-256.
func NewDigest(h hash.Hash) Digest { return Digest(digestPrefix + hex.EncodeToString(h.Sum(nil))) }

// Check refuses what is no digest.
func (d Digest) Check() error {
	digits, ok := strings.CutPrefix(string(d), digestPrefix)
	if !ok || len(digits) != 2*sha256.Size || strings.Trim(digits, "0123456789abcdef") != "" {
		return &InvalidError{Key: string(d), Why: "a digest is sha256- and 64 hex digits"}
	}
	return nil
}

// Verify reads a blob, and ends in a CorruptError in place of io.EOF if it is not what
// its digest says.
func Verify(r io.ReadCloser, d Digest) io.ReadCloser {
	return &verified{ReadCloser: r, want: d, sum: sha256.New()}
}

type verified struct {
	io.ReadCloser
	want Digest
	sum  hash.Hash
}

func (v *verified) Read(p []byte) (int, error) {
	n, err := v.ReadCloser.Read(p)
	v.sum.Write(p[:n])
	if err == io.EOF {
		if got := NewDigest(v.sum); got != v.want {
			return n, &CorruptError{What: "blob " + string(v.want), Why: fmt.Sprintf("its sum is %s", got)}
		}
	}
	return n, err
}
