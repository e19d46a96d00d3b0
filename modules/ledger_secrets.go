package modules

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"strings"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/plan"
)

// What is secret in a state does not stand in a ledger. Of what was applied it
// holds a salted HMAC, which tells whether the device still has it; what was
// there before, which undo needs, is in a file of its own beside the ledger
// (0600), by a name that the ledger holds instead. Ledgers that hold both in the
// clear, as weft wrote them before, are read, and written so from then on.

// A secretive kind has parts that nobody may read: hides says where they are.
type secretive interface{ hides() []*[]byte }

func (f *File) hides() []*[]byte {
	if !f.Secret {
		return nil
	}
	return []*[]byte{&f.Content}
}

func (k *DHCHAPKey) hides() []*[]byte { return []*[]byte{&k.Key} }

func (n *NVMeTAuth) hides() []*[]byte { return []*[]byte{&n.Key, &n.CtrlKey} }

func (n *NVMeConnection) hides() []*[]byte { return []*[]byte{&n.Key, &n.CtrlKey} }

// secretiveState is an empty state of a kind with secrets, nil of another.
func secretiveState(kind string) secretive {
	switch kind {
	case "file":
		return new(File)
	case "dhchap_key":
		return new(DHCHAPKey)
	case "nvmet_auth":
		return new(NVMeTAuth)
	case "nvme_connection":
		return new(NVMeConnection)
	}
	return nil
}

const (
	sealPrefix = "weft-hmac-sha256:" // then the salt, a colon and the HMAC, in hex
	keptPrefix = "weft-former:"      // then the name in the file of what was there before
)

// seal is what tells a secret from others, and nothing of it.
func seal(secret []byte) []byte {
	if len(secret) == 0 || bytes.HasPrefix(secret, []byte(sealPrefix)) {
		return secret
	}
	salt := make([]byte, 16)
	rand.Read(salt) // never fails
	return sealed(salt, secret)
}

func sealed(salt, secret []byte) []byte {
	mac := hmac.New(sha256.New, salt)
	mac.Write(secret)
	return []byte(sealPrefix + hex.EncodeToString(salt) + ":" + hex.EncodeToString(mac.Sum(nil)))
}

// sameSecret reports whether two secrets are equal, of which one may be sealed.
func sameSecret(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	for _, pair := range [][2][]byte{{a, b}, {b, a}} {
		rest, ok := strings.CutPrefix(string(pair[0]), sealPrefix)
		text, _, _ := strings.Cut(rest, ":")
		if salt, err := hex.DecodeString(text); ok && err == nil && hmac.Equal(pair[0], sealed(salt, pair[1])) {
			return true
		}
	}
	return false
}

// sameApplied reports whether two states of a kind, as a ledger keeps what was
// applied, are equal.
func sameApplied(kind string, a, b json.RawMessage) bool {
	x, y := secretiveState(kind), secretiveState(kind)
	if bytes.Equal(a, b) || x == nil || json.Unmarshal(a, x) != nil || json.Unmarshal(b, y) != nil {
		return bytes.Equal(a, b)
	}
	ours, theirs := x.hides(), y.hides()
	if len(ours) != len(theirs) {
		return false
	}
	for i := range ours {
		if !sameSecret(*ours[i], *theirs[i]) {
			return false
		}
		*ours[i] = *theirs[i]
	}
	left, lerr := json.Marshal(x)
	right, rerr := json.Marshal(y)
	return lerr == nil && rerr == nil && bytes.Equal(left, right)
}

// changeSecrets is a state with its secrets changed.
func changeSecrets(kind string, raw json.RawMessage, change func([]byte) []byte) json.RawMessage {
	state := secretiveState(kind)
	if state == nil || raw == nil || string(raw) == "null" || json.Unmarshal(raw, state) != nil || len(state.hides()) == 0 {
		return raw
	}
	for _, s := range state.hides() {
		*s = change(*s)
	}
	out, err := json.Marshal(state)
	if err != nil {
		panic(err) // states are plain structs
	}
	return out
}

// changeEntries is entries with the secrets of what was applied and of what was
// there before changed, also in what they were before a run.
func changeEntries(list []plan.Entry, applied, former func([]byte) []byte) []plan.Entry {
	if list == nil {
		return nil
	}
	out := make([]plan.Entry, len(list))
	for i, e := range list {
		e.Applied = changeSecrets(e.Kind, e.Applied, applied)
		e.Former = changeSecrets(e.Kind, e.Former, former)
		e.Before = changeSecrets(e.Kind, e.Before, former)
		if e.Prior != nil {
			e.Prior = &changeEntries([]plan.Entry{*e.Prior}, applied, former)[0]
		}
		out[i] = e
	}
	return out
}

// formerSecrets are secrets of what was there before, by their names.
type formerSecrets map[string][]byte

func formerPath(owner string) string { return path.Dir(ledgerPath(owner)) + "/former.json" }

// discreet is the ledger as it is written, and the secrets that it names. had are
// those that are kept already.
func (l ledger) discreet(had formerSecrets) (ledger, formerSecrets) {
	kept, names := formerSecrets{}, map[string]string{}
	for name, secret := range had {
		names[string(secret)] = name
	}
	keep := func(secret []byte) []byte {
		if len(secret) == 0 || bytes.HasPrefix(secret, []byte(keptPrefix)) {
			return secret
		}
		name, known := names[string(secret)]
		if !known {
			name = rand.Text()
			names[string(secret)] = name
		}
		kept[name] = secret
		return []byte(keptPrefix + name)
	}
	l.Entries, l.Pruned = changeEntries(l.Entries, seal, keep), changeEntries(l.Pruned, seal, keep)
	return l, kept
}

// outspoken is a ledger as it was read, with the secrets that it names where they
// should be.
func (l ledger) outspoken(kept formerSecrets) ledger {
	as := func(secret []byte) []byte { return secret }
	find := func(secret []byte) []byte {
		if name, ok := strings.CutPrefix(string(secret), keptPrefix); ok && kept[name] != nil {
			return kept[name]
		}
		return secret
	}
	l.Entries, l.Pruned = changeEntries(l.Entries, as, find), changeEntries(l.Pruned, as, find)
	return l
}

// errFormer is an entry whose former secrets cannot be had.
var errFormer = errors.New("what was there before is secret, and the file beside the ledger that kept it does not have it any more")

// found is an error where a state that is to be put back lacks its secrets.
func found(state any) error {
	s, ok := state.(secretive)
	if !ok {
		return nil
	}
	for _, secret := range s.hides() {
		if bytes.HasPrefix(*secret, []byte(keptPrefix)) {
			return hint.Wrap(errFormer, "bring former.json back beside the ledger, from a copy of the server's files")
		}
	}
	return nil
}

// parseFormer reads the file of former secrets.
func parseFormer(raw []byte) (formerSecrets, error) {
	var kept formerSecrets
	if err := json.Unmarshal(raw, &kept); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	return kept, nil
}

// keepFormer makes the file of former secrets hold these, and no others.
func (d *server) keepFormer(ctx context.Context, kept formerSecrets, host remote.Host) error {
	if maps.EqualFunc(kept, d.ledgers.former, bytes.Equal) {
		return nil
	}
	name := formerPath(d.owner)
	err := func() error {
		if len(kept) == 0 {
			_, err := host.Run(ctx, remote.Cmd{Args: []string{"rm", "-f", "--", name}})
			return err
		}
		raw, err := json.Marshal(kept)
		if err != nil {
			return err
		}
		return host.WriteFile(ctx, name, bytes.NewReader(raw), 0o600)
	}()
	if err != nil {
		return fmt.Errorf("keep what was there before in %s: %w", name, err)
	}
	d.ledgers.former = kept
	return nil
}
