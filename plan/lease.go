package plan

import (
	"context"
	"time"
)

// A Lease is the right to change a device, for one transaction. It ends by itself.
type Lease struct {
	Holder string        `json:"holder"` // user and host, for people
	Owner  string        `json:"owner"`
	Left   time.Duration `json:"left_ns"` // until it ends by itself; not positive: it has

	// Break ends the lease if its holder is still the same.
	Break func(context.Context) error `json:"-"`
}
