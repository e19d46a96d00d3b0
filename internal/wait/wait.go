// Package wait is how one waits for a while, unless nobody wants the outcome any more.
package wait

import (
	"context"
	"time"
)

// For waits, and reports whether it did to the end: ctx may end before.
func For(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
