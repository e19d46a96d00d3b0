package nvme

import (
	"bytes"
	"io/fs"

	"weft/internal/agent"
	"weft/internal/remote"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// A KeyFile keeps a key in a file that only root can read: weft-target, weft's
// probe and what restores connections at boot read it there.
type KeyFile struct {
	Path   string
	Mode   fs.FileMode
	Key    []byte // what the file holds, without white space at its ends
	Target bool   `json:",omitempty"` // weft-target reads it, too

	Source *Key `json:"-"`
	served bool // observed: weft-target runs
}

// DHCHAPKeyKind is the kind dhchap_key.
func DHCHAPKeyKind() *host.Kind[KeyFile] { return keyKind("dhchap_key") }

// TLSKeyKind is the kind tls_key.
func TLSKeyKind() *host.Kind[KeyFile] { return keyKind("tls_key") }

func keyKind(name string) *host.Kind[KeyFile] {
	return &host.Kind[KeyFile]{
		Name:  name,
		Looks: (*KeyFile).Looks, Parse: (*KeyFile).Parse, Steps: (*KeyFile).Steps,
		Diff:   func(want, have *KeyFile) []plan.Change { return want.diff(name, have) },
		Reveal: (*KeyFile).reveal, Secrets: (*KeyFile).hides,
	}
}

// KeyMode is that of files with keys.
const KeyMode = 0o600

func (k *KeyFile) reveal() (err error) {
	if k.Source != nil {
		k.Key, err = k.Source.read()
	}
	return err
}

func (k *KeyFile) looks() (content, active remote.Look) {
	return remote.Look{File: k.Path, Stat: true, Root: true}, remote.Look{Args: []string{"systemctl", "is-active", agent.Unit}}
}

func (k *KeyFile) Looks() []remote.Look {
	content, active := k.looks()
	if !k.Target {
		return []remote.Look{content}
	}
	return []remote.Look{content, active}
}

func (k *KeyFile) Parse(s remote.Seen) (*KeyFile, error) {
	look, active := k.looks()
	got, err := see.File(s, look)
	if err != nil || got.Absent {
		return nil, err
	}
	return &KeyFile{Path: k.Path, Mode: got.Mode.Perm(), Key: bytes.TrimSpace(got.Content), Target: k.Target,
		served: k.Target && s.Of(active).Code == 0}, nil
}

// diff calls the key by the name of its kind.
func (k *KeyFile) diff(name string, have *KeyFile) []plan.Change {
	switch {
	case have == nil:
		return append(changeKey(name, nil, k.Key, plan.ImpactNone), plan.Change{Path: "mode", After: put.Mode(k.Mode)})
	case k == nil:
		return []plan.Change{{Path: name, Before: hidden}}
	}
	return append(changeKey(name, have.Key, k.Key, plan.ImpactNone), plan.Changed("mode", put.Mode(have.Mode), put.Mode(k.Mode), plan.ImpactNone)...)
}

// Steps: hosts that are connected stay so: a new key is asked
// for when they come again.
func (k *KeyFile) Steps(have *KeyFile) []remote.Step {
	if k == nil {
		return []remote.Step{{Del: have.Path}}
	}
	steps := []remote.Step{{Put: &remote.File{Path: k.Path, Mode: k.Mode, Content: append(bytes.Clone(k.Key), '\n'), Secret: true}}}
	if have != nil && (k.served || have.served) && !bytes.Equal(k.Key, have.Key) {
		steps = append(steps, host.Run(agent.TargetBin, "reload"))
	}
	return steps
}

func (k *KeyFile) hides() []*[]byte { return []*[]byte{&k.Key} }
