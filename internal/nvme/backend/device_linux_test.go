package backend

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// loop makes a block device of a file, where the system lets it.
func loop(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "disk")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("losetup", "--find", "--show", path).CombinedOutput()
	if err != nil {
		t.Skipf("no loop device to try: %v: %s", err, out)
	}
	device := strings.TrimSpace(string(out))
	t.Cleanup(func() {
		if out, err := exec.Command("losetup", "--detach", device).CombinedOutput(); err != nil {
			t.Errorf("%v: %s", err, out)
		}
	})
	return device
}

func TestDevice(t *testing.T) {
	device := loop(t, testSize)
	for name, check := range map[string]func(*testing.T, Backend){
		"round trip": checkRoundTrip, "range": checkRange, "whole block": checkWholeBlocks, "zeroes": checkZeroes, "closed": checkClosed,
	} {
		b, err := OpenDevice(device, 0, 4096)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) { check(t, b) })
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
	b, err := OpenDevice(device, testSize/2, 512)
	if err != nil {
		t.Fatal(err)
	}
	if b.Info().Size != testSize/2 || !b.Info().MayBlock {
		t.Errorf("%+v", b.Info())
	}
	if _, err := OpenDevice(device, 0, 512); err == nil || !strings.Contains(err.Error(), "part of something else") {
		t.Errorf("opened twice: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
	if _, err := OpenDevice(device, 2*testSize, 512); err == nil || !strings.Contains(err.Error(), "fewer than") {
		t.Errorf("more than it holds: %v", err)
	}
}

func TestOnlyBlockDevices(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, make([]byte, 4096), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{plain: "no block device", os.DevNull: "", filepath.Join(t.TempDir(), "none"): "no such file"} {
		if _, err := OpenDevice(path, 0, 512); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// Memory that is not aligned as the device wants it is copied through memory
// that is.
func TestUnalignedMemory(t *testing.T) {
	f, err := os.OpenFile(filepath.Join(t.TempDir(), "direct"), os.O_RDWR|os.O_CREATE|unix.O_DIRECT, 0o600)
	if errors.Is(err, unix.EINVAL) {
		t.Skip("this file system has no direct I/O")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(testSize); err != nil {
		t.Fatal(err)
	}
	b := &file{info: Info{Size: testSize, BlockSize: 4096, MayBlock: true}, f: f, align: 4096}
	b.size.Store(testSize)
	for _, shift := range []int{0, 1, 512, 4095} {
		raw := bytes.Repeat([]byte{byte(shift + 1)}, 300<<10+8192)
		start := 0
		for !b.aligned(raw[start:]) {
			start++
		}
		p := raw[start+shift : start+shift+300<<10>>12<<12]
		if err := b.WriteBlocks(p, 1); err != nil {
			t.Fatal(shift, err)
		}
		got := make([]byte, len(p)+1)[1:]
		if err := b.ReadBlocks(got, 1); err != nil || !bytes.Equal(got, p) {
			t.Errorf("shifted by %d: other bytes came back, %v", shift, err)
		}
	}
	if err := errors.Join(b.Flush(), b.Close()); err != nil {
		t.Error(err)
	}
}

// TestDeviceGrows: a device that is served whole is larger when the kernel says so.
func TestDeviceGrows(t *testing.T) {
	device := loop(t, testSize)
	b, err := OpenDevice(device, 0, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	backing, err := exec.Command("losetup", "--noheadings", "--output", "BACK-FILE", device).Output()
	if err != nil {
		t.Skipf("which file is %s: %v", device, err)
	}
	checkGrowth(t, b, testSize, func(size int64) {
		t.Helper()
		if err := os.Truncate(strings.TrimSpace(string(backing)), size); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("losetup", "--set-capacity", device).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	})
}
