package tls13

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
)

// Types of records. Section 5.1.
const (
	recordCCS       = 20
	recordAlert     = 21
	recordHandshake = 22
	recordData      = 23
)

const (
	headerSize = 5
	tagSize    = 16
	overhead   = headerSize + 1 + tagSize // of a protected record: the type is inside
)

// A half protects one direction of a connection; the zero half does not protect yet.
type half struct {
	suite  Suite
	secret []byte
	aead   cipher.AEAD
	iv     [12]byte
	nonce  [12]byte
	seq    uint64 // records under this secret
}

// use goes over to a secret. Section 7.3.
func (h *half) use(s Suite, secret []byte) {
	block, err := aes.NewCipher(s.ExpandLabel(secret, "key", nil, s.keySize()))
	if err == nil {
		h.aead, err = cipher.NewGCM(block)
	}
	if err != nil {
		panic("tls13: " + err.Error())
	}
	h.suite, h.secret, h.seq = s, secret, 0
	copy(h.iv[:], s.ExpandLabel(secret, "iv", nil, len(h.iv)))
}

// update goes over to the next secret. Section 7.2.
func (h *half) update() {
	h.use(h.suite, h.suite.ExpandLabel(h.secret, "traffic upd", nil, h.suite.Size()))
}

// step is the nonce of the next record. Section 5.3.
func (h *half) step() []byte {
	h.nonce = h.iv
	var seq [8]byte
	binary.BigEndian.PutUint64(seq[:], h.seq)
	for i, b := range seq {
		h.nonce[4+i] ^= b
	}
	h.seq++
	return h.nonce[:]
}

// seal appends one record that holds all of plain, at most maxPlain bytes.
func (h *half) seal(dst []byte, kind byte, plain []byte) []byte {
	if h.aead == nil {
		dst = append(dst, kind, 3, 3)
		dst = binary.BigEndian.AppendUint16(dst, uint16(len(plain)))
		return append(dst, plain...)
	}
	at := len(dst)
	dst = append(dst, recordData, 3, 3)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(plain)+1+tagSize))
	dst = append(dst, plain...)
	dst = append(dst, kind)
	inner := dst[at+headerSize:]
	sealed := h.aead.Seal(inner[:0], h.step(), inner, dst[at:at+headerSize])
	if &sealed[0] == &inner[0] { // in place
		return dst[:at+headerSize+len(sealed)]
	}
	return append(dst[:at+headerSize], sealed...)
}

// open takes the protection off a whole record, in place.
func (h *half) open(record []byte) (kind byte, plain []byte, err error) {
	body := record[headerSize:]
	if h.aead == nil {
		return record[0], body, nil
	}
	if record[0] != recordData {
		return 0, nil, broke(unexpectedMessage, "a record of type %d without protection", record[0])
	}
	inner, err := h.aead.Open(body[:0], h.step(), body, record[:headerSize])
	if err != nil {
		return 0, nil, broke(badRecordMAC, "a record is not what was sent")
	}
	n := len(inner)
	for n > 0 && inner[n-1] == 0 { // padding
		n--
	}
	switch {
	case n == 0:
		return 0, nil, broke(unexpectedMessage, "a record without a type")
	case n-1 > maxPlain:
		return 0, nil, broke(recordOverflow, "%d bytes in a record", n-1)
	}
	return inner[n-1], inner[:n-1], nil
}
