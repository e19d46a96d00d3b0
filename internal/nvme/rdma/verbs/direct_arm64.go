//go:build linux

package verbs

// callDirect calls a function as any other: how to do it on the stack of the thread was
// not tried on this processor.
func callDirect(c *direct) { c.result = call(c.fn, c.args[:]...) }
