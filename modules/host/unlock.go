package host

import (
	"context"
	"errors"
	"fmt"

	"weft/plan"
)

// Lease implements plan.Leaser: it opens the machine and says who holds it; nil: nobody.
func (d *Machine) Lease(ctx context.Context) (*plan.Lease, error) {
	if _, err := d.Open(ctx); err != nil && !errors.Is(err, d.ledgers.unknown) {
		return nil, err
	}
	if err := d.os.Lacks(Memories); err != nil {
		return nil, err
	}
	held, err := d.os.Memory.Lease(ctx, d.host)
	if err != nil {
		return nil, fmt.Errorf("read the lease %s: %w", d.os.Memory.Place(KeptLease, ""), err)
	}
	if held == nil {
		return nil, nil
	}
	who, left := held.by()
	return &plan.Lease{
		Holder: who.describe(), Owner: who.Owner, Left: left,
		Break: func(ctx context.Context) error { return d.breakLease(ctx, held) },
	}, nil
}

// breakLease takes a lease away from its holder, if it is still that one.
func (d *Machine) breakLease(ctx context.Context, from *Held) error {
	broken, err := d.os.Memory.Break(ctx, d.host, from)
	if err == nil && !broken {
		err = fmt.Errorf("it has another holder by now")
	}
	if err != nil {
		return fmt.Errorf("break the lease %s: %w", d.os.Memory.Place(KeptLease, ""), err)
	}
	return nil
}

// describe names the holder for people.
func (l leaseFile) describe() string {
	if l.Who == "" {
		return "an unknown process"
	}
	return fmt.Sprintf("%s (process %d, owner %s)", l.Who, l.PID, l.Owner)
}
