package dir

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"weft/internal/store"
)

// What a line of the log says: put, delete, or lost, which stands for a line that the
// machine lost with its power, so that nobody was told of it.
const (
	opPut    = "put"
	opDelete = "delete"
	opLost   = "lost"
)

// keep is how many files of the log are kept.
const keep = 9

// A line of the log decides a change: REVISION OP UNIXNANO KEY SUM.
type line struct {
	rev store.Revision
	op  string
	at  time.Time
	key string
}

func (l line) encode() string {
	head := fmt.Sprintf("%d %s %d %s", l.rev, l.op, l.at.UnixNano(), l.key)
	return fmt.Sprintf("%s %08x\n", head, crc32.ChecksumIEEE([]byte(head)))
}

// decodeLine reads a line without its end.
func decodeLine(text string) (line, bool) {
	head, s, ok := cutLast(text)
	if !ok || s != fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(head))) {
		return line{}, false
	}
	f := strings.Split(head, " ")
	if len(f) != 4 {
		return line{}, false
	}
	rev, err1 := strconv.ParseUint(f[0], 10, 64)
	nano, err2 := strconv.ParseInt(f[2], 10, 64)
	return line{store.Revision(rev), f[1], time.Unix(0, nano), f[3]}, err1 == nil && err2 == nil
}

// longest is more than a line has.
const longest = store.MaxKey + 100

// number is how files are named whose order is that of revisions.
func number(r store.Revision) string { return fmt.Sprintf("%020d", r) }

// numbers are the revisions that files of a folder are named by, in order.
func numbers(folder string) ([]store.Revision, error) {
	names, err := readNames(folder)
	if err != nil {
		return nil, &store.UnavailableError{Err: err}
	}
	var out []store.Revision
	for _, name := range names {
		if r, err := strconv.ParseUint(name, 10, 64); err == nil && len(name) == len(number(0)) {
			out = append(out, store.Revision(r))
		}
	}
	slices.Sort(out)
	return out, nil
}

func readNames(folder string) ([]string, error) {
	d, err := os.Open(folder)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return d.Readdirnames(-1)
}

// A tail is the end of the log: what the next change goes after.
type tail struct {
	file  string
	last  store.Revision
	size  int64 // of its whole lines
	torn  bool  // and there is something behind them
	first store.Revision
	all   []store.Revision // where files of the log begin
}

// tail reads the end of the log.
func (t *table) tail() (tail, error) {
	all, err := numbers(t.logs())
	if err != nil {
		return tail{}, err
	}
	if len(all) == 0 {
		return tail{file: filepath.Join(t.logs(), number(1)), first: 1}, nil
	}
	first := all[len(all)-1]
	e := tail{file: filepath.Join(t.logs(), number(first)), first: first, last: first - 1, all: all}
	f, err := os.Open(e.file)
	if err != nil {
		return tail{}, &store.UnavailableError{Err: err}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return tail{}, &store.UnavailableError{Err: err}
	}
	from := max(0, info.Size()-4*longest)
	text, err := io.ReadAll(io.NewSectionReader(f, from, info.Size()-from))
	if err != nil {
		return tail{}, &store.UnavailableError{Err: err}
	}
	e.size = from
	found := from == 0
	if from > 0 { // the first line is not whole
		i := bytes.IndexByte(text, '\n') + 1
		text, e.size = text[i:], e.size+int64(i)
	}
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\n')
		l, ok := decodeLine(string(text[:max(i, 0)]))
		switch {
		case ok && e.torn: // what comes after it was acknowledged
			return tail{}, &store.CorruptError{What: e.file, Why: fmt.Sprintf("the line at byte %d is not what was written", e.size)}
		case ok:
			e.last, found, e.size = l.rev, true, e.size+int64(i)+1
		default:
			e.torn = true
		}
		if i < 0 {
			break
		}
		text = text[i+1:]
	}
	if !found {
		return tail{}, &store.CorruptError{What: e.file, Why: "its last lines are not what was written"}
	}
	return e, nil
}

// append writes a line; with it the change is made. Where it cannot be told, the next
// one to look tells.
func (t *table) append(e tail, l line) error {
	f, err := os.OpenFile(e.file, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return &store.UnavailableError{Err: err}
	}
	defer f.Close()
	if _, err = f.WriteAt([]byte(l.encode()), e.size); err == nil {
		t.o.step("log")
		err = t.o.syncFile(f)
	}
	if err != nil {
		return &store.UnavailableError{Err: err, Unknown: true}
	}
	if e.size == 0 {
		if err := t.o.syncDir(t.logs()); err != nil {
			return &store.UnavailableError{Err: err, Unknown: true}
		}
	}
	return nil
}

// turn begins a new file of the log where the last one is full, and removes the oldest.
func (t *table) turn(e tail) error {
	if e.size < t.o.segment {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(t.logs(), number(e.last+1)), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), t.o.syncDir(t.logs())); err != nil {
		return err
	}
	for len(e.all) >= keep {
		if err := os.Remove(filepath.Join(t.logs(), number(e.all[0]))); err != nil {
			break // Windows: another process reads it; the next turn removes it
		}
		e.all = e.all[1:]
	}
	return nil
}
