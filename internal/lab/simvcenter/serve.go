package simvcenter

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
)

// An Answer is where a vCenter answers.
type Answer struct {
	Host   string `json:"host"`
	Port   int    `json:"port"`
	SHA256 string `json:"sha256"` // of its certificate
}

// Serve reads a Spec as JSON, makes that vCenter answer, writes its Answer, then each Event,
// after which it waits for a line. A line that begins with fault and a space asks for a Fault,
// which an Event answers. It ends when the input ends: whoever started it is gone then.
func Serve(in io.Reader, out io.Writer) error {
	var spec Spec
	d := json.NewDecoder(in)
	if err := d.Decode(&spec); err != nil {
		return fmt.Errorf("what the vCenter is made of: %w", err)
	}
	said, gone := make(chan struct{}), make(chan struct{})
	enc := json.NewEncoder(out)
	var mu sync.Mutex
	spec.Tell = func(p Event) {
		mu.Lock()
		defer mu.Unlock()
		if enc.Encode(p) != nil {
			return // whoever started it is gone
		}
		select {
		case <-said:
		case <-gone:
		}
	}
	s, err := Start(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	var answering sync.WaitGroup
	defer answering.Wait()
	defer close(gone) // before it is closed, which waits for who is served
	mu.Lock()
	err = enc.Encode(Answer{s.Host, s.Port, s.SHA256})
	mu.Unlock()
	if err != nil {
		return fmt.Errorf("saying where the vCenter answers: %w", err)
	}
	lines := bufio.NewScanner(io.MultiReader(d.Buffered(), in))
	for lines.Scan() {
		if name, ok := strings.CutPrefix(lines.Text(), "fault "); ok {
			answer := Event{Fault: "done"}
			if err := s.Fault(name); err != nil {
				answer.Fault = err.Error()
			}
			answering.Go(func() { // its reader may wait for the line that ends an Event
				mu.Lock()
				defer mu.Unlock()
				_ = enc.Encode(answer) // whoever asked may be gone
			})
		} else if lines.Text() != "" { // what is left of the line of the Spec
			said <- struct{}{}
		}
	}
	return lines.Err()
}
