// Package wire is the bytes of NVMe over Fabrics: commands, completions,
// fabrics, identify and discovery structures and the PDUs of NVMe/TCP.
//
// Every structure is a plain struct with a named size. AppendBinary and
// UnmarshalBinary move each field from or to its literal offset, which is in its
// tag or in these two methods, and never judge; what a peer must not send is
// found by Validate, where there is one. Numbers are little endian. Commands,
// completions and the PDU headers of commands and data are encoded and decoded
// without allocating.
//
// Section numbers name these documents: "Base" is the NVM Express Base
// Specification 2.0, "NVM" the NVM Command Set Specification 1.0, "TCP" the
// NVMe over TCP Transport Specification 1.0.
package wire

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

var le = binary.LittleEndian

// grow extends b by n zero bytes; w is the window on them.
func grow(b []byte, n int) (whole, w []byte) {
	whole = slices.Grow(b, n)[:len(b)+n]
	w = whole[len(b):]
	clear(w)
	return whole, w
}

// need reports that b is too short to hold a what of n bytes.
func need(b []byte, n int, what string) error {
	if len(b) < n {
		return fmt.Errorf("%s of %d bytes, want %d", what, len(b), n)
	}
	return nil
}

// putName writes s into w, cut to w's length and filled up with zeros.
func putName(w []byte, s string) { clear(w[copy(w, s):]) }

// name reads a string that ends at the first zero or with w.
func name(w []byte) string {
	if i := bytes.IndexByte(w, 0); i >= 0 {
		w = w[:i]
	}
	return string(w)
}

// putPadded writes s into w as ASCII filled up with spaces.
func putPadded(w []byte, s string) {
	for i := copy(w, s); i < len(w); i++ {
		w[i] = ' '
	}
}

// padded reads ASCII that is filled up with spaces, or with zeros as some do.
func padded(w []byte) string { return string(bytes.TrimRight(w, " \x00")) }
