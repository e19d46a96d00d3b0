package dir

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"weft/internal/store"
)

// A document is a line and the value:
//
//	weft-store 1 REVISION put|delete UNIXNANO KEY SUM
//
// with the sum of everything but itself. One that was deleted stands only between a
// rename and a removal.
type document struct {
	store.Entry
	deleted bool
}

const words = "weft-store 1"

func (d document) op() string {
	if d.deleted {
		return "delete"
	}
	return "put"
}

// head is the document's line up to its sum.
func (d document) head() string {
	return fmt.Sprintf("%s %d %s %d %s", words, d.Revision, d.op(), d.Written.UnixNano(), d.Key)
}

func sum(head string, value []byte) string {
	h := sha256.New()
	h.Write([]byte(head + "\n"))
	h.Write(value)
	return hex.EncodeToString(h.Sum(nil))
}

func (d document) encode() []byte {
	head := d.head()
	return append([]byte(head+" "+sum(head, d.Value)+"\n"), d.Value...)
}

var errSum = errors.New("it is not what was written")

func decode(text []byte) (document, error) {
	line, value, ok := bytes.Cut(text, []byte("\n"))
	head, s, ok2 := cutLast(string(line))
	if !ok || !ok2 || s != sum(head, value) {
		return document{}, errSum
	}
	var d document
	var op string
	var nano int64
	rest, ok := strings.CutPrefix(head, words+" ")
	if _, err := fmt.Sscanf(rest, "%d %s %d %s", &d.Revision, &op, &nano, &d.Key); !ok || err != nil {
		return document{}, fmt.Errorf("it begins with %q: a newer weft may have written it", head)
	}
	d.Written, d.Value, d.deleted = time.Unix(0, nano), value, op == "delete"
	return d, nil
}

// cutLast cuts the last word off.
func cutLast(line string) (rest, word string, ok bool) {
	i := strings.LastIndexByte(line, ' ')
	if i < 0 {
		return "", "", false
	}
	return line[:i], line[i+1:], true
}

// file is where a document stands. The marks keep a document and a folder of
// the same name apart, and names that Windows reserves away.
func (t *table) file(key string) string {
	folder, name := t.data(), key
	if i := strings.LastIndexByte(key, '/'); i >= 0 {
		folder, name = t.folder(key[:i]), key[i+1:]
	}
	return filepath.Join(folder, "="+name)
}

// folder is where documents below a folder stand.
func (t *table) folder(name string) string {
	if name == "" {
		return t.data()
	}
	return filepath.Join(t.data(), filepath.FromSlash("+"+strings.ReplaceAll(name, "/", "/+")))
}

// read reads a document; a NotFoundError where there is none.
func (t *table) read(key string) (document, error) {
	file := t.file(key)
	text, err := os.ReadFile(file)
	if missing(err) {
		return document{}, &store.NotFoundError{Key: key}
	} else if err != nil {
		return document{}, &store.UnavailableError{Err: err}
	}
	d, err := decode(text)
	if err == nil && d.Key != key {
		err = fmt.Errorf("it is %s", d.Key)
	}
	if err != nil {
		return document{}, &store.CorruptError{What: key + " (" + file + ")", Why: err.Error()}
	}
	if d.deleted {
		return d, &store.NotFoundError{Key: key}
	}
	return d, nil
}
