// Package run carries a plan out, without a terminal: who works in a directory,
// and what is kept there of a run.
package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"weft/internal/flock"
	"weft/internal/hint"
)

// A Lock is a directory, in which nobody else applies until it is closed or
// weft ends, however it ends.
type Lock struct {
	lock *os.File // decides who
	sign *os.File // for those who only look: it says who, and is locked meanwhile, too
}

// Close lets go of the directory.
func (h *Lock) Close() error { return errors.Join(flock.Release(h.sign), flock.Release(h.lock)) }

// A BusyError is a directory in which another weft is at work.
type BusyError struct{ By string } // who, for people

func (e *BusyError) Error() string {
	return "another weft apply is at work in this directory" + e.By
}

// Hold keeps a second apply of a directory out before it reads anything.
// Those of other directories are kept out by the leases on the devices.
func Hold(place string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Join(place, ".weft"), 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(place, ".weft", "apply.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	free, err := flock.Try(lock, false)
	switch {
	case err != nil:
		err = fmt.Errorf("lock %s: %w", lock.Name(), err)
	case !free:
		err = hint.Wrap(&BusyError{holding(place)},
			"how far a rollout is shows weft rollout status; weft rollout pause has it stop before it touches anything more")
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	sign, err := os.OpenFile(signFile(place), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		if err = flock.Wait(sign); err != nil { // whoever looks is done at once
			sign.Close()
		}
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	// Where it cannot be written those who look are told less.
	if err := sign.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(sign, ": %s, process %d, since %s", Holder().Who, os.Getpid(), time.Now().Format("15:04 MST"))
	}
	return &Lock{lock, sign}, nil
}

func signFile(place string) string { return filepath.Join(place, ".weft", "apply.holder") }

// AtWork is who applies in a directory just now, on this machine; "": nobody.
// It keeps nobody out.
func AtWork(place string) string {
	sign, err := os.Open(signFile(place))
	if err != nil {
		return "" // nobody ever did
	}
	defer sign.Close()
	if free, err := flock.Try(sign, true); free || err != nil {
		_ = flock.Release(sign) // nobody waits for it longer than that
		return ""
	}
	return (&BusyError{holding(place)}).Error()
}

// holding is who has signed; "": nobody says.
func holding(place string) string {
	sign, err := os.Open(signFile(place))
	if err != nil {
		return ""
	}
	defer sign.Close()
	text, err := io.ReadAll(io.LimitReader(sign, 200))
	if err != nil {
		return ""
	}
	return string(text)
}
