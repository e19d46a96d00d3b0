package nvme

import (
	"fmt"
	"strings"
	"sync"

	"weft/internal/hint"
	"weft/internal/nvme/dhchap"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/plan"
)

// A chapKey is a key of DH-HMAC-CHAP as it is declared: it is read once, when
// the first server is looked at that has to do with it. nil is none.
type ChapKey struct {
	from *inventory.Secret
	once sync.Once
	text []byte // DHHC-1:HH:BASE64:
	err  error
}

// newCHAPKey is the key of a secret.
func NewCHAPKey(from *inventory.Secret) *ChapKey { return &ChapKey{from: from} }

// read computes the key. Its error shows nothing of it.
func (k *ChapKey) read() ([]byte, error) {
	if k == nil {
		return nil, nil
	}
	k.once.Do(func() {
		text, err := k.from.Read()
		if err != nil {
			k.err = err
			return
		}
		if _, err := dhchap.ParseSecret(text); err != nil {
			k.err = hint.Wrap(fmt.Errorf("%s is not a key of DH-HMAC-CHAP: %w", k.from.From, err),
				"weft-target key, or nvme gen-dhchap-key, makes one: DHHC-1:HH:BASE64:, all of it on one line")
			return
		}
		k.text = []byte(strings.TrimSpace(text))
	})
	return k.text, k.err
}

// A keyPair is where the keys of a host and of what it connects to come from,
// and the files of a server in which boot scripts find them; "" where there is
// none.
type KeyPair struct {
	Host, Target         *ChapKey
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
