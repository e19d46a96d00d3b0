package windows

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"weft/internal/hint"
	"weft/internal/remote"
)

// intentLook asks Network ATC, which a host may not have, whether it keeps anything.
func intentLook() remote.Look { return query("IntentName", "Get-NetIntent") }

// own is the adapter at a PCI address, where its settings are weft's to make: not where a
// Hyper-V switch, a team or Network ATC has them, nor where that is not known.
func own(s remote.Seen, pci string) (adapter, error) {
	all, err := readAdapters(s)
	if err != nil {
		return adapter{}, err
	}
	i := slices.IndexFunc(all, func(a adapter) bool { return a.PCI == pci })
	if i < 0 {
		return adapter{}, fmt.Errorf("the host has no adapter at PCI address %s: Get-NetAdapterHardwareInfo", pci)
	}
	if a := all[i]; a.taken != "" {
		return a, fmt.Errorf("%s belongs to %s: described, not yet managed", a.Interface, a.taken)
	}
	return all[i], unkept(s)
}

// unkept is nil where Network ATC is known to keep nothing.
func unkept(s remote.Seen) error {
	got := s.Of(intentLook())
	if lacking(s, intentLook()) {
		return nil
	}
	if got.Err != nil {
		return fmt.Errorf("whether Network ATC keeps the settings of NICs is not known: %w", got.Err)
	}
	type intent struct{ IntentName string }
	list, err := rows[intent](s, intentLook())
	if err != nil || len(list) == 0 {
		return err
	}
	return hint.Wrap(fmt.Errorf("the intent %s of Network ATC keeps the settings of NICs of this host, and makes them again", list[0].IntentName),
		"change the intent, or leave the NIC out of a fabric: Get-NetIntent")
}

// lacking reports whether a host lacks the cmdlet of a look.
func lacking(s remote.Seen, l remote.Look) bool {
	var exit *remote.ExitError
	return errors.As(s.Of(l).Err, &exit) && bytes.Contains(exit.Output.Stderr, []byte("CommandNotFoundException")) // the error ID, in any language
}
