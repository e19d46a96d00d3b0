package tls13

import (
	"errors"
	"fmt"
)

// An Alert is why a peer has ended the connection. RFC 8446, section 6.
type Alert uint8

// Alerts that this package sends or tells apart.
const (
	closeNotify          Alert = 0
	unexpectedMessage    Alert = 10
	badRecordMAC         Alert = 20
	recordOverflow       Alert = 22
	handshakeFailure     Alert = 40
	illegalParameter     Alert = 47
	decodeError          Alert = 50
	decryptError         Alert = 51
	protocolVersion      Alert = 70
	internalError        Alert = 80
	userCanceled         Alert = 90
	missingExtension     Alert = 109
	unsupportedExtension Alert = 110
	unknownPSKIdentity   Alert = 115
)

var alertNames = map[Alert]string{
	closeNotify:          "close_notify",
	unexpectedMessage:    "unexpected_message",
	badRecordMAC:         "bad_record_mac",
	recordOverflow:       "record_overflow",
	handshakeFailure:     "handshake_failure",
	illegalParameter:     "illegal_parameter",
	decodeError:          "decode_error",
	decryptError:         "decrypt_error",
	protocolVersion:      "protocol_version",
	internalError:        "internal_error",
	userCanceled:         "user_canceled",
	missingExtension:     "missing_extension",
	unsupportedExtension: "unsupported_extension",
	unknownPSKIdentity:   "unknown_psk_identity",
}

// String is the name in RFC 8446.
func (a Alert) String() string {
	if s := alertNames[a]; s != "" {
		return s
	}
	return fmt.Sprintf("alert %d", uint8(a))
}

// Error says that the peer has sent it.
func (a Alert) Error() string { return "the peer ended TLS with " + a.String() }

// Rejects reports whether an error says that the peer does not take the key: it has
// none of that identity, or another.
func Rejects(err error) bool {
	var a Alert
	return errors.As(err, &a) && (a == decryptError || a == unknownPSKIdentity || a == handshakeFailure)
}

// ErrNotTLS says that what a peer sends is not TLS at all.
var ErrNotTLS = errors.New("the peer does not speak TLS")

// ErrKey says that a client has no key that the server knows.
var ErrKey = errors.New("no key of the client is known, or it has another of that name")

// breach is what a peer did wrong, and the alert that tells it so.
type breach struct {
	alert Alert
	err   error
}

func (b *breach) Error() string { return fmt.Sprintf("%v (%s)", b.err, b.alert.String()) }
func (b *breach) Unwrap() error { return b.err }

func broke(a Alert, format string, args ...any) error {
	return &breach{a, fmt.Errorf("TLS: "+format, args...)}
}
