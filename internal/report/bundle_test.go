package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

// packed is a bundle of two files, signed by somebody who says so.
func packed(t testing.TB) []byte {
	t.Helper()
	var out bytes.Buffer
	err := Bundle(&out, "r", time.Unix(1, 5), []File{{"a.md", []byte("a")}, {"b.json", []byte("{}")}}, func(text []byte) ([]byte, error) { return append([]byte("signed:"), text...), nil })
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// repacked is that bundle with its entries edited.
func repacked(t *testing.T, edit func([]File) []File) []byte {
	t.Helper()
	zip, err := gzip.NewReader(bytes.NewReader(packed(t)))
	if err != nil {
		t.Fatal(err)
	}
	var files []File
	for in := tar.NewReader(zip); ; {
		h, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		text, more := io.ReadAll(in)
		if err := errors.Join(err, more); err != nil {
			t.Fatal(err)
		}
		files = append(files, File{h.Name, text})
	}
	var out bytes.Buffer
	packing := gzip.NewWriter(&out)
	to := tar.NewWriter(packing)
	for _, f := range edit(files) {
		if err := to.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.Name, Size: int64(len(f.Text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(f.Text); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(to.Close(), packing.Close()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestBundle(t *testing.T) {
	text := packed(t)
	c, err := CheckBundle(bytes.NewReader(text))
	if err != nil || !slices.Equal(c.Files, []string{"a.md", "b.json"}) {
		t.Fatalf("%+v, %v", c, err)
	}
	const sums = "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb  a.md\n44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a  b.json\n"
	if string(c.Sums) != sums || string(c.Signature) != "signed:"+sums {
		t.Errorf("%s, signed %s", c.Sums, c.Signature)
	}
	if !bytes.Equal(text, packed(t)) {
		t.Error("the same files give another archive")
	}
	refused := errors.New("no key")
	if err := Bundle(io.Discard, "r", time.Time{}, nil, func([]byte) ([]byte, error) { return nil, refused }); !errors.Is(err, refused) {
		t.Errorf("nobody signs: %v", err)
	}
}

func TestChangedBundle(t *testing.T) {
	change := func(name, text string) func([]File) []File {
		return func(files []File) []File {
			for i := range files {
				if files[i].Name == name {
					files[i].Text = []byte(text)
				}
			}
			return files
		}
	}
	add := func(f File) func([]File) []File { return func(files []File) []File { return append(files, f) } }
	drop := func(name string) func([]File) []File {
		return func(files []File) []File {
			return slices.DeleteFunc(files, func(f File) bool { return f.Name == name })
		}
	}
	for says, edit := range map[string]func([]File) []File{
		"a.md was changed":                           change("r/a.md", "b"),
		"a.md is listed and not there":               drop("r/a.md"),
		"c.md is not listed":                         add(File{"r/c.md", []byte("c")}),
		"a.md is there twice":                        add(File{"r/a.md", []byte("a")}),
		"a.md is there twice ":                       add(File{"s/a.md", []byte("a")}),
		`"r/../x" is no file`:                        add(File{"r/../x", nil}),
		`"x" is no file`:                             add(File{"x", nil}),
		"it has no SHA256SUMS":                       drop("r/SHA256SUMS"),
		"a line that weft does not write: \"hello\"": change("r/SHA256SUMS", "hello"),
		"SHA256SUMS of 1048577 bytes":                change("r/SHA256SUMS", strings.Repeat("x", mostSums+1)),
	} {
		if _, err := CheckBundle(bytes.NewReader(repacked(t, edit))); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(says)) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	text := packed(t)
	for _, broken := range [][]byte{nil, []byte("hello"), text[:len(text)/2], text[:len(text)-9]} {
		if _, err := CheckBundle(bytes.NewReader(broken)); err == nil {
			t.Errorf("%d bytes of %d pass", len(broken), len(text))
		}
	}
}

// What passes has the sums that it says.
func FuzzCheckBundle(f *testing.F) {
	f.Add(packed(f))
	f.Fuzz(func(t *testing.T, text []byte) {
		if c, err := CheckBundle(bytes.NewReader(text)); err == nil && strings.Count(string(c.Sums), "\n") < len(c.Files) {
			t.Errorf("%d files, sums:\n%s", len(c.Files), c.Sums)
		}
	})
}
