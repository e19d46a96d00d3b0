//go:build unix && !linux

package lab

import (
	"context"
	"errors"

	"weft/inventory"
)

// boot says that there are no guests here.
func (l *Lab) boot(context.Context, *inventory.Model, *twin) error { return missingForGuests() }

// missingForGuests is why guests with real kernels cannot run on this machine.
func missingForGuests() error {
	return errors.New("guests with real kernels run on Linux only")
}
