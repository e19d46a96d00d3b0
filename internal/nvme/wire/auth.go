package wire

import (
	"cmp"
	"fmt"
)

// Sizes of the messages of DH-HMAC-CHAP without what varies in length.
// Base section 8.13.5.
const (
	AuthNegotiateSize = 8 + authProtocolSize
	AuthChallengeSize = 16
	AuthReplySize     = 16
	AuthSuccess1Size  = 16
	AuthSuccess2Size  = 16
	AuthFailureSize   = 8

	authProtocolSize = 64
	authListSize     = 30 // hashes, and groups, of one protocol
)

// MaxAuthMessage is more than any message of DH-HMAC-CHAP needs, in bytes.
const MaxAuthMessage = 4096

// Identifiers of messages, AuthMessage.ID.
const (
	AuthNegotiateID = 0x00
	AuthChallengeID = 0x01
	AuthReplyID     = 0x02
	AuthSuccess1ID  = 0x03
	AuthSuccess2ID  = 0x04
	AuthFailure2ID  = 0xf0 // of the host
	AuthFailure1ID  = 0xf1 // of the controller
)

// Types of messages, AuthMessage.Type.
const (
	AuthCommon = 0x00 // negotiation and failures
	AuthDHCHAP = 0x01
)

// Results of Connect that ask for authentication. Base section 6.3.
const ConnectAuthRequired = 1 << 17

// AuthCommand is the entry of an Authentication Send or Authentication Receive.
// Base sections 6.1 and 6.2.
type AuthCommand struct {
	Receive  bool
	SPSP     uint16 // 0x0101
	Protocol uint8  // AuthProtocol
	Length   uint32 // bytes to transfer
}

// AuthProtocol and AuthSpecific name NVMe in-band authentication in an
// AuthCommand.
const (
	AuthProtocol = 0xe9
	AuthSpecific = 0x0101
)

// Auth is the view of an Authentication Send or Authentication Receive.
func (c *Command) Auth() AuthCommand {
	return AuthCommand{
		Receive:  c.FabricsType() == FabricsAuthReceive,
		SPSP:     uint16(c.CDW10 >> 8), // 41, 42
		Protocol: uint8(c.CDW10 >> 24), // 43
		Length:   c.CDW11,              // 44
	}
}

// Command is the queue entry, without id and SGL.
func (v AuthCommand) Command() Command {
	c := Command{
		Opcode: OpFabrics, Flags: FlagsSGL, NSID: FabricsAuthSend,
		CDW10: uint32(v.SPSP)<<8 | uint32(v.Protocol)<<24, CDW11: v.Length,
	}
	if v.Receive {
		c.NSID = FabricsAuthReceive
	}
	return c
}

// AuthMessage is what all messages begin with.
type AuthMessage struct {
	Type        uint8
	ID          uint8
	Transaction uint16
}

func (m *AuthMessage) put(w []byte) {
	w[0] = m.Type
	w[1] = m.ID
	le.PutUint16(w[4:], m.Transaction)
}

// AuthMessageOf reads what all messages begin with.
func AuthMessageOf(b []byte) (m AuthMessage, err error) {
	if err := need(b, AuthFailureSize, "authentication message"); err != nil {
		return m, err
	}
	return AuthMessage{Type: b[0], ID: b[1], Transaction: le.Uint16(b[4:])}, nil
}

// AuthNegotiate offers hashes and groups for DH-HMAC-CHAP, the only protocol
// there is. Base section 8.13.5.1.
type AuthNegotiate struct {
	AuthMessage
	Secure    uint8 // 0: no secure channel concatenation
	Protocols uint8 // how many there are; the first is read
	AuthID    uint8 // 1: DH-HMAC-CHAP
	Hashes    []uint8
	Groups    []uint8
}

// AppendBinary appends the message. More hashes or groups than have room are
// an error.
func (m *AuthNegotiate) AppendBinary(b []byte) ([]byte, error) {
	if len(m.Hashes) > authListSize || len(m.Groups) > authListSize {
		return b, fmt.Errorf("%d hashes and %d groups, at most %d", len(m.Hashes), len(m.Groups), authListSize)
	}
	b, w := grow(b, AuthNegotiateSize)
	m.put(w)
	w[6] = m.Secure
	w[7] = m.Protocols
	w[8] = m.AuthID
	w[10] = uint8(len(m.Hashes))
	w[11] = uint8(len(m.Groups))
	copy(w[12:42], m.Hashes)
	copy(w[42:72], m.Groups)
	return b, nil
}

// UnmarshalBinary reads a message with at least one protocol.
func (m *AuthNegotiate) UnmarshalBinary(b []byte) error {
	if err := need(b, AuthNegotiateSize, "negotiation"); err != nil {
		return err
	}
	m.AuthMessage, _ = AuthMessageOf(b)
	m.Secure = b[6]
	m.Protocols = b[7]
	m.AuthID = b[8]
	hashes, groups := int(b[10]), int(b[11])
	if hashes > authListSize || groups > authListSize {
		return fmt.Errorf("negotiation with %d hashes and %d groups, at most %d", hashes, groups, authListSize)
	}
	m.Hashes = append([]uint8{}, b[12:12+hashes]...)
	m.Groups = append([]uint8{}, b[42:42+groups]...)
	return nil
}

// AuthChallenge is the controller's challenge. Base section 8.13.5.2.
type AuthChallenge struct {
	AuthMessage
	Hash      uint8
	Group     uint8
	Sequence  uint32
	Challenge []byte // as long as a digest of Hash
	Public    []byte // the controller's value of the group
}

// AppendBinary appends the message. The error is always nil.
func (m *AuthChallenge) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, AuthChallengeSize)
	m.put(w)
	w[6] = uint8(len(m.Challenge))
	w[8] = m.Hash
	w[9] = m.Group
	le.PutUint16(w[10:], uint16(len(m.Public)))
	le.PutUint32(w[12:], m.Sequence)
	b = append(b, m.Challenge...)
	return append(b, m.Public...), nil
}

// UnmarshalBinary reads the message; what follows it is ignored.
func (m *AuthChallenge) UnmarshalBinary(b []byte) error {
	if err := need(b, AuthChallengeSize, "challenge"); err != nil {
		return err
	}
	m.AuthMessage, _ = AuthMessageOf(b)
	m.Hash = b[8]
	m.Group = b[9]
	m.Sequence = le.Uint32(b[12:])
	return split(b[AuthChallengeSize:], "challenge", &m.Challenge, int(b[6]), &m.Public, int(le.Uint16(b[10:])))
}

// split reads two parts of known lengths; empty ones are nil.
func split(b []byte, what string, one *[]byte, n int, two *[]byte, k int) error {
	if err := need(b, n+k, what+" with data"); err != nil {
		return err
	}
	*one = append([]byte(nil), b[:n]...)
	*two = append([]byte(nil), b[n:n+k]...)
	return nil
}

// AuthReply is the host's answer to the challenge, with its own challenge where
// the controller is to authenticate, too. Base section 8.13.5.3.
type AuthReply struct {
	AuthMessage
	Challenged bool
	Sequence   uint32
	Response   []byte
	Challenge  []byte // as long as Response; zero unless Challenged
	Public     []byte // the host's value of the group
}

// AppendBinary appends the message. A challenge of another length than the
// response is an error.
func (m *AuthReply) AppendBinary(b []byte) ([]byte, error) {
	if len(m.Challenge) != len(m.Response) {
		return b, fmt.Errorf("challenge of %d bytes with a response of %d", len(m.Challenge), len(m.Response))
	}
	b, w := grow(b, AuthReplySize)
	m.put(w)
	w[6] = uint8(len(m.Response))
	if m.Challenged {
		w[8] = 1
	}
	le.PutUint16(w[10:], uint16(len(m.Public)))
	le.PutUint32(w[12:], m.Sequence)
	b = append(b, m.Response...)
	b = append(b, m.Challenge...)
	return append(b, m.Public...), nil
}

// UnmarshalBinary reads the message; what follows it is ignored.
func (m *AuthReply) UnmarshalBinary(b []byte) error {
	if err := need(b, AuthReplySize, "reply"); err != nil {
		return err
	}
	m.AuthMessage, _ = AuthMessageOf(b)
	n := int(b[6])
	m.Challenged = b[8]&1 != 0
	m.Sequence = le.Uint32(b[12:])
	rest := b[AuthReplySize:]
	if err := need(rest, 2*n, "reply with responses"); err != nil {
		return err
	}
	m.Response = append([]byte(nil), rest[:n]...)
	return split(rest[n:], "reply", &m.Challenge, n, &m.Public, int(le.Uint16(b[10:])))
}

// AuthSuccess1 says that the host is authenticated, and answers its challenge.
// Base section 8.13.5.4.
type AuthSuccess1 struct {
	AuthMessage
	HashLength uint8
	Response   []byte // nil where the host did not challenge
}

// AppendBinary appends the message. The error is always nil.
func (m *AuthSuccess1) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, AuthSuccess1Size)
	m.put(w)
	w[6] = m.HashLength
	if m.Response != nil {
		w[8] = 1
	}
	return append(b, m.Response...), nil
}

// UnmarshalBinary reads the message; what follows it is ignored.
func (m *AuthSuccess1) UnmarshalBinary(b []byte) error {
	if err := need(b, AuthSuccess1Size, "success"); err != nil {
		return err
	}
	m.AuthMessage, _ = AuthMessageOf(b)
	m.HashLength = b[6]
	m.Response = nil
	if b[8]&1 == 0 {
		return nil
	}
	rest := b[AuthSuccess1Size:]
	if err := need(rest, int(m.HashLength), "success with a response"); err != nil {
		return err
	}
	m.Response = append([]byte{}, rest[:m.HashLength]...)
	return nil
}

// AuthSuccess2 says that the controller is authenticated, too.
// Base section 8.13.5.5.
type AuthSuccess2 struct{ AuthMessage }

// AppendBinary appends the 16 bytes. The error is always nil.
func (m *AuthSuccess2) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, AuthSuccess2Size)
	m.put(w)
	return b, nil
}

// UnmarshalBinary reads the first 16 bytes of b.
func (m *AuthSuccess2) UnmarshalBinary(b []byte) error {
	if err := need(b, AuthSuccess2Size, "success"); err != nil {
		return err
	}
	m.AuthMessage, _ = AuthMessageOf(b)
	return nil
}

// AuthFailure ends the exchange. Base sections 8.13.5.6 and 8.13.5.7.
type AuthFailure struct {
	AuthMessage
	Reason uint8 // 1: authentication failed
	Why    AuthReason
}

// AppendBinary appends the 8 bytes. The error is always nil.
func (m *AuthFailure) AppendBinary(b []byte) ([]byte, error) {
	b, w := grow(b, AuthFailureSize)
	m.put(w)
	w[6] = m.Reason
	w[7] = uint8(m.Why)
	return b, nil
}

// UnmarshalBinary reads the first 8 bytes of b.
func (m *AuthFailure) UnmarshalBinary(b []byte) (err error) {
	if m.AuthMessage, err = AuthMessageOf(b); err != nil {
		return err
	}
	m.Reason = b[6]
	m.Why = AuthReason(b[7])
	return nil
}

// AuthReason is why an authentication has failed. It is an error.
type AuthReason uint8

// The reasons, AuthFailure.Why.
const (
	AuthFailed        AuthReason = 0x01 // the response is not that of the secret
	AuthNotUsable     AuthReason = 0x02
	AuthSecure        AuthReason = 0x03 // secure channel concatenation
	AuthHashUnusable  AuthReason = 0x04
	AuthGroupUnusable AuthReason = 0x05
	AuthBadPayload    AuthReason = 0x06
	AuthBadMessage    AuthReason = 0x07 // one that does not come next
)

func (r AuthReason) Error() string {
	return cmp.Or(map[AuthReason]string{
		AuthFailed:        "authentication failed: the two ends have different secrets",
		AuthNotUsable:     "authentication protocol not usable",
		AuthSecure:        "secure channel concatenation mismatch",
		AuthHashUnusable:  "no hash that both ends use",
		AuthGroupUnusable: "no Diffie-Hellman group that both ends use",
		AuthBadPayload:    "incorrect authentication payload",
		AuthBadMessage:    "incorrect authentication message",
	}[r], fmt.Sprintf("authentication failed for reason 0x%02x", uint8(r)))
}
