package simvcenter

import (
	"encoding/json"
	"fmt"
	"io"
)

// An Answer is where a vCenter answers.
type Answer struct {
	Host   string `json:"host"`
	Port   int    `json:"port"`
	SHA256 string `json:"sha256"` // of its certificate
}

// Serve reads a Spec as JSON, makes that vCenter answer, writes its Answer, and ends it
// when the input ends: whoever started it is gone then.
func Serve(in io.Reader, out io.Writer) error {
	var spec Spec
	d := json.NewDecoder(in)
	if err := d.Decode(&spec); err != nil {
		return fmt.Errorf("what the vCenter is made of: %w", err)
	}
	s, err := Start(spec)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := json.NewEncoder(out).Encode(Answer{s.Host, s.Port, s.SHA256}); err != nil {
		return fmt.Errorf("saying where the vCenter answers: %w", err)
	}
	_, err = io.Copy(io.Discard, d.Buffered())
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	return err
}
