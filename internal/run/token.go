package run

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// epochPatience is how long a plan waits for the store, of which it needs nothing else.
const epochPatience = 5 * time.Second

// stands says what a token that stands on a device means for whoever applies with
// these records, before they meet it; "": nothing.
func (r *Records) stands(token string) string {
	if r.shared == nil {
		return fmt.Sprintf("it belongs to runs that are kept in a store, the last with the token %s: an apply that names no store will be refused (--store, or WEFT_STORE)", token)
	}
	epoch, _, _ := strings.Cut(token, ".")
	there, err := strconv.ParseUint(epoch, 10, 64)
	if err != nil {
		return fmt.Sprintf("the fencing token there cannot be read: it is %s. An apply will be refused; weft unlock --force removes it", token)
	}
	mine := r.epoch()
	switch {
	case mine == 0 || mine == there: // nobody knows, or it is this store's
		return ""
	case mine < there:
		return fmt.Sprintf("another store set the fencing token %s there after %s was created (its epoch is %d): an apply will be refused unless weft unlock --force removes the token",
			token, r.shared.Name, mine)
	}
	return fmt.Sprintf("another store, or this one before it was restored, set the fencing token %s there: an apply with %s replaces it", token, r.shared.Name)
}

// epoch is that of the store; 0: it does not answer. It is asked once.
func (r *Records) epoch() uint64 {
	r.asking.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), epochPatience)
		defer cancel()
		s, err := r.look(ctx)
		if err != nil || s == nil {
			return
		}
		if epoch, err := s.Epoch(ctx); err == nil {
			r.itsEpoch = epoch
		}
	})
	return r.itsEpoch
}
