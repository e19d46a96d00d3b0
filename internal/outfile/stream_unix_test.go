//go:build unix

package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// private is a folder that only this user may write to.
func private(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "private")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func link(t *testing.T, to, name string) {
	t.Helper()
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
}

func TestLinks(t *testing.T) {
	dir := private(t)
	target := filepath.Join(dir, "target")
	link(t, "target", filepath.Join(dir, "relative"))
	link(t, filepath.Join(dir, "relative"), filepath.Join(dir, "chain"))
	for _, was := range []bool{false, true} {
		if was {
			put(t, target, 0o644)
		}
		if err := Write(t.Context(), filepath.Join(dir, "chain"), []byte("text"), Options{}); err != nil {
			t.Fatal(err)
		}
		holds(t, target, "text")
		for _, name := range []string{"relative", "chain"} {
			if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode().Type() != fs.ModeSymlink {
				t.Errorf("%s is no symbolic link any more: %v", name, err)
			}
		}
		alone(t, dir, "chain", "relative", "target")
	}
	link(t, "round", filepath.Join(dir, "about"))
	link(t, "about", filepath.Join(dir, "round"))
	if err := Write(t.Context(), filepath.Join(dir, "round"), nil, Options{}); err == nil || !strings.Contains(err.Error(), "more than 40 symbolic links") {
		t.Error(err)
	}
	link(t, dir, filepath.Join(dir, "folder"))
	if err := Write(t.Context(), filepath.Join(dir, "folder"), nil, Options{}); err == nil || !strings.Contains(err.Error(), "is a directory") {
		t.Error(err)
	}
}

// TestLinkAcross: what stands behind a link to a folder is not where its text says.
func TestLinkAcross(t *testing.T) {
	dir := private(t)
	if err := os.MkdirAll(filepath.Join(dir, "far", "away"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, filepath.Join(dir, "far", "away"), filepath.Join(dir, "near"))
	link(t, "../file", filepath.Join(dir, "far", "away", "up"))
	if err := Write(t.Context(), filepath.Join(dir, "near", "up"), []byte("text"), Options{}); err != nil {
		t.Fatal(err)
	}
	holds(t, filepath.Join(dir, "far", "file"), "text")
}

func TestLinksOfOthers(t *testing.T) {
	for _, mode := range []fs.FileMode{0o777 | fs.ModeSticky, 0o777, 0o775, 0o757} {
		dir := private(t)
		target := filepath.Join(dir, "target")
		put(t, target, 0o600)
		shared := filepath.Join(dir, "shared")
		if err := os.Mkdir(shared, 0o700); err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(shared, "link")
		link(t, target, name)
		if err := os.Chmod(shared, mode); err != nil {
			t.Fatal(err)
		}
		if err := Write(t.Context(), name, nil, Options{}); err == nil || !strings.Contains(err.Error(), "other users may write to its folder") {
			t.Errorf("%v: %v", mode, err)
		}
		holds(t, target, "before")
	}
	if os.Geteuid() != 0 {
		t.Skip("only root gives files to other users")
	}
	for _, which := range []string{"link", "folder"} {
		dir := private(t)
		put(t, filepath.Join(dir, "target"), 0o600)
		name := filepath.Join(dir, "link")
		link(t, "target", name)
		given := map[string]string{"link": name, "folder": dir}[which]
		if err := os.Lchown(given, 12345, 12345); err != nil {
			t.Fatal(err)
		}
		if err := Write(t.Context(), name, nil, Options{}); err == nil || !strings.Contains(err.Error(), "neither this user nor root") {
			t.Errorf("%s: %v", which, err)
		}
		holds(t, filepath.Join(dir, "target"), "before")
	}
}

// TestFIFO: the reader comes after the writer, and gets all of it.
func TestFIFO(t *testing.T) {
	dir := private(t)
	fifo := filepath.Join(dir, "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	link(t, "fifo", filepath.Join(dir, "link"))
	for _, name := range []string{"fifo", "link"} {
		text := strings.Repeat("0123456789", 50_000) // more than a pipe holds
		wrote := make(chan error, 1)
		go func() {
			wrote <- Write(t.Context(), filepath.Join(dir, name), []byte(text), Options{Secret: true, New: true})
		}()
		f, err := os.Open(fifo)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err := errors.Join(err, f.Close(), <-wrote); err != nil || string(got) != text {
			t.Errorf("%s: %d bytes of %d (%v)", name, len(got), len(text), err)
		}
	}
	if info, err := os.Lstat(fifo); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
		t.Errorf("it is no FIFO any more: %v", err)
	}
	alone(t, dir, "fifo", "link")
}

// TestFIFOInterrupted ends while it waits for a reader, and while the reader does not read.
func TestFIFOInterrupted(t *testing.T) {
	fifo := filepath.Join(private(t), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	why := errors.New("Ctrl-C")
	ctx, end := context.WithCancelCause(t.Context())
	wrote := make(chan error, 1)
	go func() { wrote <- Write(ctx, fifo, []byte("text"), Options{}) }()
	end(why)
	if err := <-wrote; !errors.Is(err, why) || !strings.Contains(err.Error(), "no process reads this FIFO") {
		t.Error(err)
	}

	ctx, end = context.WithCancelCause(t.Context())
	go func() { wrote <- Write(ctx, fifo, make([]byte, 1<<20), Options{}) }()
	f, err := os.Open(fifo)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := io.ReadFull(f, make([]byte, 1)); err != nil { // it is being written
		t.Fatal(err)
	}
	end(why)
	if err := <-wrote; !errors.Is(err, why) || !strings.Contains(err.Error(), "not all was written") {
		t.Error(err)
	}
}

func TestDevices(t *testing.T) {
	dir := private(t)
	link(t, os.DevNull, filepath.Join(dir, "null"))
	names := []string{os.DevNull, filepath.Join(dir, "null")}
	if os.Geteuid() == 0 {
		node := filepath.Join(dir, "node")
		if err := unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 3))); err == nil { // containers may refuse
			names = append(names, node)
		}
	}
	for _, name := range names {
		if file, err := Check(name); file || err != nil {
			t.Errorf("%s: %v %v", name, file, err)
		}
		err := Write(t.Context(), name, []byte("text"), Options{Secret: true, New: true})
		if info, lost := os.Stat(name); lost != nil || info.Mode().Type() != fs.ModeDevice|fs.ModeCharDevice {
			t.Fatalf("%s is no device any more: %v", name, lost)
		}
		if err != nil && !errors.Is(err, fs.ErrPermission) { // a file system without devices
			t.Errorf("%s: %v", name, err)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%q is left (%v)", left, err)
	}
}

// TestOpenFiles: bash names the pipe of >(…) as an open file.
func TestOpenFiles(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("there is no /proc")
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := Write(t.Context(), fmt.Sprintf("/dev/fd/%d", w.Fd()), []byte("text"), Options{}); err != nil {
		t.Error(err)
	}
	w.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "text" {
		t.Errorf("%q %v", got, err)
	}
	f, err := os.Create(filepath.Join(private(t), "file"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := Write(t.Context(), fmt.Sprintf("/dev/fd/%d", f.Fd()), nil, Options{}); err == nil || !strings.Contains(err.Error(), "is open already") {
		t.Error(err)
	}
}

func TestSocket(t *testing.T) {
	t.Chdir(private(t)) // the names of sockets are short
	ln, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if err := Write(t.Context(), "socket", nil, Options{}); err == nil || !strings.Contains(err.Error(), "is a socket") {
		t.Error(err)
	}
}
