package hub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"weft/internal/hint"
	"weft/internal/store"
	"weft/internal/store/dir"
	"weft/internal/store/nats"
)

// A Copied is what was copied of one owner's store.
type Copied struct {
	Owner     string `json:"owner"`
	Documents int    `json:"documents"`
	Blobs     int    `json:"blobs"`
	There     int    `json:"there"` // and were there already, as they are
}

// Hub reports whether it is the hub's own store, whose documents are credentials.
func (c Copied) Hub() bool { return c.Owner == own }

// Backup copies all that the hub keeps to a new folder, in which each owner's store is
// a directory that weft can go on with. Each document is as it was at some moment of
// the backup. Credentials are in it by their public keys; there are no secrets in it.
func (s *Session) Backup(ctx context.Context, to string) ([]Copied, error) {
	if there, err := os.ReadDir(to); err == nil && len(there) > 0 {
		return nil, hint.Wrap(fmt.Errorf("%s is not empty", to), "a backup needs a new folder")
	}
	owners, err := s.owners(ctx)
	if err != nil {
		return nil, err
	}
	var list []Copied
	for _, owner := range append(owners, own) {
		from, err := s.Store(ctx, owner)
		if err != nil {
			return list, err
		}
		c, err := backupOne(ctx, from, owner, filepath.Join(to, owner))
		from.Close()
		if err != nil {
			return list, fmt.Errorf("back up the store of %s: %w", owner, err)
		}
		c.Owner = owner
		list = append(list, c)
	}
	return list, nil
}

func backupOne(ctx context.Context, from *nats.Store, owner, place string) (Copied, error) {
	to, err := dir.Open(ctx, place, dir.Options{})
	if err != nil {
		return Copied{}, err
	}
	defer to.Close()
	return Copy(ctx, from, to, folderOf(owner))
}

// folderOf is what is copied of a store: of the hub itself the credentials.
func folderOf(owner string) string { return map[bool]string{true: membersFolder}[owner == own] }

// Copy copies the documents of a folder and all blobs to a store that has none of them, or the same: what
// is there and differs is left, and refused before anything is copied. Leases are not
// copied. Documents go last, so that the blobs that they name are there.
func Copy(ctx context.Context, from, to store.Store, folder string) (c Copied, err error) {
	entries, _, err := from.List(ctx, folder)
	if err != nil {
		return c, err
	}
	have, _, err := to.List(ctx, folder)
	if err != nil {
		return c, err
	}
	there := map[string]string{}
	for _, e := range have {
		there[e.Key] = string(e.Value)
	}
	var differs []error
	for _, e := range entries {
		if v, ok := there[e.Key]; ok && v != string(e.Value) {
			differs = append(differs, fmt.Errorf("%s is there already, and differs", e.Key))
		}
	}
	if differs != nil {
		return c, errors.Join(differs...)
	}
	blobs, err := from.Blobs(ctx)
	if err != nil {
		return c, err
	}
	for _, d := range blobs {
		if err := copyBlob(ctx, from, to, d); err != nil {
			return c, err
		}
		c.Blobs++
	}
	for _, e := range entries {
		if _, ok := there[e.Key]; ok {
			c.There++
			continue
		}
		if _, err := to.Create(ctx, e.Key, e.Value); err != nil {
			return c, err
		}
		c.Documents++
	}
	return c, nil
}

func copyBlob(ctx context.Context, from, to store.Store, d store.Digest) error {
	r, err := from.Blob(ctx, d)
	if errors.As(err, new(*store.NotFoundError)) { // it was deleted meanwhile
		return nil
	} else if err != nil {
		return err
	}
	defer r.Close()
	_, err = to.PutBlob(ctx, r)
	return err
}

// Import copies a backup, or a directory in which weft kept runs, into the hub. Tokens
// then rise above all that were given before: who still has a lease of the store that
// was copied is refused by devices that have seen a newer one.
func (s *Session) Import(ctx context.Context, from string) ([]Copied, error) {
	places, err := os.ReadDir(from)
	if err != nil {
		return nil, err
	}
	var list []Copied
	for _, e := range places {
		owner := e.Name()
		if _, err := os.Stat(filepath.Join(from, owner, "store.json")); err != nil {
			continue
		}
		c, err := s.importOne(ctx, owner, filepath.Join(from, owner))
		if err != nil {
			return list, fmt.Errorf("import the store of %s: %w", owner, err)
		}
		list = append(list, c)
	}
	if list == nil {
		return nil, hint.Wrap(fmt.Errorf("there is no backup in %s", from), "it has a folder for each owner, as weft hub backup writes it")
	}
	return list, nil
}

func (s *Session) importOne(ctx context.Context, owner, place string) (Copied, error) {
	from, err := dir.Open(ctx, place, dir.Options{})
	if err != nil {
		return Copied{}, err
	}
	defer from.Close()
	to, err := s.Store(ctx, owner)
	if err != nil {
		return Copied{}, err
	}
	defer to.Close()
	c, err := Copy(ctx, from, to, folderOf(owner))
	c.Owner = owner
	if err != nil {
		return c, err
	}
	return c, to.Restored(ctx)
}
