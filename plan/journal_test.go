package plan

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"
)

// A disk keeps what was synced.
type disk struct {
	mu     sync.Mutex
	text   bytes.Buffer
	safe   int // bytes
	syncs  int
	broken bool
	busy   chan struct{} // nil: a sync takes no time
}

func (d *disk) Write(p []byte) (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.text.Write(p)
}

func (d *disk) Sync() error {
	d.mu.Lock()
	upTo := d.text.Len() // what comes meanwhile is not in it
	d.syncs++
	broken := d.broken
	d.mu.Unlock()
	if d.busy != nil {
		<-d.busy
	}
	if broken {
		return errors.New("no space left")
	}
	d.mu.Lock()
	d.safe = upTo
	d.mu.Unlock()
	return nil
}

// A line of the journal is on the disk when it counts as written, however many devices
// write at once, and those that come while one is synced share the next.
func TestJournalIsSynced(t *testing.T) {
	const devices = 100
	d := &disk{busy: make(chan struct{})}
	j := &journal{now: time.Now, w: d}
	var all sync.WaitGroup
	for i := range devices {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26))
		all.Go(func() {
			if err := j.write(record{Device: name, Do: "step"}); err != nil {
				t.Error(err)
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			if !bytes.Contains(d.text.Bytes()[:d.safe], []byte(`"device":"`+name+`"`)) {
				t.Errorf("%s goes on, and its line is not synced", name)
			}
		})
	}
	for { // the first is being synced, and all others have written
		d.mu.Lock()
		n := bytes.Count(d.text.Bytes(), []byte("\n"))
		d.mu.Unlock()
		if n == devices {
			break
		}
		time.Sleep(time.Millisecond)
	}
	close(d.busy)
	all.Wait()
	if d.syncs > 2 {
		t.Errorf("%d lines were synced %d times", devices, d.syncs)
	}
	d.broken = true
	if err := j.write(record{Device: "z"}); err == nil {
		t.Error("a line that is not synced counts as written")
	}
	n := d.text.Len()
	if err := j.write(record{Device: "z"}); err == nil || d.text.Len() != n {
		t.Errorf("it goes on after that: %v", err)
	}
}
