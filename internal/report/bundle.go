package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// SignedFor is the namespace of the signature of a bundle.
const SignedFor = "weft-report"

// The two files of a bundle that are about the others: their sums, as sha256sum writes
// them, and the signature of that list.
const (
	sumsFile      = "SHA256SUMS"
	signatureFile = "SHA256SUMS.sig"
)

// mostSums bounds what is read of the list of sums and of its signature.
const mostSums = 1 << 20

// A File is one of a bundle.
type File struct {
	Name string // without a folder
	Text []byte
}

// Bundle writes files as one archive, a tar that is compressed by gzip: in one folder,
// with their sums, and with a signature of these where sign is not nil. The same files
// give the same archive.
func Bundle(w io.Writer, folder string, made time.Time, files []File, sign func(text []byte) ([]byte, error)) error {
	var sums bytes.Buffer
	for _, f := range files {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(f.Text), f.Name)
	}
	all := append(files[:len(files):len(files)], File{sumsFile, sums.Bytes()})
	if sign != nil {
		signature, err := sign(sums.Bytes())
		if err != nil {
			return err
		}
		all = append(all, File{signatureFile, signature})
	}
	zip := gzip.NewWriter(w)
	out := tar.NewWriter(zip)
	for _, f := range all {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + f.Name, Mode: 0o600, Size: int64(len(f.Text)), ModTime: made.Truncate(time.Second), Format: tar.FormatPAX}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := out.Write(f.Text); err != nil {
			return err
		}
	}
	return errors.Join(out.Close(), zip.Close())
}

// Checked is a bundle whose files are those of its list.
type Checked struct {
	Files     []string
	Sums      []byte // the list, which a signature is of
	Signature []byte // nil: it is not signed
}

// CheckBundle reads an archive that Bundle wrote, and holds each file against its sum: none
// may be changed, missing or not listed. It keeps none of them in memory.
func CheckBundle(r io.Reader) (*Checked, error) {
	zip, err := gzip.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("it is no bundle: %w", err)
	}
	c, are := new(Checked), map[string]string{}
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			if _, err = io.Copy(io.Discard, zip); err == nil { // its own sum is at the end
				break
			}
		}
		if err != nil {
			return nil, fmt.Errorf("it is no bundle, or not all of one: %w", err)
		}
		if h.Typeflag == tar.TypeDir {
			continue // of one that somebody unpacked and packed again
		}
		_, name := path.Split(h.Name)
		if h.Typeflag != tar.TypeReg || name == "" || strings.Count(h.Name, "/") != 1 {
			return nil, fmt.Errorf("%q is no file that weft puts into a bundle", h.Name)
		}
		if _, twice := are[name]; twice {
			return nil, fmt.Errorf("%s is there twice", name)
		}
		var text bytes.Buffer
		sum := sha256.New()
		into := io.Writer(sum)
		if name == sumsFile || name == signatureFile {
			if h.Size > mostSums {
				return nil, fmt.Errorf("%s of %d bytes is none of a bundle", name, h.Size)
			}
			into = &text
		}
		if _, err := io.Copy(into, in); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		are[name] = hex.EncodeToString(sum.Sum(nil))
		switch name {
		case sumsFile:
			c.Sums = text.Bytes()
		case signatureFile:
			c.Signature = text.Bytes()
		default:
			c.Files = append(c.Files, name)
		}
	}
	if c.Sums == nil {
		return nil, errors.New("it has no " + sumsFile)
	}
	return c, c.hold(are)
}

// hold holds the sums of what is there against the list.
func (c *Checked) hold(are map[string]string) error {
	listed := map[string]bool{}
	for line := range strings.Lines(string(c.Sums)) {
		want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		is, there := are[name]
		switch {
		case !ok || listed[name] || name == sumsFile || name == signatureFile:
			return fmt.Errorf("%s has a line that weft does not write: %q", sumsFile, line)
		case !there:
			return fmt.Errorf("%s is listed and not there", name)
		case is != want:
			return fmt.Errorf("%s was changed: it has the sum %s, %s says %s", name, is, sumsFile, want)
		}
		listed[name] = true
	}
	for _, name := range c.Files {
		if !listed[name] {
			return fmt.Errorf("%s is not listed in %s", name, sumsFile)
		}
	}
	return nil
}
