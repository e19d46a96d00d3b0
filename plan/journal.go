package plan

import (
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// A journal is written ahead of everything that is done to a device, so that
// what may have happened is known even if this process is gone.
type journal struct {
	now func() time.Time

	mu  sync.Mutex
	w   io.Writer // nil: no journal
	err error     // the first failure; after it nothing is written
}

// record is one line of the journal.
type record struct {
	Time    time.Time    `json:"time"`
	Device  string       `json:"device"`
	Do      string       `json:"do"` // begin, step, commit or abort
	State   journalState `json:"state"`
	ID      string       `json:"id,omitempty"` // of the step
	Changes []Change     `json:"changes,omitempty"`
	Send    []string     `json:"send,omitempty"`
	Undo    []string     `json:"undo,omitempty"`
	Error   string       `json:"error,omitempty"`
}

type journalState string

const (
	journalStart  journalState = "start"
	journalDone   journalState = "done"
	journalFailed journalState = "failed"
)

// write appends one line and syncs it.
func (j *journal) write(r record) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.w == nil || j.err != nil {
		return j.err
	}
	r.Time = j.now().UTC()
	line, err := json.Marshal(r)
	if err == nil {
		_, err = j.w.Write(append(line, '\n'))
	}
	if s, ok := j.w.(interface{ Sync() error }); ok && err == nil {
		err = s.Sync()
	}
	if err != nil {
		j.err = fmt.Errorf("write the journal: %w", err)
	}
	return j.err
}

// around records what is about to be done, does it, and records how it ended.
// Where the first record cannot be written, nothing is done; where the last
// cannot, that is the error.
func (j *journal) around(r record, do func() error) error {
	r.State = journalStart
	if err := j.write(r); err != nil {
		return err
	}
	err := do()
	after := record{Device: r.Device, Do: r.Do, ID: r.ID, State: journalDone}
	if err != nil {
		after.State, after.Error = journalFailed, err.Error()
	}
	if werr := j.write(after); err == nil {
		err = werr
	}
	return err
}
