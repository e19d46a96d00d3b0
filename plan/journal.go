package plan

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// A journal is written ahead of everything that is done to a device, so that
// what may have happened is known even if this process is gone.
type journal struct {
	now       func() time.Time
	simulated bool

	mu      sync.Mutex // guards what follows
	w       io.Writer  // nil: no journal
	err     error      // the first failure; after it nothing is written
	written int        // lines
	synced  int        // of them

	turn sync.Mutex // of who syncs
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

	Simulated bool `json:"simulated,omitempty"` // the device is one of the lab
}

type journalState string

const (
	journalStart  journalState = "start"
	journalDone   journalState = "done"
	journalFailed journalState = "failed"
)

// write appends one line, and returns when it is synced: what many devices have written
// meanwhile is synced at once.
func (j *journal) write(r record) error {
	line, err := j.append(r)
	s, ok := j.w.(interface{ Sync() error })
	if err != nil || !ok {
		return err
	}
	j.turn.Lock()
	defer j.turn.Unlock()
	j.mu.Lock()
	all, done, err := j.written, j.synced >= line, j.err
	j.mu.Unlock()
	if done || err != nil {
		return err
	}
	err = s.Sync()
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.failed(err); j.err == nil {
		j.synced = all
	}
	return j.err
}

// append writes a line, and returns how many there are.
func (j *journal) append(r record) (line int, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.w == nil || j.err != nil {
		return 0, j.err
	}
	r.Time, r.Simulated = j.now().UTC(), j.simulated
	text, err := json.Marshal(r)
	if err == nil {
		_, err = j.w.Write(append(text, '\n'))
	}
	j.failed(err)
	j.written++
	return j.written, j.err
}

func (j *journal) failed(err error) {
	if err != nil && j.err == nil {
		j.err = fmt.Errorf("write the journal: %w", err)
	}
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

// ChangedSince returns the devices to which a journal says that something was done
// after a time: those of the lab, or the real ones. A last line that was cut off is
// left out, what is before it stands.
func ChangedSince(journal io.Reader, after time.Time, simulated bool) (devices []string, err error) {
	in := bufio.NewReader(journal)
	seen := map[string]bool{}
	for {
		line, err := in.ReadBytes('\n')
		var r record
		switch {
		case json.Unmarshal(line, &r) != nil:
		case r.Do != "step" && r.Do != "abort", r.Simulated != simulated, !r.Time.After(after):
		case !seen[r.Device]:
			seen[r.Device] = true
			devices = append(devices, r.Device)
		}
		if errors.Is(err, io.EOF) {
			return devices, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the journal: %w", err)
		}
	}
}
