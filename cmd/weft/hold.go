package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"weft/internal/hint"
)

// How often and how far apart a lock is asked for.
const (
	holdTries = 5
	holdPause = 20 * time.Millisecond
)

// hold keeps a second apply of this directory out before it reads anything.
// Those of other directories are kept out by the leases on the devices.
func (a *app) hold() (*os.File, error) {
	if err := os.MkdirAll(filepath.Join(a.place(), ".weft"), 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(a.place(), ".weft", "apply.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	held, err := holdFile(f)
	for range holdTries { // weft rollout status has it for a moment
		if held || err != nil {
			break
		}
		time.Sleep(holdPause)
		held, err = holdFile(f)
	}
	switch {
	case err != nil:
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", f.Name(), err)
	case !held:
		who := holding(f)
		f.Close()
		return nil, &codeError{exitHeld, hint.Wrap(errors.New("another weft apply is at work in this directory"+who),
			"how far a rollout is shows weft rollout status; weft rollout pause has it stop before it touches anything more")}
	}
	// For whoever comes meanwhile; where it cannot be kept they are told less.
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, ": %s, process %d, since %s", holder().Who, os.Getpid(), time.Now().Format("15:04 MST"))
	}
	return f, nil
}

// holding is who has written a lock that is held; "": nobody says.
func holding(f *os.File) string {
	text, err := io.ReadAll(io.LimitReader(f, 200))
	if err != nil {
		return ""
	}
	return string(text)
}
