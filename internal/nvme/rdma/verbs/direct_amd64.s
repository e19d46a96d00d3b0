//go:build linux

#include "textflag.h"

// func callDirect(c *direct)
TEXT ·callDirect(SB), NOSPLIT, $24-8
	MOVQ c+0(FP), AX
	MOVQ $unpack<>(SB), CX
	MOVQ CX, 0(SP)
	MOVQ AX, 8(SP)
	CALL runtime·asmcgocall(SB)
	RET

// unpack is called as C calls, on the system's stack: DI is the direct.
TEXT unpack<>(SB), NOSPLIT|NOFRAME, $0
	PUSHQ BX // which is C's to keep; the stack is at 16 bytes again
	MOVQ  DI, BX
	MOVQ  8(BX), DI
	MOVQ  16(BX), SI
	MOVQ  24(BX), DX
	MOVQ  0(BX), AX
	CALL  AX
	MOVQ  AX, 32(BX)
	XORL  AX, AX
	POPQ  BX
	RET
