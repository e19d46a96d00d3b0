package crc32c

import (
	"hash/crc32"

	"golang.org/x/sys/cpu"
)

// A checksum is the remainder of the data, read as a polynomial over GF(2),
// divided by P. The instruction that hash/crc32 uses divides eight bytes at a
// time, and a division waits for the one before. Folding does not divide: as
// only the remainder counts, a part A of the data that lies D bits before a part
// B may be replaced by A·(x^D mod P) added to B, which is a carry-less
// multiplication, and multiplications of neighbours do not wait for each other.
// So fold runs once over the data, with sixteen parts of 128 bits, each added to
// the one 2,048 bits further on, until there are 64 bytes with the same
// remainder as all of it, and divides only those. (V. Gopal and others, "Fast
// CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction", Intel
// 2009.)
const (
	stride = 256 // bytes that fold takes in one step
	atOnce = 64  // bytes of one register
)

// reversed is P without x^32, its coefficients from x^31 in bit 0 to x^0 in
// bit 31: in the order in which bits are on the wire.
const reversed = crc32.Castagnoli

// A factor moves 128 bits forward. Their first 64 bits are further away by 64,
// so either half has its own power of x.
type factor struct{ first, second uint64 }

// moves is the factor of a distance in bits. The product of two reversed
// 64-bit polynomials has 127 bits, not 128, and so looks as if it were
// multiplied by x once more: the powers are one less.
func moves(bits int) factor { return factor{power(bits + 64 - 1), power(bits - 1)} }

// power is x^n mod P, reversed, as a polynomial of 64 bits.
func power(n int) uint64 {
	r := uint32(1) << 31
	for range n {
		r = r>>1 ^ reversed&-(r&1)
	}
	return uint64(r) << 32
}

var (
	usable  = cpu.X86.HasAVX512F && cpu.X86.HasAVX512VPCLMULQDQ
	factors = [2]factor{moves(8 * stride), moves(8 * atOnce)}
)

// fold is the remainder of p, whose length is a positive multiple of stride,
// with state added to its first bytes: the state after p.
//
//go:noescape
func fold(state uint32, p []byte, by *[2]factor) uint32

// long takes whole strides off the front of long data.
func long(crc uint32, p []byte) (uint32, []byte) {
	if len(p) < stride || !usable {
		return crc, p
	}
	n := len(p) &^ (stride - 1)
	return ^fold(^crc, p[:n], &factors), p[n:]
}
