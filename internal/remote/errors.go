package remote

import (
	"cmp"
	"fmt"
	"strings"
)

// An UnreachableError is a machine that could not be reached, did not let us
// in, or went away.
type UnreachableError struct {
	Name    string // as in the configuration
	Address string // what was dialled, if it came to that
	Err     error
}

func (e *UnreachableError) Error() string {
	at := e.Name
	if e.Address != "" && e.Address != e.Name {
		at += " (" + e.Address + ")"
	}
	return fmt.Sprintf("%s: %v", at, e.Err)
}

func (e *UnreachableError) Unwrap() error { return e.Err }

// An AuthError is a machine that accepted none of the keys and passwords of a login.
type AuthError struct {
	User string
	Said string // by the SSH library
}

func (e *AuthError) Error() string { return fmt.Sprintf("login as %s: %s", e.User, e.Said) }

// A WriteError is a file that was not written, because a command on the machine failed.
type WriteError struct {
	Code   int    // exit status of the command
	Stderr string // as printed
	Said   string // the same in one line
}

func (e *WriteError) Error() string { return e.Said }

// A HostKeyError is a machine that does not prove to be the one that
// known_hosts describes.
type HostKeyError struct {
	Name    string   // as in the configuration
	Address string   // what was dialled
	Type    string   // of the key that was shown: "ssh-ed25519"
	Got     string   // fingerprint of the key that was shown: "SHA256:…"
	Want    []string // "ssh-ed25519 SHA256:… (file:line)"; empty: the machine is unknown
	Revoked bool     // the key that was shown is marked @revoked
}

func (e *HostKeyError) Error() string {
	msg := fmt.Sprintf("%s (%s) showed the host key %s %s", e.Name, e.Address, e.Type, e.Got)
	switch {
	case e.Revoked:
		return msg + ", which is revoked"
	case len(e.Want) == 0:
		return msg + ", and known_hosts holds none for it"
	}
	return msg + ", but known_hosts holds " + strings.Join(e.Want, ", ")
}

// A BecomeError is a machine that refused to run a command as root.
type BecomeError struct {
	Name  string // as in the configuration
	User  string // who asked, if known
	Reply string // what sudo said
}

func (e *BecomeError) Error() string {
	who := cmp.Or(e.User, "the login user")
	return fmt.Sprintf("%s: %s may not become root: %s", e.Name, who, e.Reply)
}
