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

// A held is this directory, in which nobody else applies until it is closed or
// weft ends, however it ends.
type held struct {
	lock *os.File // decides who
	sign *os.File // for those who only look: it says who, and is locked meanwhile, too
}

// Close lets go of the directory.
func (h *held) Close() error { return errors.Join(h.sign.Close(), h.lock.Close()) }

// hold keeps a second apply of this directory out before it reads anything.
// Those of other directories are kept out by the leases on the devices.
func (a *app) hold() (*held, error) {
	if err := os.MkdirAll(filepath.Join(a.place(), ".weft"), 0o700); err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(a.place(), ".weft", "apply.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	free, err := lockFile(lock, lockTry)
	switch {
	case err != nil:
		err = fmt.Errorf("lock %s: %w", lock.Name(), err)
	case !free:
		err = &codeError{exitHeld, hint.Wrap(errors.New("another weft apply is at work in this directory"+a.holding()),
			"how far a rollout is shows weft rollout status; weft rollout pause has it stop before it touches anything more")}
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	sign, err := os.OpenFile(a.sign(), os.O_CREATE|os.O_RDWR, 0o600)
	if err == nil {
		if _, err = lockFile(sign, lockWait); err != nil { // whoever looks is done at once
			sign.Close()
		}
	}
	if err != nil {
		lock.Close()
		return nil, fmt.Errorf("lock: %w", err)
	}
	// Where it cannot be written those who look are told less.
	if err := sign.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(sign, ": %s, process %d, since %s", holder().Who, os.Getpid(), time.Now().Format("15:04 MST"))
	}
	return &held{lock, sign}, nil
}

func (a *app) sign() string { return filepath.Join(a.place(), ".weft", "apply.holder") }

// atWork is who applies in this directory just now, on this machine; "": nobody.
// It keeps nobody out.
func (a *app) atWork() string {
	sign, err := os.Open(a.sign())
	if err != nil {
		return "" // nobody ever did
	}
	defer sign.Close()
	if free, err := lockFile(sign, lockShared); free || err != nil {
		return ""
	}
	return "another weft apply is at work in this directory" + a.holding()
}

// holding is who has signed; "": nobody says.
func (a *app) holding() string {
	sign, err := os.Open(a.sign())
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

// How a file is locked until it is closed or weft ends, however it ends.
type lockMode int

const (
	lockTry    lockMode = iota // alone, or not at all
	lockWait                   // alone, once nobody else has it
	lockShared                 // with others who share it, or not at all
)
