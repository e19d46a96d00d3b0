package bundle

import (
	"errors"
	"strings"
)

// An Executable is an agent for one platform, as resources that keep it on a machine ask
// for it.
type Executable struct {
	From     *Bundle // nil: none is at hand
	Platform string  // "linux-amd64"
	Name     string  // weft-target
}

// Sum is its SHA-256 in hexadecimal.
func (e Executable) Sum() (string, error) {
	if e.From == nil {
		return "", errNone
	}
	system, machine, _ := strings.Cut(e.Platform, "-")
	return e.From.Sum(system, machine, e.Name)
}

// Packed is how long it is, that it can be unpacked, and what does that.
func (e Executable) Packed() (size int, unpack func() ([]byte, error), err error) {
	if e.From == nil {
		return 0, nil, errNone
	}
	system, machine, _ := strings.Cut(e.Platform, "-")
	size, err = e.From.Size(system, machine, e.Name)
	return size, func() ([]byte, error) {
		exe, _, err := e.From.Open(system, machine, e.Name)
		return exe, err
	}, err
}

var errNone = errors.New("it was observed, and no bundle of weft goes with it")
