package remotetest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"weft/internal/remote"
)

func (s *suite) readFile() {
	name := s.dir + "/it's a file"
	content := "\n\x00\xffno newline at the end"
	if _, err := s.host.Run(s.context(), remote.Cmd{Args: []string{"sh", "-c", `cat >"$1"`, "sh", name}, Stdin: strings.NewReader(content)}); err != nil {
		s.Fatal(err)
	}
	if got, err := s.host.ReadFile(s.context(), name); err != nil || string(got) != content {
		s.Errorf("got %q, %v; want %q", got, err, content)
	}
	for _, missing := range []string{s.dir + "/missing", s.dir + "/missing/deeper"} {
		if _, err := s.host.ReadFile(s.context(), missing); !errors.Is(err, fs.ErrNotExist) {
			s.Errorf("%s: %v; want fs.ErrNotExist", missing, err)
		}
	}
	if _, err := s.host.ReadFile(s.context(), s.dir); err == nil || errors.Is(err, fs.ErrNotExist) {
		s.Errorf("a directory: %v", err)
	}
}

func (s *suite) writeFile() {
	name := s.dir + "/new/deep er/it's.bin"
	big := bytes.Repeat([]byte("\x00\xff\nweft"), 500_000)
	for _, want := range []struct {
		content []byte
		mode    fs.FileMode
	}{{[]byte("first\n"), 0o644}, {big, 0o755}, {nil, 0o600}} {
		if err := s.host.WriteFile(s.context(), name, bytes.NewReader(want.content), want.mode); err != nil {
			s.Fatal(err)
		}
		look := remote.Look{File: name, Sum: true}
		seen, err := remote.Read(s.context(), s.host, []remote.Look{look})
		if err != nil {
			s.Fatal(err)
		}
		sum := sha256.Sum256(want.content)
		if got := seen.Of(look); got.Err != nil || got.Sum != hex.EncodeToString(sum[:]) || got.Mode != want.mode || got.Size != int64(len(want.content)) {
			s.Errorf("%d bytes, mode %o: got %+v", len(want.content), want.mode, got)
		}
	}
	s.onlyEntry(path.Dir(name), path.Base(name))
	if out := s.run("sh", "-c", `ls -ld "$1"`, "sh", s.dir+"/new"); !strings.HasPrefix(string(out.Stdout), "drwxr-xr-x") {
		s.Errorf("directory made as %s", out.Stdout)
	}
}

// onlyEntry checks that no temporary was left.
func (s *suite) onlyEntry(dir, want string) {
	s.Helper()
	if got := string(s.run("ls", "-A", dir).Stdout); got != want+"\n" {
		s.Errorf("%s holds %q; want only %q", dir, got, want)
	}
}

// broken is a reader that fails half-way.
type broken struct{ left int }

var errBroken = errors.New("the source is broken")

func (b *broken) Read(p []byte) (int, error) {
	if b.left == 0 {
		return 0, errBroken
	}
	n := min(len(p), b.left)
	b.left -= n
	return n, nil
}

func (s *suite) writeFileFails() {
	name := s.dir + "/file"
	if err := s.host.WriteFile(s.context(), name, strings.NewReader("before"), 0o644); err != nil {
		s.Fatal(err)
	}
	if err := s.host.WriteFile(s.context(), name, &broken{1 << 20}, 0o644); !errors.Is(err, errBroken) {
		s.Errorf("broken source: %v", err)
	}
	if got, err := s.host.ReadFile(s.context(), name); err != nil || string(got) != "before" {
		s.Errorf("after a failure: %q, %v", got, err)
	}
	if err := s.host.WriteFile(s.context(), name+"/below", strings.NewReader("x"), 0o644); err == nil {
		s.Error("wrote below a file")
	}
	s.onlyEntry(s.dir, "file")
	s.run("mkdir", s.dir+"/file2")
	if err := s.host.WriteFile(s.context(), s.dir+"/file2", strings.NewReader("x"), 0o644); err == nil {
		s.Error("replaced a directory")
	}
	if got := string(s.run("ls", "-A", s.dir+"/file2").Stdout); got != "" {
		s.Errorf("left %q behind", got)
	}
}

// writeFileBehind puts a file behind arguments that let it, or do not. Nothing is left
// of one that is not let.
func (s *suite) writeFileBehind() {
	name := s.dir + "/file"
	for _, size := range []int{3, 3 << 20} {
		text := strings.Repeat("x", size)
		if err := s.host.WriteFile(s.context(), name, strings.NewReader(text), 0o640, "sh", "-c", `shift; exec "$@"`, "sh", "word"); err != nil {
			s.Error(err)
		}
		if got, err := s.host.ReadFile(s.context(), name); err != nil || string(got) != text {
			s.Errorf("%d bytes were written, and %d are there: %v", size, len(got), err)
		}
		err := s.host.WriteFile(s.context(), name, strings.NewReader(text+"y"), 0o640, "sh", "-c", "echo not now >&2; exit 121", "sh", "word")
		if err == nil || !strings.Contains(err.Error(), "not now") {
			s.Errorf("got %v", err)
		}
		if got, err := s.host.ReadFile(s.context(), name); err != nil || string(got) != text {
			s.Errorf("what was not let was written: %d bytes are there: %v", len(got), err)
		}
		s.onlyEntry(s.dir, "file")
	}
}

// writeFileKilled ends the context while the content is being read.
func (s *suite) writeFileKilled() {
	ctx, stop := context.WithCancel(s.context())
	defer stop()
	name := s.dir + "/file"
	if err := s.host.WriteFile(ctx, name, &fateful{half: 1 << 20, left: 2 << 20, stop: stop}, 0o644); !errors.Is(err, context.Canceled) {
		s.Errorf("got %v", err)
	}
	if got := string(s.run("ls", "-A", s.dir).Stdout); got != "" {
		s.Errorf("left %q behind", got)
	}
}

// fateful ends a context when it has been read half-way, and goes on.
type fateful struct {
	half, left int
	stop       func()
}

func (f *fateful) Read(p []byte) (int, error) {
	n := min(len(p), f.left)
	if f.left -= n; f.left < f.half {
		f.stop()
	}
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
