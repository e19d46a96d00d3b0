package store

import (
	"fmt"
	"time"
)

// An InvalidError is a key, revision or time that no store takes.
type InvalidError struct{ Key, Why string }

func (e *InvalidError) Error() string { return fmt.Sprintf("%q cannot be kept: %s", e.Key, e.Why) }

// A TooLargeError is a value that no store takes as a document.
type TooLargeError struct {
	Key  string
	Size int
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%s has %d bytes, of %d that a document may have: it is to be a blob", e.Key, e.Size, MaxValue)
}

// A NotFoundError is a document or a blob that is not there.
type NotFoundError struct{ Key string }

func (e *NotFoundError) Error() string { return e.Key + " is not in the store" }

// An ExistsError is a document that is there already.
type ExistsError struct {
	Key     string
	Current Revision
}

func (e *ExistsError) Error() string {
	return fmt.Sprintf("%s is in the store already, as revision %d", e.Key, e.Current)
}

// A StaleError is a document that was changed since it was read.
type StaleError struct {
	Key         string
	At, Current Revision
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("%s was changed since revision %d: it is revision %d now", e.Key, e.At, e.Current)
}

// A HeldError is a lease that another weft has.
type HeldError struct {
	Key, Holder string
	Left        time.Duration // until it ends, unless it is renewed
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("%s is held by %s, for %s more unless it is renewed", e.Key, e.Holder, e.Left.Round(time.Second))
}

// A LostError is a lease that its holder has no more: it was not renewed in time, and
// another weft took or deleted it.
type LostError struct {
	Key string
	By  string // who has it now; "" is nobody
}

func (e *LostError) Error() string {
	if e.By == "" {
		return fmt.Sprintf("the lease of %s is lost and has no holder", e.Key)
	}
	return fmt.Sprintf("the lease of %s is lost to %s", e.Key, e.By)
}

// A GapError is a watch from a revision whose next changes the store does not have.
type GapError struct {
	From Revision
	Why  string
}

func (e *GapError) Error() string {
	return fmt.Sprintf("changes after revision %d cannot be reported: %s", e.From, e.Why)
}

// A CorruptError is something in the store that is not what was put there.
type CorruptError struct{ What, Why string }

func (e *CorruptError) Error() string { return fmt.Sprintf("%s is corrupt: %s", e.What, e.Why) }

// A DeniedError is what a store does not let its user do.
type DeniedError struct{ What string }

func (e *DeniedError) Error() string { return "the store does not let these credentials " + e.What }

// An UnavailableError is a store that does not answer.
type UnavailableError struct {
	Err     error
	Unknown bool // whether it was written is not known: read before anything is concluded
}

func (e *UnavailableError) Error() string {
	if e.Unknown {
		return fmt.Sprintf("the store does not answer, and whether it wrote is not known: %v", e.Err)
	}
	return fmt.Sprintf("the store does not answer: %v", e.Err)
}

func (e *UnavailableError) Unwrap() error { return e.Err }
