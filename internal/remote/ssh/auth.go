package ssh

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// A login proves who we are. It is used for one connection.
type login struct {
	route    route
	password func() (string, error) // nil: keys only
	deadline time.Time              // for the agent

	exposed func(file string) // is told of each private key that others may read

	agent net.Conn // while the handshake lasts
	notes []string // why a key was not offered
}

// methods lists the ways to log in, in the order in which they are tried.
func (l *login) methods() []ssh.AuthMethod {
	methods := []ssh.AuthMethod{ssh.PublicKeysCallback(l.signers)}
	if l.password == nil {
		return methods
	}
	password := sync.OnceValues(l.password)
	answer := func(_, _ string, questions []string, echos []bool) ([]string, error) {
		answers := make([]string, len(questions))
		for i := range questions {
			if echos[i] {
				return nil, fmt.Errorf("asked for more than a password: %q", questions[i])
			}
			secret, err := password()
			if err != nil {
				return nil, err
			}
			answers[i] = secret
		}
		return answers, nil
	}
	return append(methods, ssh.KeyboardInteractive(answer), ssh.PasswordCallback(password))
}

// close hangs up on the agent.
func (l *login) close() {
	if l.agent != nil {
		l.agent.Close()
	}
}

// signers lists the keys to offer: those of the identity files first, for
// servers count attempts; then all others of the agent, unless
// IdentitiesOnly.
func (l *login) signers() ([]ssh.Signer, error) {
	held := l.agentSigners()
	certificates := l.loadCertificates()
	var offer []ssh.Signer
	for _, file := range l.route.identities {
		public, signer := l.identity(file)
		if public == nil {
			continue
		}
		for i, h := range held {
			if h != nil && bytes.Equal(h.PublicKey().Marshal(), public.Marshal()) {
				signer, held[i] = h, nil
			}
		}
		if signer == nil {
			l.notes = append(l.notes, file+" is encrypted or not here, and the agent does not hold it: add it with ssh-add")
			continue
		}
		for _, c := range certificates {
			if bytes.Equal(c.Key.Marshal(), public.Marshal()) {
				if s, err := ssh.NewCertSigner(c, signer); err == nil {
					offer = append(offer, s)
				}
			}
		}
		offer = append(offer, signer)
	}
	for _, h := range held {
		if h != nil && !l.route.identitiesOnly {
			offer = append(offer, h)
		}
	}
	return offer, nil
}

// agentPatience is how long an agent may take to list its keys: one that was forwarded over
// a connection that is gone takes for ever, and would leave no time for key files.
const agentPatience = 10 * time.Second

// agentSigners lists what the agent holds; an agent that does not answer
// holds nothing.
func (l *login) agentSigners() []ssh.Signer {
	if l.route.agent == "" {
		return nil
	}
	conn, err := net.Dial("unix", l.route.agent)
	if err != nil {
		l.notes = append(l.notes, fmt.Sprintf("the agent does not answer: %v", err))
		return nil
	}
	l.agent = conn
	conn.SetDeadline(time.Now().Add(min(agentPatience, time.Until(l.deadline)/2)))
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		l.notes = append(l.notes, fmt.Sprintf("the agent at %s lists no keys: %v", l.route.agent, err))
	}
	conn.SetDeadline(l.deadline)
	return signers
}

// identity reads a private key file. An encrypted one has no signer; one that
// is not there has neither.
func (l *login) identity(file string) (ssh.PublicKey, ssh.Signer) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return publicHalf(file), nil
	}
	if othersRead(file) {
		l.exposed(file)
	}
	var signer ssh.Signer
	if err == nil {
		signer, err = ssh.ParsePrivateKey(text)
	}
	var encrypted *ssh.PassphraseMissingError
	switch {
	case errors.As(err, &encrypted) && encrypted.PublicKey != nil:
		return encrypted.PublicKey, nil
	case errors.As(err, &encrypted):
		return publicHalf(file), nil
	case err != nil:
		l.notes = append(l.notes, fmt.Sprintf("%s is not usable: %v", file, err))
		return nil, nil
	}
	return signer.PublicKey(), signer
}

// othersRead reports whether a file may be read by more than its owner, as far as
// its mode tells: on Windows it does not.
func othersRead(file string) bool {
	is, err := os.Stat(file)
	return err == nil && runtime.GOOS != "windows" && is.Mode().Perm()&0o077 != 0
}

// exposedKey warns of a private key, once.
func (d *Dialer) exposedKey(file string) {
	d.mu.Lock()
	told := d.exposed[file]
	d.exposed[file] = true
	d.mu.Unlock()
	if !told && d.config.Warn != nil {
		d.config.Warn(file + " is a private key that others may read, which OpenSSH would not use: chmod 600 " + file)
	}
}

// publicHalf reads FILE.pub, whose private half may be with the agent.
func publicHalf(file string) ssh.PublicKey {
	text, err := os.ReadFile(file + ".pub")
	if err != nil {
		return nil
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(text)
	if err != nil {
		return nil
	}
	return public
}

// loadCertificates reads CertificateFile and IDENTITY-cert.pub.
func (l *login) loadCertificates() []*ssh.Certificate {
	files := append([]string(nil), l.route.certificates...)
	for _, f := range l.route.identities {
		files = append(files, f+"-cert.pub")
	}
	var certificates []*ssh.Certificate
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			continue
		}
		public, _, _, _, err := ssh.ParseAuthorizedKey(text)
		if c, ok := public.(*ssh.Certificate); ok && err == nil {
			certificates = append(certificates, c)
			continue
		}
		l.notes = append(l.notes, f+" is not a certificate")
	}
	return certificates
}
