package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"weft/internal/remote"
)

// RunCommand runs a command on a machine that is open. With hold nobody else changes
// it meanwhile: a *plan.HeldError says who already does.
func (d *Machine) RunCommand(ctx context.Context, cmd remote.Cmd, hold bool) (out remote.Output, err error) {
	if d.host == nil {
		return out, fmt.Errorf("%s is not connected", d.name)
	}
	if hold {
		if _, err := d.take(ctx, nil, true); err != nil {
			return out, err
		}
		defer func() {
			// Also after Ctrl-C, but not for ever.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releasePatience)
			defer cancel()
			err = errors.Join(err, d.release(ctx))
		}()
	}
	return d.host.Run(ctx, cmd)
}

// releasePatience is how long giving a lease back may take: it ends by itself.
const releasePatience = 10 * time.Second
