package host

import (
	"errors"
	"testing"

	"weft/internal/remote"
)

// A system that tells no health is asked what the machine is, and that is all that is
// known then.
func TestHealthOfFacts(t *testing.T) {
	facts := &ServerFacts{Name: "esx1", NICs: []NICFacts{{PCI: "0000:41:00.0", MTU: 9000}}}
	ask := (&Teller{Surveyed: func(remote.Seen) (*ServerFacts, error) { return facts, nil }}).bare()
	h, err := ask.Parse(remote.Seen{})
	if err != nil || !h.Bare || h.Name != "esx1" || len(h.NICs) != 1 || h.NICs[0].MTU != 9000 || h.NICs[0].PFC != nil {
		t.Errorf("%+v, %v", h, err)
	}
	ask = (&Teller{Surveyed: func(remote.Seen) (*ServerFacts, error) { return nil, errors.New("no") }}).bare()
	if _, err := ask.Parse(remote.Seen{}); err == nil {
		t.Error("what cannot be read has health")
	}
}
