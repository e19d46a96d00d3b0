package nvme

import (
	"fmt"
	"strings"
	"sync"

	"weft/internal/hint"
	"weft/internal/nvme/dhchap"
	"weft/internal/nvme/psk"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// A Key is a key as it is declared: it is read once, when the first server is looked
// at that has to do with it. nil is none.
type Key struct {
	from *inventory.Secret
	what string             // people call it that
	made string             // how it is made, and looks
	is   func(string) error // why a text is none
	once sync.Once
	text []byte // as agents and kernels read it
	err  error
}

// NewCHAPKey is the key of a secret for DH-HMAC-CHAP.
func NewCHAPKey(from *inventory.Secret) *Key {
	return &Key{from: from, what: "a key of DH-HMAC-CHAP", made: "weft-target key, or nvme gen-dhchap-key, makes one: DHHC-1:HH:BASE64:, all of it on one line",
		is: func(text string) error { _, err := dhchap.ParseSecret(text); return err }}
}

// NewTLSKey is the key of a secret for TLS.
func NewTLSKey(from *inventory.Secret) *Key {
	return &Key{from: from, what: "a key for TLS", made: "weft-target key --tls, or nvme gen-tls-key, makes one: NVMeTLSkey-1:HH:BASE64:, all of it on one line",
		is: func(text string) error { _, err := psk.Parse(text); return err }}
}

// read computes the key. Its error shows nothing of it.
func (k *Key) read() ([]byte, error) {
	if k == nil {
		return nil, nil
	}
	k.once.Do(func() {
		text, err := k.from.Read()
		if err != nil {
			k.err = err
			return
		}
		if err := k.is(text); err != nil {
			k.err = hint.Wrap(fmt.Errorf("%s is not %s: %w", k.from.From, k.what, err), "%s", k.made)
			return
		}
		k.text = []byte(strings.TrimSpace(text))
	})
	return k.text, k.err
}

// A KeyPair is where the keys of a host and of what it connects to come from,
// and the files of a server in which boot scripts find them; "" where there is
// none.
type KeyPair struct {
	Host, Target         *Key
	HostFile, TargetFile string
}

// reveal reads both into what is wanted, where any are declared.
func (p KeyPair) reveal(key, ctrlKey *[]byte) (err error) {
	if p.Host == nil {
		return nil
	}
	if *key, err = p.Host.read(); err != nil {
		return err
	}
	*ctrlKey, err = p.Target.read()
	return err
}

const hidden = "(sensitive)" // stands for a key, whatever it is

// changeKey is the difference of two keys, if there is one: neither they nor
// anything that could be compared with them is shown.
func changeKey(path string, have, want []byte, impact plan.Impact) []plan.Change {
	if host.SameSecret(have, want) {
		return nil
	}
	c := plan.Change{Path: path, Impact: impact}
	switch {
	case len(have) == 0:
		c.After = hidden
	case len(want) == 0:
		c.Before = hidden
	default:
		c.Before, c.After = hidden, hidden+" differs"
	}
	return []plan.Change{c}
}

// tell gives an attribute of the kernel's a secret, which is in no argument.
func tell(file string, secret []byte) remote.Step {
	return remote.Step{Args: []string{"sh", "-c", `tee "$1" >/dev/null`, "sh", file}, Secret: secret}
}
