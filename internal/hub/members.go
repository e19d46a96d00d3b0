package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"weft/internal/store"
)

// A Kind is what a credential is for.
type Kind string

// People and pipelines may do all that runs of their owner need. A worker reads them
// all, and changes what is below the folders of its site.
const (
	Person   Kind = "person"
	Pipeline Kind = "pipeline"
	Worker   Kind = "worker"
)

// A Member is who has a credential.
type Member struct {
	Name  string    `json:"name"`
	Kind  Kind      `json:"kind"`
	Owner string    `json:"owner"`          // whose runs, as the files name it
	Site  string    `json:"site,omitempty"` // of a worker
	Key   string    `json:"key"`            // public
	Made  time.Time `json:"made"`
}

// Check refuses what is none.
func (m *Member) Check() error {
	bad := func(r rune) bool { return !unicode.IsPrint(r) }
	switch {
	case m.Name == "" || len(m.Name) > 64 || strings.ContainsFunc(m.Name, bad):
		return fmt.Errorf("%q is no name of a credential: it has 1 to 64 characters that can be printed", m.Name)
	case m.Owner == "" || strings.ContainsFunc(m.Owner, bad):
		return errors.New("whose runs? A credential is for one owner, which is the name in weft { name = … }")
	case !slices.Contains([]Kind{Person, Pipeline, Worker}, m.Kind):
		return fmt.Errorf("%q is no kind of credential: there are person, pipeline and worker", m.Kind)
	case (m.Kind == Worker) != (m.Site != ""):
		return errors.New("a worker needs a site; other kinds have none")
	case strings.ContainsFunc(m.Site, bad):
		return fmt.Errorf("%q is no name of a site", m.Site)
	}
	return nil
}

// membersFolder is below which the credentials are kept in the hub's own store.
const membersFolder = "credential"

func (m *Member) doc() string { return membersFolder + "/" + store.Segment(m.Name) }

// members are the credentials, in the order of their names.
func members(ctx context.Context, s store.Store) ([]Member, store.Revision, error) {
	entries, at, err := s.List(ctx, membersFolder)
	if err != nil {
		return nil, 0, err
	}
	var list []Member
	for _, e := range entries {
		var m Member
		if err := json.Unmarshal(e.Value, &m); err != nil {
			return nil, 0, &store.CorruptError{What: e.Key, Why: err.Error()}
		}
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b Member) int { return cmp.Compare(a.Name, b.Name) })
	return list, at, nil
}

// copied are the members that the server knew last.
func (p *Place) copied() (list []Member, err error) {
	text, err := os.ReadFile(p.file("members.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", p.file("members.json"), err)
	}
	return list, nil
}
