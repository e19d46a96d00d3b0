package nats

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	client "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// A Credential is what one person, pipeline or worker has of a hub, in one file that
// nobody else may read: where the hub is, whose runs are meant, the key that says who
// it is, and whom to trust to be the hub.
type Credential struct {
	Name  string   // whose it is
	Owner string   // whose runs: as Options.Owner
	URLs  []string // of the servers of the hub
	Seed  []byte   // of the key
	CA    []byte   // certificates in PEM; none: those that the machine trusts
}

const (
	seedBegin = "-----BEGIN USER NKEY SEED-----"
	seedEnd   = "------END USER NKEY SEED------"
)

// Text is the file.
func (c *Credential) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# A credential of weft. It grants the access of %s.\nName: %s\nOwner: %s\n", c.Name, c.Name, c.Owner)
	for _, u := range c.URLs {
		fmt.Fprintf(&b, "Hub: %s\n", u)
	}
	fmt.Fprintf(&b, "%s\n%s\n%s\n", seedBegin, c.Seed, seedEnd)
	b.Write(c.CA)
	return b.Bytes()
}

// ParseCredential reads the file. What is wrong with it is said without its secrets.
func ParseCredential(text []byte) (*Credential, error) {
	c := &Credential{}
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		word, rest, _ := strings.Cut(line, ": ")
		switch rest = strings.TrimSpace(rest); {
		case word == "Name":
			c.Name = rest
		case word == "Owner":
			c.Owner = rest
		case word == "Hub":
			c.URLs = append(c.URLs, rest)
		case strings.TrimSpace(line) == seedBegin && i+1 < len(lines):
			c.Seed = []byte(strings.TrimSpace(lines[i+1]))
		}
	}
	if i := bytes.Index(text, []byte("-----BEGIN CERTIFICATE-----")); i >= 0 {
		c.CA = text[i:]
	}
	if _, err := nkeys.FromSeed(c.Seed); err != nil {
		return nil, errors.New("this is no credential of a hub: there is no key in it that can be read")
	}
	for rest := c.CA; len(bytes.TrimSpace(rest)) > 0; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil || block.Type != "CERTIFICATE" {
			return nil, errors.New("this is no credential of a hub: the certificates at its end cannot be read")
		}
	}
	return c, nil
}

// Connect are options that show the credential, and trust nobody else to be the hub.
// Answers come to a place of its own, where others cannot listen.
func (c *Credential) Connect() ([]client.Option, error) {
	pair, err := nkeys.FromSeed(c.Seed)
	if err != nil {
		return nil, errors.New("the key of the credential cannot be read")
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, err
	}
	opts := []client.Option{client.Nkey(public, pair.Sign), client.CustomInboxPrefix(Inbox(public))}
	if len(c.CA) > 0 {
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(c.CA) {
			return nil, errors.New("the certificates of the credential cannot be read")
		}
		opts = append(opts, client.Secure(&tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS13}))
	}
	return opts, nil
}

// Options are those of a store that is reached with the credential.
func (c *Credential) Options() (Options, error) {
	connect, err := c.Connect()
	return Options{URL: strings.Join(c.URLs, ","), Owner: c.Owner, Connect: connect}, err
}

// Inbox is where answers to the holder of a key come.
func Inbox(public string) string { return "_INBOX_" + public }

// Subjects of an owner's store: what may be read, and what may be changed. Documents
// and leases below the folders are all that may be changed, "" is any; blobs may be
// put by all, and deleted by who has no folders.
func Subjects(owner string, folders []string) (publish []string) {
	keys, leases, blobs := "weft-"+owner, "weft-"+owner+leaseSuffix, "weft-"+owner+"-blob"
	for _, stream := range []string{"KV_" + keys, "KV_" + leases, blobs} {
		publish = append(publish, "$JS.API.STREAM.INFO."+stream, "$JS.API.STREAM.MSG.GET."+stream)
	}
	for _, stream := range []string{"KV_" + keys, "KV_" + leases} {
		for _, verb := range []string{"CREATE", "MSG.NEXT", "DELETE", "INFO"} {
			publish = append(publish, "$JS.API.CONSUMER."+verb+"."+stream+".>")
		}
		publish = append(publish, "$JS.API.CONSUMER.CREATE."+stream)
	}
	publish = append(publish, "WEFT."+owner+".blob.>")
	if len(folders) == 0 {
		return append(publish, "$KV."+keys+".>", "$KV."+leases+".>", "$JS.API.STREAM.PURGE."+blobs)
	}
	for _, f := range folders {
		f = strings.ReplaceAll(f, "/", ".")
		publish = append(publish, "$KV."+keys+"."+f+".>", "$KV."+leases+"."+f+".>")
	}
	return append(publish, "$KV."+keys+"."+fence, "$KV."+leases+"."+fence)
}
