package crc32c

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// want is what hash/crc32 says, whose tests are others'.
func want(crc uint32, p []byte) uint32 { return crc32.Update(crc, polynomial, p) }

func noise(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return b
}

// TestVectors: RFC 3720 B.4, and the check value of the catalogue of CRCs.
func TestVectors(t *testing.T) {
	up, down := make([]byte, 32), make([]byte, 32)
	for i := range up {
		up[i], down[31-i] = byte(i), byte(i)
	}
	ones := make([]byte, 32)
	for i := range ones {
		ones[i] = 0xff
	}
	for _, c := range []struct {
		name string
		data []byte
		want uint32
	}{
		{"nothing", nil, 0},
		{"check", []byte("123456789"), 0xe3069283},
		{"zeros", make([]byte, 32), 0x8a9136aa},
		{"ones", ones, 0x62a8ab43},
		{"up", up, 0x46dd794e},
		{"down", down, 0x113fdb5c},
	} {
		if got := Checksum(c.data); got != c.want {
			t.Errorf("%s: 0x%08x, want 0x%08x", c.name, got, c.want)
		}
	}
}

// TestEveryLength is each length, at each place in a line of the cache for some.
func TestEveryLength(t *testing.T) {
	data := noise(4096 + 64)
	r := rand.New(rand.NewPCG(1, 2))
	for n := 0; n <= 4096; n++ {
		for _, at := range []int{0, r.IntN(64)} {
			crc := r.Uint32()
			if got, want := Update(crc, data[at:at+n]), want(crc, data[at:at+n]); got != want {
				t.Fatalf("%d bytes at %d after 0x%08x: 0x%08x, want 0x%08x", n, at, crc, got, want)
			}
		}
	}
	for at := range 64 {
		for _, n := range []int{255, 256, 257, 511, 512, 513, 767, 768, 1024, 4095, 4096} {
			if got, want := Checksum(data[at:at+n]), want(0, data[at:at+n]); got != want {
				t.Fatalf("%d bytes at %d: 0x%08x, want 0x%08x", n, at, got, want)
			}
		}
	}
}

// TestOneBit is every bit alone of what is folded: each goes through another
// factor, and none may depend on what lies around it.
func TestOneBit(t *testing.T) {
	p := make([]byte, 1024+3)
	for bit := range 8 * len(p) {
		p[bit/8] ^= 1 << (bit % 8)
		if got, want := Update(^uint32(0), p), want(^uint32(0), p); got != want {
			t.Fatalf("bit %d: 0x%08x, want 0x%08x", bit, got, want)
		}
		p[bit/8] = 0
	}
}

// TestParts: it does not matter how data is cut.
func TestParts(t *testing.T) {
	data := noise(300 << 10)
	whole := want(0, data)
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		crc := uint32(0)
		for rest := data; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(1<<r.IntN(18)))
			crc, rest = Update(crc, rest[:n]), rest[n:]
		}
		if crc != whole {
			t.Fatalf("in parts 0x%08x, want 0x%08x", crc, whole)
		}
	}
}

func TestAllocatesNothing(t *testing.T) {
	data := noise(8192)
	if n := testing.AllocsPerRun(100, func() { Checksum(data) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzUpdate(f *testing.F) {
	f.Add(uint32(0), []byte("123456789"), uint16(0))
	f.Add(^uint32(0), noise(3), uint16(600))
	f.Fuzz(func(t *testing.T, crc uint32, seed []byte, more uint16) {
		p := seed
		if len(seed) > 0 { // fuzzers prefer short data
			for i := range int(more) {
				p = append(p, p[i%len(seed)]*131+byte(i))
			}
		}
		if got, want := Update(crc, p), want(crc, p); got != want {
			t.Errorf("%d bytes after 0x%08x: 0x%08x, want 0x%08x", len(p), crc, got, want)
		}
	})
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{64, 256, 512, 1 << 10, 4 << 10, 16 << 10, 128 << 10, 1 << 20} {
		p := noise(n)
		for name, f := range map[string]func(uint32, []byte) uint32{"crc32c": Update, "hash-crc32": want} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.SetBytes(int64(n))
				for crc := uint32(0); b.Loop(); {
					crc = f(crc, p)
				}
			})
		}
	}
}
