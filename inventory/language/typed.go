package language

import "github.com/zclconf/go-cty/cty"

// CheckHost refuses what is no host name or address where files would: what is typed
// on a command line goes into the same command lines and paths.
func CheckHost(text string) error { return hostName().check(cty.StringVal(text)) }

// CheckUser refuses what is no user name where files would.
func CheckUser(text string) error { return userName().check(cty.StringVal(text)) }

// CheckOwner refuses what cannot stand as name in weft { }.
func CheckOwner(text string) error { return ownerName().check(cty.StringVal(text)) }
