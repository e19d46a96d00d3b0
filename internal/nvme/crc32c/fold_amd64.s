#include "textflag.h"

// MOVE replaces R by R moved by the factors F, plus the 64 bytes at or in B:
// the first halves of each 128 bits times the first factor, the second times
// the second, and B, all three added in one instruction (0x96 is a^b^c).
#define MOVE(R, F, B) \
	VPCLMULQDQ $0x00, F, R, Z6 \
	VPCLMULQDQ $0x11, F, R, R  \
	VPTERNLOGQ $0x96, B, Z6, R

// func fold(state uint32, p []byte, by *[2]factor) uint32
TEXT ·fold(SB), NOSPLIT, $64-44
	MOVL state+0(FP), AX
	MOVQ p_base+8(FP), SI
	MOVQ p_len+16(FP), CX
	MOVQ by+32(FP), DX
	VBROADCASTI32X4 (DX), Z4    // by a stride
	VBROADCASTI32X4 16(DX), Z5  // by a register
	VMOVD     AX, X0            // and nothing above it
	VPXORQ    (SI), Z0, Z0
	VMOVDQU64 64(SI), Z1
	VMOVDQU64 128(SI), Z2
	VMOVDQU64 192(SI), Z3
	JMP       next

stride:
	MOVE(Z0, Z4, (SI))
	MOVE(Z1, Z4, 64(SI))
	MOVE(Z2, Z4, 128(SI))
	MOVE(Z3, Z4, 192(SI))

next:
	ADDQ $256, SI
	SUBQ $256, CX
	JNE  stride

	MOVE(Z0, Z5, Z1)
	MOVE(Z0, Z5, Z2)
	MOVE(Z0, Z5, Z3)
	VMOVDQU64 Z0, (SP)
	VZEROUPPER
	XORL   AX, AX
	CRC32Q (SP), AX
	CRC32Q 8(SP), AX
	CRC32Q 16(SP), AX
	CRC32Q 24(SP), AX
	CRC32Q 32(SP), AX
	CRC32Q 40(SP), AX
	CRC32Q 48(SP), AX
	CRC32Q 56(SP), AX
	MOVL   AX, ret+40(FP)
	RET
