//go:build linux

package verbs

// callDirect calls a function on the stack of the thread, as C needs it.
//
//go:noescape
func callDirect(c *direct)
