// Package rawsock reads and writes connected sockets without the runtime's
// scheduler: its calls never block, never allocate and are not watched.
//
// A goroutine that polls sockets should own its thread (Own); on others the
// calls work but the scheduler may move them about. Linux only.
package rawsock

import "errors"

// ErrUnsupported is every function's error on systems other than Linux.
var ErrUnsupported = errors.New("polling sockets works on Linux only")

// MaxVector is the most slices that one Write sends.
const MaxVector = 256
