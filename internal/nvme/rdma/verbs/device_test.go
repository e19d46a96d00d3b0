//go:build linux && (amd64 || arm64)

package verbs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"weft/internal/hint"
)

// TestMissing: what is missing is said together with what to do about it.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	devices, cm := filepath.Join(dir, "infiniband"), filepath.Join(dir, "rdma_cm")
	want := func(what string, err error, advice string) {
		t.Helper()
		if err == nil || !strings.Contains(hint.Of(err), advice) {
			t.Errorf("%s: %v (hint %q), want advice about %s", what, err, hint.Of(err), advice)
		}
	}
	want("no class of devices", present(devices, cm), "rdma link show")
	if err := os.MkdirAll(filepath.Join(devices, "mlx5_0"), 0o755); err != nil {
		t.Fatal(err)
	}
	want("no connection manager", present(devices, cm), "modprobe rdma_ucm")
	if err := os.WriteFile(cm, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := present(devices, cm); err != nil {
		t.Error(err)
	}
	want("no permission", unopened(&fs.PathError{Op: "open", Path: cmFile, Err: syscall.EACCES}), "/dev/infiniband")
	for _, e := range []syscall.Errno{syscall.ENOMEM, syscall.EAGAIN} {
		want("too little locked memory", unpinned(fmt.Errorf("register 4096 bytes on mlx5_0: %w", e)), "ulimit -l")
	}
	if err := unpinned(syscall.EINVAL); hint.Of(err) != "" {
		t.Errorf("%v is advised: %s", err, hint.Of(err))
	}
	want("no library", open("libweft-none.so.1", "libnone1 (Debian, Ubuntu)", new(struct{})), "install the package libnone1")
	for err, advice := range map[syscall.Errno]string{syscall.ENODEV: "rdma link show", syscall.EADDRNOTAVAIL: "ip addr show"} {
		want("listen", unbound(err), advice)
	}
	want("resolve", unresolved(syscall.ENODEV), "ip route get")
}

// TestOldLibrary: a library without a function that is needed is refused.
func TestOldLibrary(t *testing.T) {
	var table struct{ Ibv_no_such_function uintptr }
	err := open("libibverbs.so.1", "libibverbs1", &table)
	if err == nil {
		t.Error("the function was found")
	} else if advice := hint.Of(err); !strings.Contains(advice, "rdma-core") && !strings.Contains(advice, "libibverbs1") {
		t.Errorf("%v (hint %q)", err, advice)
	}
}

// TestNoRoute: routes of InfiniBand are the subnet manager's business.
func TestNoRoute(t *testing.T) {
	err := event{kind: cmRouteError, status: -int(syscall.ETIMEDOUT)}.err()
	if !errors.Is(err, syscall.ETIMEDOUT) || !strings.Contains(hint.Of(err), "sminfo") {
		t.Errorf("%v (hint %q)", err, hint.Of(err))
	}
}
