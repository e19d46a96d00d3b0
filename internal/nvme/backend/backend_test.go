package backend

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const testSize = 1 << 20

// kinds are what the conformance tests run on.
func kinds(t *testing.T, block int) map[string]Backend {
	t.Helper()
	m, err := NewMemory(testSize, block)
	if err != nil {
		t.Fatal(err)
	}
	f, err := OpenFile(filepath.Join(t.TempDir(), "new", "volume"), testSize, block)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]Backend{"memory": m, "file": f}
}

func TestConformance(t *testing.T) {
	checks := map[string]func(*testing.T, Backend){
		"shape":       checkShape,
		"round trip":  checkRoundTrip,
		"range":       checkRange,
		"whole block": checkWholeBlocks,
		"zeroes":      checkZeroes,
		"closed":      checkClosed,
		"compare":     checkCompareAndWrite,
	}
	for name, check := range checks {
		for _, block := range []int{512, 4096} {
			for kind, b := range kinds(t, block) {
				t.Run(name+"/"+kind, func(t *testing.T) {
					check(t, b)
					if err := b.Close(); err != nil {
						t.Error(err)
					}
				})
			}
		}
	}
}

func checkShape(t *testing.T, b Backend) {
	if b.Info().Size != testSize || (b.Info().BlockSize != 512 && b.Info().BlockSize != 4096) {
		t.Errorf("size %d, block size %d", b.Info().Size, b.Info().BlockSize)
	}
	p := bytes.Repeat([]byte{1}, 2*b.Info().BlockSize)
	if err := b.ReadBlocks(p, 3); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(p, make([]byte, len(p))) {
		t.Error("a new backend is not zero")
	}
}

func checkRoundTrip(t *testing.T, b Backend) {
	n := b.Info().BlockSize
	p := make([]byte, 260<<10/n*n) // over three stripes
	for i := range p {
		p[i] = byte(i / n * 7)
	}
	last := uint64(int(b.Info().Size)-len(p)) / uint64(n)
	for _, lba := range []uint64{1, 0, last} {
		if err := b.WriteBlocks(p, lba); err != nil {
			t.Fatal(err)
		}
		if err := b.Flush(); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, len(p))
		if err := b.ReadBlocks(got, lba); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, p) {
			t.Errorf("what was written at %d is not read", lba)
		}
	}
	one := make([]byte, n)
	if err := b.ReadBlocks(one, 2); err != nil || !bytes.Equal(one, p[2*n:3*n]) {
		t.Errorf("block 2 differs (%v)", err)
	}
}

func checkRange(t *testing.T, b Backend) {
	n := b.Info().BlockSize
	blocks := uint64(b.Info().Size) / uint64(n)
	for _, c := range []struct {
		bytes int
		lba   uint64
	}{{n, blocks}, {2 * n, blocks - 1}, {n, 1 << 63}, {n, ^uint64(0)}, {n - 1, 0}, {n, ^uint64(0) / uint64(n)}} {
		if err := b.ReadBlocks(make([]byte, c.bytes), c.lba); !errors.Is(err, ErrRange) {
			t.Errorf("read of %d at %d: %v", c.bytes, c.lba, err)
		}
		if err := b.WriteBlocks(make([]byte, c.bytes), c.lba); !errors.Is(err, ErrRange) {
			t.Errorf("write of %d at %d: %v", c.bytes, c.lba, err)
		}
	}
}

// checkWholeBlocks reads one block while two writers change it.
func checkWholeBlocks(t *testing.T, b Backend) {
	n := b.Info().BlockSize
	var writers sync.WaitGroup
	defer writers.Wait()
	for w := range 2 {
		writers.Go(func() {
			for i := range 200 {
				p := bytes.Repeat([]byte{byte(i*2 + w)}, 2*n)
				if err := b.WriteBlocks(p, 8); err != nil {
					t.Error(err)
				}
			}
		})
	}
	p := make([]byte, n)
	for range 200 {
		if err := b.ReadBlocks(p, 9); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(p, bytes.Repeat(p[:1], n)) {
			t.Fatal("a torn block")
		}
	}
}

// checkCompareAndWrite has some count in one block, each by comparing what it has read.
func checkCompareAndWrite(t *testing.T, b Backend) {
	n := b.Info().BlockSize
	const lba, counters, each = 9, 4, 100
	var all sync.WaitGroup
	for range counters {
		all.Go(func() {
			have, next := make([]byte, n), make([]byte, n)
			for done := 0; done < each; {
				if err := b.ReadBlocks(have, lba); err != nil {
					t.Error(err)
					return
				}
				binary.LittleEndian.PutUint32(next, binary.LittleEndian.Uint32(have)+1)
				same, err := b.CompareAndWrite(have, next, lba)
				if err != nil {
					t.Error(err)
					return
				}
				if same {
					done++
				}
			}
		})
	}
	all.Wait()
	have, next := make([]byte, n), make([]byte, n)
	if err := b.ReadBlocks(have, lba); err != nil || binary.LittleEndian.Uint32(have) != counters*each {
		t.Errorf("%d counters came to %d with %d each (%v)", counters, binary.LittleEndian.Uint32(have), each, err)
	}
	next[n-1] = 1 // not what is there
	if same, err := b.CompareAndWrite(next, next, lba); same || err != nil {
		t.Errorf("another block is the same: %v, %v", same, err)
	}
	blocks := uint64(b.Info().Size) / uint64(n)
	for _, c := range []struct {
		want, p int
		lba     uint64
	}{{n, n, blocks}, {n, n, ^uint64(0)}, {2 * n, 2 * n, 0}, {n, 2 * n, 0}, {2 * n, n, 0}, {0, 0, 0}, {n - 1, n - 1, 0}} {
		if same, err := b.CompareAndWrite(make([]byte, c.want), make([]byte, c.p), c.lba); same || !errors.Is(err, ErrRange) {
			t.Errorf("%d bytes compared and %d written at %d: %v, %v", c.want, c.p, c.lba, same, err)
		}
	}
}

// checkZeroes zeroes parts that begin and end within stripes, and everything.
func checkZeroes(t *testing.T, b Backend) {
	n := uint64(b.Info().BlockSize)
	blocks := uint64(b.Info().Size) / n
	ones := bytes.Repeat([]byte{1}, int(b.Info().Size))
	for _, free := range []bool{false, true} {
		for _, c := range [][2]uint64{{0, 0}, {3, 1}, {1, 300 << 10 / n}, {128 << 10 / n, 256 << 10 / n}, {blocks - 1, 1}, {0, blocks}} {
			if err := b.WriteBlocks(ones, 0); err != nil {
				t.Fatal(err)
			}
			if err := b.ZeroBlocks(c[0], c[1], free); err != nil {
				t.Fatal(err)
			}
			want := bytes.Clone(ones)
			clear(want[c[0]*n : (c[0]+c[1])*n])
			got := make([]byte, len(ones))
			if err := b.ReadBlocks(got, 0); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d blocks zeroed at %d, free %v: other content (%v)", c[1], c[0], free, err)
			}
		}
		for _, c := range [][2]uint64{{blocks, 1}, {0, blocks + 1}, {1, ^uint64(0)}, {^uint64(0), 1}, {1 << 63, 1 << 63}} {
			if err := b.ZeroBlocks(c[0], c[1], free); !errors.Is(err, ErrRange) {
				t.Errorf("%d blocks zeroed at %d: %v", c[1], c[0], err)
			}
		}
	}
}

// A span over all locks is done in parts.
func TestZeroesOfManyStripes(t *testing.T) {
	const size = 32 << 20
	for _, free := range []bool{false, true} {
		b, err := NewMemory(size, 4096)
		if err != nil {
			t.Fatal(err)
		}
		block := bytes.Repeat([]byte{1}, 4096)
		for _, lba := range []uint64{0, 1, 4000, size/4096 - 1} {
			if err := b.WriteBlocks(block, lba); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.ZeroBlocks(1, size/4096-1, free); err != nil {
			t.Fatal(err)
		}
		all := make([]byte, size)
		if err := b.ReadBlocks(all, 0); err != nil || bytes.Count(all, []byte{1}) != 4096 {
			t.Errorf("free %v: %d bytes are left, %v", free, bytes.Count(all, []byte{1}), err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

func checkClosed(t *testing.T, b Backend) {
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, b.Info().BlockSize)
	if err := b.ReadBlocks(p, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("read: %v", err)
	}
	if err := b.WriteBlocks(p, 0); !errors.Is(err, ErrClosed) {
		t.Errorf("write: %v", err)
	}
	if same, err := b.CompareAndWrite(p, p, 0); same || !errors.Is(err, ErrClosed) {
		t.Errorf("compare and write: %v, %v", same, err)
	}
	if err := b.Flush(); b.Info().MayBlock && !errors.Is(err, ErrClosed) {
		t.Errorf("flush: %v", err)
	}
	if err := b.ZeroBlocks(0, 1, true); !errors.Is(err, ErrClosed) {
		t.Errorf("zero: %v", err)
	}
}

func TestShapesRefused(t *testing.T) {
	for _, c := range []struct {
		size  int64
		block int
	}{{0, 512}, {-512, 512}, {1000, 512}, {4096, 0}, {4096, -512}, {4096, 256}, {6144, 1536}} {
		if _, err := NewMemory(c.size, c.block); err == nil {
			t.Errorf("memory of %d in blocks of %d", c.size, c.block)
		}
		if _, err := OpenFile(filepath.Join(t.TempDir(), "v"), c.size, c.block); err == nil {
			t.Errorf("file of %d in blocks of %d", c.size, c.block)
		}
	}
	if _, err := NewMemory(2<<40, 4096); err == nil || !strings.Contains(err.Error(), "2048 GiB") {
		t.Errorf("2 TiB of memory: %v", err)
	}
}

func TestFileKeepsWhatItHolds(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volume")
	open := func(size int64) (Backend, error) { return OpenFile(path, size, 512) }
	b, err := open(4096)
	if err != nil {
		t.Fatal(err)
	}
	block := bytes.Repeat([]byte{0xA5}, 512)
	if err := b.WriteBlocks(block, 7); err != nil {
		t.Fatal(err)
	}
	if _, err := open(4096); err == nil || !strings.Contains(err.Error(), "another namespace") {
		t.Errorf("the same file twice: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := open(2048); err == nil || !strings.Contains(err.Error(), "never shrunk") {
		t.Errorf("a shorter declaration: %v", err)
	}
	b, err = open(2 << 40) // grows, sparse
	if errors.Is(err, fs.ErrInvalid) || err != nil && strings.Contains(err.Error(), "file too large") {
		t.Skip("this file system has no files of 2 TiB: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	got := make([]byte, 512)
	if err := b.ReadBlocks(got, 7); err != nil || !bytes.Equal(got, block) {
		t.Errorf("block 7 was lost (%v)", err)
	}
	if err := b.WriteBlocks(block, 2<<40/512-1); err != nil {
		t.Error(err)
	}
}

func TestOnlyRegularFiles(t *testing.T) {
	dir := t.TempDir()
	if err := CheckFile(filepath.Join(dir, "missing"), 4096); err != nil {
		t.Error(err)
	}
	if _, err := OpenFile(dir, 4096, 512); err == nil || !strings.Contains(err.Error(), "no regular file") {
		t.Errorf("a folder: %v", err)
	}
	if _, err := os.Stat(os.DevNull); err != nil || os.DevNull != "/dev/null" {
		t.Skip("no device to try")
	}
	if _, err := OpenFile(os.DevNull, 4096, 512); err == nil || !strings.Contains(err.Error(), "serve it as one") {
		t.Errorf("a device: %v", err)
	}
}

// TestFlushStaysFailed: the kernel tells of a write that has failed only once,
// with the first flush after it. None that follows is a success.
func TestFlushStaysFailed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "volume")
	b, err := OpenFile(path, testSize, 512)
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	own := b.(*file)
	good := own.f
	own.f = w // which cannot be flushed
	first := b.Flush()
	own.f = good
	if first == nil {
		t.Fatal("a pipe was flushed")
	}
	for range 2 {
		if err := b.Flush(); err == nil || !strings.Contains(err.Error(), "an earlier flush") {
			t.Errorf("a flush after one that has failed: %v", err)
		}
	}
	if err := b.WriteBlocks(make([]byte, 512), 0); err != nil {
		t.Errorf("reads and writes go on: %v", err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if b, err = OpenFile(path, testSize, 512); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(b.Flush(), b.Close()); err != nil {
		t.Errorf("opened anew: %v", err)
	}
}

// TestGrow: a backend that is all of a file grows with it and never shrinks; one
// with a size of its own keeps it.
func TestGrow(t *testing.T) {
	path := filepath.Join(t.TempDir(), "disk")
	become := func(size int64) {
		t.Helper()
		if err := errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size)); err != nil {
			t.Fatal(err)
		}
	}
	become(8<<10 + 511)
	whole, err := OpenFile(path, 0, 512)
	if err != nil {
		t.Fatal(err)
	}
	checkGrowth(t, whole, 8<<10, become)
	if err := whole.Close(); err != nil {
		t.Fatal(err)
	}
	become(8 << 10)
	part, err := OpenFile(path, 8<<10, 512)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	become(16 << 10)
	if err := part.(Grower).Grow(); err != nil || part.Info().Size != 8<<10 {
		t.Errorf("%v, %+v", err, part.Info())
	}
	become(4 << 10)
	if err := part.(Grower).Grow(); err == nil || part.Info().Size != 8<<10 {
		t.Errorf("%v, %+v", err, part.Info())
	}
	if _, err := OpenFile(path+"-not", 0, 512); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("all of nothing: %v", err)
	}
}

// checkGrowth tries a backend of blocks of 512 that is all of size bytes which
// become makes others.
func checkGrowth(t *testing.T, b Backend, size int64, become func(int64)) {
	t.Helper()
	block := make([]byte, 512)
	last := uint64(size/512) - 1
	if err := errors.Join(b.WriteBlocks(block, last), b.(Grower).Grow()); err != nil || b.Info().Size != size {
		t.Fatalf("%v, %+v", err, b.Info())
	}
	become(2 * size)
	if err := b.ReadBlocks(block, last+1); !errors.Is(err, ErrRange) {
		t.Errorf("before it was looked at: %v", err)
	}
	if err := b.(Grower).Grow(); err != nil || b.Info().Size != 2*size {
		t.Fatalf("%v, %+v", err, b.Info())
	}
	if err := errors.Join(b.WriteBlocks(block, 2*last+1), b.ReadBlocks(block, 2*last+1), b.ZeroBlocks(last, last+2, true)); err != nil {
		t.Error(err)
	}
	become(size)
	if err := b.(Grower).Grow(); err == nil || !strings.Contains(err.Error(), "has shrunk: it holds") || b.Info().Size != 2*size {
		t.Errorf("%v, %+v", err, b.Info())
	}
}
