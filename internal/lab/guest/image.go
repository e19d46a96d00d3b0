//go:build linux

package guest

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"weft/internal/wait"
)

// The recipe of the image: whatever is changed here makes another image.
//
//go:embed recipe
var recipe embed.FS

// diskSize is how large a guest's disk is; the file is sparse.
const diskSize = 6 << 30

// mkfs makes the file system of a disk. Its journal lets a guest whose button
// is pressed start again without a check.
func mkfs(root, disk string) []string {
	return []string{"mkfs.ext4", "-q", "-J", "size=16", "-d", root, disk}
}

// buildTimeout is how long building an image may take at most.
const buildTimeout = 30 * time.Minute

// An Image is what guests boot from. It is never written to.
type Image struct {
	Kernel, Initrd, Disk string        // files
	Built                time.Duration // how long it took; 0: it was there
}

// cacheDir is where images and runs are kept.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("where to keep images: %w", err)
	}
	return filepath.Join(base, "weft", "lab"), nil
}

// key tells recipes apart.
func key() (string, error) {
	sum := sha256.New()
	err := fs.WalkDir(recipe, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := recipe.ReadFile(path)
		fmt.Fprintf(sum, "%s %d\n%s", path, len(text), text)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("reading the recipe: %w", err)
	}
	fmt.Fprintf(sum, "%s %d %q", Suite, diskSize, mkfs("", ""))
	return hex.EncodeToString(sum.Sum(nil))[:16], nil
}

// Build returns the image of the recipe, and makes it where there is none yet.
// Several processes may ask at once: one builds, the others wait.
// log is told what happens; nil: nobody.
func Build(ctx context.Context, log io.Writer) (*Image, error) {
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	name, err := key()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(cache, "image-"+name)
	image := &Image{Kernel: filepath.Join(dir, "kernel"), Initrd: filepath.Join(dir, "initrd"), Disk: filepath.Join(dir, "disk")}
	if image.there() {
		return image, nil
	}
	if err := Missing(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o700); err != nil {
		return nil, fmt.Errorf("where to keep images: %w", err)
	}
	lock, err := waitLock(ctx, filepath.Join(cache, "lock"))
	if err != nil {
		return nil, fmt.Errorf("waiting for another image to be built: %w", err)
	}
	defer lock.Close()
	if image.there() {
		return image, nil
	}
	begun := time.Now()
	if err := build(ctx, dir, &progress{w: log, begun: begun}); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoImage, err)
	}
	image.Built = time.Since(begun)
	return image, forget(cache, dir)
}

func (i *Image) there() bool {
	for _, name := range []string{i.Kernel, i.Initrd, i.Disk} {
		if _, err := os.Stat(name); err != nil {
			return false
		}
	}
	return true
}

// build makes an image next to its place and moves it there when it is whole.
func build(ctx context.Context, dir string, p *progress) error {
	ctx, cancel := context.WithTimeout(ctx, buildTimeout)
	defer cancel()
	source, err := mirror(ctx, "/etc")
	if err != nil {
		return err
	}
	if err := forgetParts(filepath.Dir(dir)); err != nil {
		return err
	}
	part := dir + ".part"
	defer os.RemoveAll(part) // nothing is left of it when all went well
	if err := os.MkdirAll(part, 0o700); err != nil {
		return err
	}
	root := filepath.Join(part, "root")
	p.say("debootstrap of %s from %s", Suite, source)
	// What needs a certificate is there before the first package is fetched.
	if err := step(ctx, part, "", "debootstrap", "--variant=minbase", "--include=ca-certificates", Suite, root, source); err != nil {
		return err
	}
	if err := os.CopyFS(root, recipe); err != nil {
		return fmt.Errorf("unpacking the recipe: %w", err)
	}
	p.say("packages, modules and initrd")
	if err := step(ctx, "/", root, "/bin/sh", "/recipe/inside.sh"); err != nil {
		return err
	}
	p.say("disk")
	disk := filepath.Join(part, "disk")
	if err := sparse(disk, diskSize); err != nil {
		return err
	}
	if err := step(ctx, part, "", mkfs(root, disk)...); err != nil {
		return err
	}
	for name, at := range map[string]string{"kernel": "boot/lab.kernel", "initrd": "boot/lab.initrd"} {
		if err := os.Rename(filepath.Join(root, at), filepath.Join(part, name)); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(root); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil { // not whole, or it would have been taken
		return err
	}
	p.say("the image is built")
	return os.Rename(part, dir)
}

// sparse makes a file of a size that takes no room yet.
func sparse(name string, size int64) error {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Truncate(size), f.Close())
}

// copySparse copies a file whose holes take no room, as new.
func copySparse(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	out, err := exec.Command("cp", "--sparse=always", "--reflink=auto", "--no-preserve=mode", "--", from, to).CombinedOutput()
	if err != nil {
		return fmt.Errorf("copying %s: %w: %s", from, err, strings.TrimSpace(string(out)))
	}
	return nil
}

// step runs one program of the recipe apart from everything else, below a
// root where one is given. Its last lines are in the error.
func step(ctx context.Context, dir, root string, args ...string) error {
	path := args[0]
	if root == "" {
		var err error
		if path, err = find(path); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, path, args[1:]...)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C"}
	for _, scheme := range []string{"http", "https"} {
		if p := cmp.Or(proxyOf(scheme), os.Getenv(scheme+"_proxy")); p != "" {
			cmd.Env = append(cmd.Env, scheme+"_proxy="+p)
		}
	}
	cmd.SysProcAttr = apart()
	cmd.SysProcAttr.Chroot = root
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := onOneThread(cmd.Run); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, tail(out.String(), 15))
	}
	return nil
}

// forgetParts takes away what builds left that never ended: nobody builds but
// who holds the lock.
func forgetParts(cache string) error {
	parts, err := filepath.Glob(filepath.Join(cache, "image-*.part"))
	if err != nil {
		return err
	}
	for _, part := range parts {
		if err := os.RemoveAll(part); err != nil {
			return fmt.Errorf("taking away a half-built image: %w", err)
		}
	}
	return nil
}

// forget takes away images of recipes that are no more: all but the newest
// three.
func forget(cache, current string) error {
	dirs, err := filepath.Glob(filepath.Join(cache, "image-*"))
	if err != nil {
		return err
	}
	age := func(dir string) time.Time {
		if info, err := os.Stat(dir); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	slices.SortFunc(dirs, func(a, b string) int { return age(b).Compare(age(a)) })
	kept := 0
	for _, dir := range dirs {
		if dir == current || kept < 2 {
			kept++
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("taking away an old image: %w", err)
		}
	}
	return nil
}

// waitLock takes a lock that other processes may hold for minutes.
func waitLock(ctx context.Context, name string) (*os.File, error) {
	for {
		f, err := tryLock(name)
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return f, err
		}
		if !wait.For(ctx, 200*time.Millisecond) {
			return nil, ctx.Err()
		}
	}
}

// tryLock takes a lock, or says EWOULDBLOCK.
func tryLock(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close() // nothing was written
		return nil, err
	}
	return f, nil
}

// tail is the last lines of a text.
func tail(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// A progress says what is being done, and since when.
type progress struct {
	w     io.Writer
	begun time.Time
}

func (p *progress) say(format string, args ...any) {
	if p.w != nil {
		fmt.Fprintf(p.w, "lab: %3.0fs %s\n", time.Since(p.begun).Seconds(), fmt.Sprintf(format, args...))
	}
}
