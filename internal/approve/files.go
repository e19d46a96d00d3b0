package approve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"weft/internal/outfile"
	"weft/internal/sshsig"
	"weft/plan"
)

const (
	maxFiles  = 1_000    // of a folder
	maxBytes  = 64 << 10 // of one file
	maxList   = 1 << 20  // bytes of a list of signers
	signature = ".sig"
)

// Read reads the approvals in a folder: each file NAME that has a NAME.sig. A folder
// that is not there holds none.
func Read(dir string) ([]Signed, error) {
	return read(dir, func(string) bool { return true })
}

// ReadBeside reads the approvals that weft approve writes beside a plan file: PLAN.NAME.
func ReadBeside(plan string) ([]Signed, error) {
	return read(filepath.Dir(plan), func(name string) bool { return strings.HasPrefix(name, filepath.Base(plan)+".") })
}

// read reads the approvals in a folder whose names are wanted.
func read(dir string, wanted func(name string) bool) ([]Signed, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("approvals: %w", err)
	}
	var list []Signed
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), signature)
		if !ok || !wanted(name) {
			continue
		}
		if len(list) == maxFiles {
			return nil, fmt.Errorf("approvals: %s holds more than %d", dir, maxFiles)
		}
		x := Signed{Name: filepath.Join(dir, name)}
		if x.Signature, err = bounded(x.Name + signature); err == nil {
			x.Text, err = bounded(x.Name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil // Parse says that it is no approval
		}
		if err != nil {
			return nil, fmt.Errorf("approvals: %w", err)
		}
		list = append(list, x)
	}
	return list, nil
}

// bounded reads a small regular file.
func bounded(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if is, err := f.Stat(); err != nil || !is.Mode().IsRegular() {
		return nil, errors.Join(err, fmt.Errorf("%s is not a regular file", path))
	}
	text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(text) > maxBytes {
		err = fmt.Errorf("%s has more than %d bytes", path, maxBytes)
	}
	return text, err
}

// Joined is an approval as one text, for where there are no files.
func (x Signed) Joined() []byte { return append(append([]byte(nil), x.Text...), x.Signature...) }

// Split is the inverse of Joined.
func Split(name string, text []byte) Signed {
	at := bytes.Index(text, []byte("-----BEGIN SSH SIGNATURE-----"))
	if at < 0 {
		at = len(text)
	}
	return Signed{Name: name, Text: text[:at], Signature: text[at:]}
}

// Sign signs a statement with a key; certified is a certificate of that key, or nil.
func (s *Statement) Sign(key ssh.Signer, certified *ssh.Certificate) (Signed, error) {
	x := Signed{Text: s.Text()}
	var err error
	x.Signature, err = sshsig.Sign(key, certified, Namespace, x.Text)
	return x, err
}

// Signer checks that a signature is good for its text, whoever may sign, and returns
// what was signed by which key.
func (x Signed) Signer() (*Statement, ssh.PublicKey, error) {
	s, err := Parse(x.Text)
	if err != nil {
		return nil, nil, err
	}
	key, err := sshsig.Verify(x.Signature, x.Text, Namespace)
	return s, key, err
}

// Write writes an approval as two files, which ssh-keygen -Y verify takes.
func Write(ctx context.Context, path string, x Signed) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := outfile.Write(ctx, path, x.Text, outfile.Options{Secret: true}); err != nil { // without its signature it is nothing
		return err
	}
	return outfile.Write(ctx, path+signature, x.Signature, outfile.Options{Secret: true})
}

// NewSigners reads a list of those who may approve.
func NewSigners(name string, text []byte, base string) (*Signers, error) {
	if len(text) > maxList {
		return nil, fmt.Errorf("%s has more than %d bytes", name, maxList)
	}
	list, err := sshsig.ReadSigners(name, text, time.UTC)
	if err != nil {
		return nil, err
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s names nobody", name)
	}
	return &Signers{List: slices.Clip(list), Digest: plan.DigestOf(text), Base: base}, nil
}
