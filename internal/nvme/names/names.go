// Package names is what NVMe calls things, and how long and how high that may be:
// NVM Express Base Specification, NVMe Qualified Names and Namespace Identifiers.
package names

import (
	"fmt"
	"regexp"
)

const (
	MaxNQN    = 223        // bytes
	MaxNSID   = 0xfffffffe // the one above means all namespaces
	MaxSerial = 20         // bytes

	// Discovery is the name of the discovery service of every target; no host and
	// no other subsystem may have it.
	Discovery = "nqn.2014-08.org.nvmexpress.discovery"

	// UUID is what names begin with that are made of a UUID.
	UUID = "nqn.2014-08.org.nvmexpress:uuid:"
)

// form is a date, a domain in reverse, and a name of the owner's choice, of what
// goes into paths and command lines as it is.
var form = regexp.MustCompile(`^nqn\.[0-9]{4}-(0[1-9]|1[0-2])(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+:[A-Za-z0-9._:+=@~-]+$`)

// IsNQN reports whether a name has the form of an NVMe Qualified Name:
// nqn.yyyy-mm.reverse.domain:name.
func IsNQN(s string) bool { return len(s) <= MaxNQN && form.MatchString(s) }

// Unfit says why a text names no host and no subsystem; "": it may.
func Unfit(nqn string) string {
	switch {
	case len(nqn) > MaxNQN:
		return fmt.Sprintf("it has more than %d bytes", MaxNQN)
	case nqn == Discovery:
		return "it is the name of the discovery service"
	case !IsNQN(nqn):
		return "it does not look like nqn.2026-11.net.example:name, of letters, digits and . _ : + = @ ~ -"
	}
	return ""
}
