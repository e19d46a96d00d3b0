package hub

import (
	"context"
	"crypto/tls"
)

// Owners are those who have a store, the hub itself left out.
func (s *Session) Owners(ctx context.Context) ([]string, error) { return s.owners(ctx) }

// Certificate is where the server's own certificate and its key are; "": the hub was
// made without.
func (p *Place) Certificate() (cert, key string) {
	if p.about.Plain {
		return "", ""
	}
	return p.file("tls", "server.crt"), p.file("tls", "server.key")
}

// Shown shows clients a certificate, which is read again when its file changes.
func Shown(cert, key string) (*tls.Config, error) {
	shown := &pair{cert: cert, key: key}
	if _, err := shown.get(); err != nil {
		return nil, err
	}
	return shown.clients(), nil
}
