package see

import (
	"errors"
	"fmt"

	"weft/internal/hint"
	"weft/internal/remote"
)

// Netdev is the network interface of a NIC port.
func Netdev(s remote.Seen, place string) (string, error) {
	name, err := s.Interface(place)
	var port *remote.PortError
	if errors.As(err, &port) && len(port.Interfaces) > 0 {
		return "", err
	}
	if err != nil {
		return "", hint.Wrap(fmt.Errorf("no network interface belongs to PCI address %s", place),
			"list them with: ls -l /sys/class/net; that of an InfiniBand port comes with the kernel module ib_ipoib")
	}
	return name, nil
}

// content is the text of a file that must be there, without white space at
// its ends.
func Content(s remote.Seen, l remote.Look) (string, error) {
	got := s.Of(l)
	return got.Text(), got.Err
}

// file is a file that need not be there.
func File(s remote.Seen, l remote.Look) (got remote.Sight, err error) {
	got = s.Of(l)
	if got.Absent {
		return got, nil
	}
	return got, got.Err
}

// outputOn is the network interface of a NIC port, and what a command about it
// printed.
func OutputOn(s remote.Seen, pci string, l remote.Look) (name string, out []byte, err error) {
	if name, err = Netdev(s, pci); err == nil {
		out, err = Output(s, l)
	}
	return name, out, err
}

// output is what a command printed; a command that failed is an error.
func Output(s remote.Seen, l remote.Look) ([]byte, error) {
	got := s.Of(l)
	return got.Content, got.Err
}
