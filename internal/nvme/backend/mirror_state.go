package backend

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// mirrorState is what outlives the process: which halves hold the same.
type mirrorState struct {
	Legs   [2]string `json:"legs"`
	InSync [2]bool   `json:"in_sync"`
	InUse  bool      `json:"in_use"` // it was not closed
}

func readMirrorState(path string) (s mirrorState, err error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return mirrorState{}, nil
	}
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s, which says what half of the mirror is up to date: %w; remove it to begin from the first half", path, err)
	}
	return s, nil
}

// of is how a leg was, false where the state is not about it.
func (s mirrorState) of(name string) (inSync, known bool) {
	for i, l := range s.Legs {
		if l == name {
			return s.InSync[i], true
		}
	}
	return false, false
}

// good is the leg to begin from: the first unless it was left behind.
func (s mirrorState) good(legs [2]Leg) int {
	first, known := s.of(legs[0].Name)
	if second, _ := s.of(legs[1].Name); known && !first && second {
		return 1
	}
	return 0
}

// agree says that neither leg was left behind.
func (s mirrorState) agree(legs [2]Leg) bool {
	first, _ := s.of(legs[0].Name)
	second, _ := s.of(legs[1].Name)
	return first && second
}

// clean says that both hold the same to the last byte.
func (s mirrorState) clean(legs [2]Leg) bool { return s.agree(legs) && !s.InUse }

// store puts the state on record, durably. The caller holds mu, or is alone.
func (m *Mirror) store(inUse bool) error {
	s := mirrorState{InUse: inUse}
	for i, l := range m.legs {
		s.Legs[i], s.InSync[i] = l.Name, l.state == LegInSync
	}
	b, err := json.MarshalIndent(s, "", "  ")
	if err == nil {
		err = replaceFile(m.o.State, append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("noting which half of the mirror is up to date: %w", err)
	}
	return nil
}

// replaceFile replaces a file as a whole, durably.
func replaceFile(path string, content []byte) (err error) {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}
