package host

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
	"strings"

	"weft/internal/hint"
	"weft/plan"
)

// What is secret in a state does not stand in a ledger. Of what was applied it
// holds a salted HMAC, which tells whether the device still has it; what was
// there before, which undo needs, is in a file of its own beside the ledger
// (0600), by a name that the ledger holds instead. Ledgers that hold both in the
// clear, as weft wrote them before, are read, and written so from then on.

// An openState is a state with secrets: where they are, and how it is written
// once they are changed.
type openState struct {
	secrets []*[]byte
	encode  func() json.RawMessage
}

func (k *Kind[T]) secrets(raw json.RawMessage) (openState, bool) {
	var state *T
	if k.Secrets == nil || raw == nil || json.Unmarshal(raw, &state) != nil || state == nil {
		return openState{}, false
	}
	return openState{k.Secrets(state), func() json.RawMessage { return encode(state) }}, true
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
func SameSecret(a, b []byte) bool {
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
func sameApplied(kind AnyKind, a, b json.RawMessage) bool {
	ours, ok := kind.secrets(a)
	theirs, also := kind.secrets(b)
	if bytes.Equal(a, b) || !ok || !also || len(ours.secrets) != len(theirs.secrets) {
		return bytes.Equal(a, b)
	}
	for i, secret := range ours.secrets {
		if !SameSecret(*secret, *theirs.secrets[i]) {
			return false
		}
		*secret = *theirs.secrets[i]
	}
	return bytes.Equal(ours.encode(), theirs.encode())
}

// changeSecrets is a state with its secrets changed.
func changeSecrets(kind AnyKind, raw json.RawMessage, change func([]byte) []byte) json.RawMessage {
	if kind == nil {
		return raw
	}
	state, ok := kind.secrets(raw)
	if !ok || len(state.secrets) == 0 {
		return raw
	}
	for _, s := range state.secrets {
		*s = change(*s)
	}
	return state.encode()
}

// changeEntries is entries with the secrets of what was applied and of what was
// there before changed, also in what they were before a run.
func changeEntries(known KindSet, list []plan.Entry, applied, former func([]byte) []byte) []plan.Entry {
	if list == nil {
		return nil
	}
	out := make([]plan.Entry, len(list))
	for i, e := range list {
		e.Applied = changeSecrets(known[e.Kind], e.Applied, applied)
		e.Former = changeSecrets(known[e.Kind], e.Former, former)
		e.Before = changeSecrets(known[e.Kind], e.Before, former)
		if e.Prior != nil {
			e.Prior = &changeEntries(known, []plan.Entry{*e.Prior}, applied, former)[0]
		}
		out[i] = e
	}
	return out
}

// formerSecrets are secrets of what was there before, by their names.
type formerSecrets map[string][]byte

// discreet is the ledger as it is written, and the secrets that it names. had are
// those that are kept already.
func (l ledger) discreet(had formerSecrets, known KindSet) (ledger, formerSecrets) {
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
	l.Entries, l.Pruned = changeEntries(known, l.Entries, seal, keep), changeEntries(known, l.Pruned, seal, keep)
	return l, kept
}

// outspoken is a ledger as it was read, with the secrets that it names where they
// should be.
func (l ledger) outspoken(kept formerSecrets, known KindSet) ledger {
	as := func(secret []byte) []byte { return secret }
	find := func(secret []byte) []byte {
		if name, ok := strings.CutPrefix(string(secret), keptPrefix); ok && kept[name] != nil {
			return kept[name]
		}
		return secret
	}
	l.Entries, l.Pruned = changeEntries(known, l.Entries, as, find), changeEntries(known, l.Pruned, as, find)
	return l
}

// errFormer is an entry whose former secrets cannot be had.
var errFormer = errors.New("what was there before is secret, and the file beside the ledger that kept it does not have it any more")

// found is an error where a state that is to be put back lacks its secrets.
func found(secrets []*[]byte) error {
	for _, secret := range secrets {
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
func (d *Machine) keepFormer(ctx context.Context, kept formerSecrets, host Transport) error {
	if !d.ledgers.unsure && maps.EqualFunc(kept, d.ledgers.former, bytes.Equal) {
		return nil
	}
	memory := d.os.Memory
	err := func() error {
		if len(kept) == 0 {
			return memory.Remove(ctx, host, d.owner, KeptSecrets)
		}
		raw, err := json.Marshal(kept)
		if err != nil {
			return err
		}
		return memory.Put(ctx, host, KeptSecrets, d.owner, raw)
	}()
	d.ledgers.unsure = err != nil
	if err != nil {
		return fmt.Errorf("keep what was there before in %s: %w", memory.Place(KeptSecrets, d.owner), err)
	}
	d.ledgers.former = kept
	return nil
}
