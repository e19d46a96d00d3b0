//go:build linux && (amd64 || arm64)

package verbs

// A direct is a call of a function of C that never blocks, with what every command needs
// anew: it allocates nothing. Go's scheduler is not told that its thread is in C
// meanwhile. Told, it wakes up a thread that looks after those that stay away, for each
// command of who has one at a time and sleeps between them: two wakings, and
// four calls of the system.
type direct struct {
	fn     uintptr
	args   [3]uintptr
	result uintptr
}

// do calls it.
func (c *direct) do() uintptr {
	callDirect(c)
	return c.result
}

// code calls it where it returns an error number.
func (c *direct) code() error { return numbered(c.do()) }
