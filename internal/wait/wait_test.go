package wait

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if !For(t.Context(), time.Hour) || time.Since(began) != time.Hour {
			t.Errorf("waited %v of an hour", time.Since(began))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if began = time.Now(); For(ctx, time.Hour) || time.Since(began) != time.Minute {
			t.Errorf("waited %v of the minute that there was", time.Since(began))
		}
		if For(ctx, 0) || !For(t.Context(), 0) || !For(t.Context(), -1) {
			t.Error("no time at all is waited for while ctx is not over")
		}
	})
}
