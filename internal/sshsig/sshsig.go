// Package sshsig signs texts with SSH keys and verifies such signatures, as
// ssh-keygen -Y does: OpenSSH's PROTOCOL.sshsig.
package sshsig

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/crypto/ssh"
)

const (
	magic     = "SSHSIG"
	pemType   = "SSH SIGNATURE"
	version   = 1
	maxArmour = 64 << 10 // bytes; a signature with a certificate has some kilobytes
)

// blob is a signature without its armour, after the magic.
type blob struct {
	Version       uint32
	PublicKey     []byte
	Namespace     string
	Reserved      string
	HashAlgorithm string
	Signature     []byte
}

// signed is what the key signs, after the magic.
type signed struct {
	Namespace     string
	Reserved      string
	HashAlgorithm string
	Hash          []byte
}

// Sign signs a text for a namespace and returns the armoured signature.
// certified is a certificate of the signer's key, which stands in its place;
// nil: there is none.
func Sign(key ssh.Signer, certified *ssh.Certificate, namespace string, text []byte) ([]byte, error) {
	sum := sha512.Sum512(text)
	data := append([]byte(magic), ssh.Marshal(signed{Namespace: namespace, HashAlgorithm: "sha512", Hash: sum[:]})...)
	var sig *ssh.Signature
	plain, err := ssh.ParsePublicKey(key.PublicKey().Marshal()) // that of an agent may be a certificate, and does not say so
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	if c, ok := plain.(*ssh.Certificate); ok {
		plain = c.Key
	}
	if plain.Type() == ssh.KeyAlgoRSA { // SHA-1 is not allowed
		by, ok := key.(ssh.AlgorithmSigner)
		if !ok {
			return nil, errors.New("sign: this RSA key signs with SHA-1 only")
		}
		sig, err = by.SignWithAlgorithm(rand.Reader, data, ssh.KeyAlgoRSASHA512)
	} else {
		sig, err = key.Sign(rand.Reader, data)
	}
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	public := key.PublicKey()
	if certified != nil {
		public = certified
	}
	b := blob{Version: version, PublicKey: public.Marshal(), Namespace: namespace, HashAlgorithm: "sha512", Signature: ssh.Marshal(sig)}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: append([]byte(magic), ssh.Marshal(b)...)}), nil
}

// Verify returns the key, or the certificate, that has signed the text for the
// namespace. Whether that one may is another matter: Signers.Allow.
func Verify(armoured, text []byte, namespace string) (ssh.PublicKey, error) {
	b, err := decode(armoured)
	if err != nil {
		return nil, err
	}
	if b.Namespace != namespace {
		return nil, fmt.Errorf("the signature is for the namespace %q and not for %q", b.Namespace, namespace)
	}
	var hash []byte
	switch b.HashAlgorithm {
	case "sha256":
		sum := sha256.Sum256(text)
		hash = sum[:]
	case "sha512":
		sum := sha512.Sum512(text)
		hash = sum[:]
	default:
		return nil, fmt.Errorf("the signature has the unknown hash %q", b.HashAlgorithm)
	}
	key, err := ssh.ParsePublicKey(b.PublicKey)
	if err != nil {
		return nil, fmt.Errorf("the key of the signature: %w", err)
	}
	var sig ssh.Signature
	if err := ssh.Unmarshal(b.Signature, &sig); err != nil {
		return nil, fmt.Errorf("the signature: %w", err)
	}
	plain := key
	if c, ok := key.(*ssh.Certificate); ok {
		plain = c.Key
	}
	if !slices.Contains(algorithms(plain.Type()), sig.Format) {
		return nil, fmt.Errorf("a %s key signs with %q here, which is not accepted", plain.Type(), sig.Format)
	}
	data := append([]byte(magic), ssh.Marshal(signed{b.Namespace, b.Reserved, b.HashAlgorithm, hash})...)
	if err := plain.Verify(data, &sig); err != nil {
		return nil, fmt.Errorf("the text is not what %s signed", ssh.FingerprintSHA256(plain))
	}
	return key, nil
}

// algorithms are those with which a type of key may sign.
func algorithms(key string) []string {
	switch key {
	case ssh.KeyAlgoRSA: // PROTOCOL.sshsig, section 3: never ssh-rsa, which is SHA-1
		return []string{ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512}
	case ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256:
		return []string{key}
	}
	return nil
}

func decode(armoured []byte) (blob, error) {
	var b blob
	if len(armoured) > maxArmour {
		return b, fmt.Errorf("the signature has more than %d bytes", maxArmour)
	}
	p, rest := pem.Decode(armoured)
	if p == nil || p.Type != pemType || len(bytes.TrimSpace(rest)) > 0 {
		return b, errors.New("this is not an SSH signature")
	}
	inner, ok := bytes.CutPrefix(p.Bytes, []byte(magic))
	if !ok {
		return b, errors.New("this is not an SSH signature")
	}
	if err := ssh.Unmarshal(inner, &b); err != nil {
		return b, fmt.Errorf("the signature cannot be read: %w", err)
	}
	if b.Version != version {
		return b, fmt.Errorf("the signature has version %d, and %d is known", b.Version, version)
	}
	return b, nil
}
