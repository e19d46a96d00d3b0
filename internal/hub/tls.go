package hub

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"sync"
	"time"
)

// lasting is how long certificates are good for: a hub that ends with them would end
// when nobody thinks of it.
const lasting = 20 * 365 * 24 * time.Hour

// newAuthority makes what signs the certificates of the hub's servers, and nothing else.
func (p *Place) newAuthority() error {
	if err := os.Mkdir(p.file("tls"), 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	tmpl, err := template("weft hub")
	if err != nil {
		return err
	}
	tmpl.IsCA, tmpl.BasicConstraintsValid, tmpl.MaxPathLenZero = true, true, true
	tmpl.KeyUsage = x509.KeyUsageCertSign
	return p.sign("ca", tmpl, tmpl, key, key)
}

func template(name string) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(lasting)}, nil
}

// sign writes a certificate and its key.
func (p *Place) sign(name string, tmpl, parent *x509.Certificate, key, by *ecdsa.PrivateKey) error {
	cert, err := x509.CreateCertificate(rand.Reader, tmpl, parent, &key.PublicKey, by)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	if err := write(p.file("tls", name+".key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})); err != nil {
		return err
	}
	return write(p.file("tls", name+".crt"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}))
}

// certify makes the server's certificate, and returns that of the authority.
func (p *Place) certify(hosts []string) ([]byte, error) {
	pair, err := tls.LoadX509KeyPair(p.file("tls", "ca.crt"), p.file("tls", "ca.key"))
	if err != nil {
		return nil, err
	}
	by, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("%s is no key of weft's", p.file("tls", "ca.key"))
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	tmpl, err := template("weft hub " + p.about.Name)
	if err != nil {
		return nil, err
	}
	tmpl.KeyUsage = x509.KeyUsageDigitalSignature
	tmpl.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, h := range append(hosts, "localhost", "127.0.0.1", "::1") {
		if ip := net.ParseIP(h); ip != nil {
			tmpl.IPAddresses = append(tmpl.IPAddresses, ip)
		} else {
			tmpl.DNSNames = append(tmpl.DNSNames, h)
		}
	}
	if err := p.sign("server", tmpl, pair.Leaf, key, by); err != nil {
		return nil, err
	}
	return os.ReadFile(p.file("tls", "ca.crt"))
}

// A pair is a certificate and its key in files that others may renew.
type pair struct {
	cert, key string

	mu   sync.Mutex
	read time.Time // modification of cert
	have *tls.Certificate
}

// get reads the files when they have changed. What cannot be read leaves the former.
func (p *pair) get() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	info, err := os.Stat(p.cert)
	if err == nil && (p.have == nil || !info.ModTime().Equal(p.read)) {
		var c tls.Certificate
		if c, err = tls.LoadX509KeyPair(p.cert, p.key); err == nil {
			p.have, p.read = &c, info.ModTime()
		}
	}
	if p.have == nil {
		return nil, fmt.Errorf("read the certificate: %w", err)
	}
	return p.have, nil
}

// clients is what clients meet.
func (p *pair) clients() *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.get() }}
}

// among is what servers of a hub meet each other with: each shows a certificate of
// the hub's authority, and nobody else has one.
func (p *Place) among() (*tls.Config, error) {
	c, err := tls.LoadX509KeyPair(p.file("tls", "server.crt"), p.file("tls", "server.key"))
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(p.file("tls", "ca.crt"))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(ca) {
		return nil, fmt.Errorf("%s cannot be read", p.file("tls", "ca.crt"))
	}
	return &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{c}, RootCAs: pool, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert}, nil
}
