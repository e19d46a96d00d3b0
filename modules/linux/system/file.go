package system

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"

	"weft/internal/hint"
	"weft/internal/remote"
	"weft/inventory"
	"weft/modules/host"
	"weft/modules/linux/put"
	"weft/modules/linux/see"
	"weft/plan"
)

// File keeps the whole of one file on a server.
type File struct {
	Path    string
	Mode    fs.FileMode
	Content []byte // wanted, and observed when it was small enough to keep for undo
	Secret  bool   // the content is never shown
}

// FileKind is the kind file.
func FileKind() *host.Kind[File] {
	return &host.Kind[File]{
		Name:   "file",
		Blocks: fileBlocks, Writes: fileWritten,
		Looks: (*File).Looks, Parse: (*File).Parse, Diff: (*File).Diff, Steps: (*File).Steps,
		Secrets: (*File).hides,
	}
}

func fileWritten(_ string, f *File) (string, []host.Setting, error) {
	if f.Secret {
		return "", nil, hint.Wrap(fmt.Errorf("the file %s holds a secret of the files that made it: it is not written", f.Path),
			"write its file block by hand, with the secret where the former files had it")
	}
	set := []host.Setting{host.Set("content", string(f.Content))}
	if f.Mode != 0o644 {
		set = append(set, host.Set("mode", put.Mode(f.Mode)))
	}
	return f.Path, set, nil
}

func fileBlocks(s *inventory.Server) (list []host.Block[File]) {
	for _, b := range s.FileBlocks {
		w := &File{Path: b.Path, Mode: fs.FileMode(b.Mode), Content: []byte(b.Content), Secret: b.Secret}
		list = append(list, host.Block[File]{Block: &b.Block, Name: b.Path, Want: w})
	}
	return list
}

func (f *File) look() remote.Look { return remote.Look{File: f.Path, Stat: true, Root: true} }

func (f *File) Looks() []remote.Look { return []remote.Look{f.look()} }

func (f *File) Parse(s remote.Seen) (*File, error) {
	got, err := see.File(s, f.look())
	if err != nil || got.Absent {
		return nil, err
	}
	return &File{Path: f.Path, Mode: got.Mode.Perm(), Content: got.Content, Secret: f.Secret}, nil
}

func (f *File) Diff(have *File) []plan.Change {
	switch {
	case have == nil:
		return []plan.Change{{Path: "content", After: f.digest()}, {Path: "mode", After: put.Mode(f.Mode)}}
	case f == nil:
		return []plan.Change{{Path: "content", Before: have.digest()}}
	}
	var out []plan.Change
	if !host.SameSecret(have.Content, f.Content) {
		out = append(out, plan.Change{Path: "content", Before: have.digest(), After: f.digest()})
	}
	return append(out, plan.Changed("mode", put.Mode(have.Mode), put.Mode(f.Mode), plan.ImpactNone)...)
}

// digest stands for the content in a plan. No digest of a secret is shown:
// it could be guessed from one.
func (f *File) digest() string {
	if f.Secret {
		return "(sensitive)"
	}
	sum := sha256.Sum256(f.Content)
	return fmt.Sprintf("%d bytes, sha256 %s", len(f.Content), hex.EncodeToString(sum[:6]))
}

func (f *File) Steps(have *File) []remote.Step {
	if f == nil {
		return []remote.Step{{Del: have.Path}}
	}
	return []remote.Step{{Put: &remote.File{Path: f.Path, Mode: f.Mode, Content: f.Content, Secret: f.Secret}}}
}

func (f *File) hides() []*[]byte {
	if !f.Secret {
		return nil
	}
	return []*[]byte{&f.Content}
}
