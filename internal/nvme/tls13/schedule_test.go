package tls13

import (
	"bytes"
	"encoding/hex"
	"testing"
)

// TestSchedule follows the secrets of RFC 8448, section 3: a handshake without a key.
func TestSchedule(t *testing.T) {
	s := &schedule{suite: AES128SHA256, secret: AES128SHA256.Extract(nil, nil), said: AES128SHA256.Hash()}
	same(t, "early secret", s.secret, "33ad0a1c607ec03b09e6cd9893680ce210adf300aa1f2660e1b22e10f170f92a")
	same(t, "derived", AES128SHA256.derive(s.secret, "derived", AES128SHA256.Hash()), "6f2615a108c702c5678f54fc9dbab69716c076189c48250cebeac3576c3611ba")
	s.next(unhex("8bd4054fb55b9d63fdfbacf9f04b9f0d35e6d63f537563efd46272900f89492d"))
	same(t, "handshake secret", s.secret, "1dc826e93606aa6fdc0aadc12f741b01046aa6b99f691ed221a9f0ca043fbeac")
	s.next(nil)
	same(t, "master secret", s.secret, "18df06843d13a08bf2a449844c5f8a478001bc4d4c627984d5a41da8d0402919")
	server := unhex("b67b7d690cc16c4e75e54213cb2d37b4e9c912bcded9105d42befd59d391ad38")
	same(t, "the server's key", AES128SHA256.ExpandLabel(server, "key", nil, 16), "3fce516009c21727d0f2e4e86ee403bc")
	same(t, "the server's iv", AES128SHA256.ExpandLabel(server, "iv", nil, 12), "5d313eb2671276ee13000b30")
}

func same(t *testing.T, what string, is []byte, want string) {
	t.Helper()
	if !bytes.Equal(is, unhex(want)) {
		t.Errorf("%s: %x, want %s", what, is, want)
	}
}

func unhex(s string) []byte { b, _ := hex.DecodeString(s); return b }
