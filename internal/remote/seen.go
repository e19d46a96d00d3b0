package remote

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// Seen is what Read observed on a host. The zero value has seen nothing.
type Seen struct {
	sights map[string]Sight
}

// A Sight is what one Look observed.
type Sight struct {
	// Absent reports that there is nothing to see: no such file, or no network
	// interface behind the PCI address. Err then says what is missing and
	// wraps fs.ErrNotExist.
	Absent bool

	// Err is nil when the file was read, or the command ran and exited 0. It
	// wraps fs.ErrPermission for a file that may not be read, and is an
	// *ExitError for any other exit of a command.
	Err error

	// Interface is the network interface behind the Look's PCI address.
	Interface string

	Content []byte // of the file, or the command's standard output
	Stderr  []byte // of the command
	Code    int    // exit status of the command; 127: there is no such command

	Sum  string      // with Look.Sum: SHA-256 of the file in lower-case hex
	Mode fs.FileMode // with Look.Sum or Look.Stat: type and permissions, symbolic links followed
	Size int64       // likewise: bytes
}

// Text is the content without white space at its ends: a sysfs attribute as
// people quote it.
func (s Sight) Text() string { return strings.TrimSpace(string(s.Content)) }

// An Answer is a Look and what it observed.
type Answer struct {
	Look  Look
	Sight Sight
}

// NewSeen returns what the answers say. Read makes them from a live host;
// tests write them down. The later of two answers to one Look holds.
func NewSeen(answers ...Answer) Seen {
	s := Seen{sights: make(map[string]Sight, len(answers))}
	for _, a := range answers {
		s.sights[a.Look.key()] = a.Sight
		if name := a.Sight.Interface; name != "" {
			s.sights[Look{PCI: a.Look.PCI}.key()] = netdevSight(a.Look.PCI, name, nil)
		} else if a.Look.PCI != "" && a.Sight.Absent {
			s.sights[Look{PCI: a.Look.PCI}.key()] = a.Sight
		}
	}
	return s
}

// Of returns what the look observed. A look that Read was not asked for has
// an Err that says so.
func (s Seen) Of(look Look) Sight {
	if sight, ok := s.sights[look.key()]; ok {
		return sight
	}
	return Sight{Err: fmt.Errorf("%s was not read", look)}
}

// Has reports whether all of the looks were taken.
func (s Seen) Has(looks []Look) bool {
	return !slices.ContainsFunc(looks, func(l Look) bool { _, ok := s.sights[l.key()]; return !ok })
}

// Interface returns the network interface of a place that any of the looks named. The
// error is a *PortError where the place has none, or several.
func (s Seen) Interface(place string) (string, error) {
	sight, ok := s.sights[Look{PCI: place}.key()]
	switch {
	case sight.Interface != "":
		return sight.Interface, nil
	case ok && sight.Err != nil:
		return "", sight.Err
	}
	return "", PlaceError(place, nil)
}

// String shows the look as people read it in messages.
func (l Look) String() string {
	switch {
	case l.File != "":
		return l.File
	case len(l.Args) > 0:
		return Quote(l.Args...)
	}
	return "the interface of PCI device " + l.PCI
}

// key is the same for looks that see the same.
func (l Look) key() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%q %q %t %t", l.PCI, l.File, l.Sum, l.Stat)
	for _, a := range l.Args {
		b.WriteByte(' ')
		b.WriteString(strconv.Quote(a))
	}
	return b.String()
}

// netdevSight is the sight of a Look at nothing but a place. Without an interface, words
// are what weft_find lists.
func netdevSight(place, name string, words []string) Sight {
	if name == "" {
		return Sight{Absent: true, Err: PlaceError(place, words)}
	}
	return Sight{Interface: name, Content: []byte(name)}
}
