package plan

import (
	"context"
	"fmt"
	"time"
)

// As is the device at an address as one that can do more than the engine asks of
// every device. Where it cannot, the error names it and says cannot, such as
// "takes no commands".
func As[D any](devices map[string]Device, address, cannot string) (D, error) {
	d, ok := devices[address].(D)
	if !ok {
		return d, fmt.Errorf("%s %s", address, cannot)
	}
	return d, nil
}

// A Leaser is a device that says who is changing it.
type Leaser interface {
	Device
	// Lease opens the device and says who holds it; nil: nobody.
	Lease(context.Context) (*Lease, error)
}

// A Fenced device may keep the token of a store's last run, and refuses whoever comes
// with a lesser one or with none.
type Fenced interface {
	Device
	// Token opens the device and says which one stands; "": none does.
	Token(context.Context) (string, error)
	// Yield takes it away.
	Yield(context.Context) error
}

// A Lease is the right to change a device, for one transaction. It ends by itself.
type Lease struct {
	Holder string        `json:"holder"` // who, for people
	Owner  string        `json:"owner"`
	Left   time.Duration `json:"left_ns"` // until it ends by itself; not positive: it has

	// Break takes it away from its holder, if it is still that one.
	Break func(context.Context) error `json:"-"`
}
